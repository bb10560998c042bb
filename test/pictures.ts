/**
 * Makes the pictures of the README, from a zip to a live site, on a real service: `npm run pictures`, as root on Debian. In light,
 * with two pixels of the picture for each of the page.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { chromium, type Page } from 'playwright-core'
import type { resources } from '../src/contract/index.ts'
import { CHROMIUM } from './support/chromium.ts'
import { temporaryFolder } from './support/folder.ts'
import { filesIn } from './support/service/deploy.ts'
import { createApp, createEnvironment } from './support/service/environment.ts'
import { EXAMPLES } from './support/service/examples.ts'
import { startService } from './support/service/service.ts'
import { TIMEOUT_MS, until } from './support/until.ts'
import { zipOf } from './support/zip.ts'

const FOLDER = join(import.meta.dirname, '..', 'docs', 'pictures')
const EXAMPLE = 'vite'
const MAX_BYTES = 150_000
const QUALITY = 94

const ends: (() => unknown)[] = []
const scope = { after: (end: () => unknown) => void ends.unshift(end) }

try {
  const service = await startService(scope)
  const as = await service.login()
  const app = await createApp(service, as, { app: 'storefront' })
  const body = { displayName: 'Production', branch: 'uploadable', cmsEnvironment: 'my-wordpress' }
  const { name } = await createEnvironment(service, as, { app, body })
  const zip = join(await temporaryFolder(scope), 'storefront.zip')
  await writeFile(zip, zipOf(await filesIn(join(EXAMPLES, EXAMPLE))))

  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] })
  scope.after(() => browser.close())
  const page = await browser.newPage({
    viewport: { width: 1120, height: 680 },
    deviceScaleFactor: 2,
    colorScheme: 'light',
    reducedMotion: 'reduce',
    baseURL: service.api,
  })
  page.setDefaultTimeout(TIMEOUT_MS)
  await page.request.post('/v1/session', { data: service.owner() })

  await page.goto(`/${name.replace('accounts/', '')}`)
  await page.getByRole('button', { name: 'Choose a zip' }).waitFor()
  await dragFile(page)
  await shoot(page, 'drop')

  await page.getByLabel('Zip', { exact: true }).setInputFiles(zip)
  const [build] = await until(
    buildsThat(() => true),
    'the upload is there',
  )
  await page.goto(`/${build?.name.replace('accounts/', '')}`)
  await page
    .getByText(/vite v/)
    .first()
    .waitFor()
  await shoot(page, 'log')

  await until(
    buildsThat(({ state }) => state === 'SUCCEEDED'),
    'the site is live',
  )
  await page.goto(`/${name.replace('accounts/', '')}`)
  await page.getByText('Live', { exact: true }).first().waitFor()
  await shoot(page, 'live')

  function buildsThat(fits: (build: resources.Build) => boolean) {
    return async (): Promise<resources.Build[] | undefined> => {
      const found = (await service.call(`/v1/${name}/builds`, { as })).json.builds.filter(fits)
      return found.length > 0 ? found : undefined
    }
  }
} finally {
  for (const end of ends) await end()
}

/** A file is held over the page, and not let go. */
async function dragFile(page: Page) {
  await page.evaluate(`{
    const dataTransfer = new DataTransfer()
    dataTransfer.items.add(new File(['a zip'], 'storefront.zip', { type: 'application/zip' }))
    for (const type of ['dragenter', 'dragover'])
      document.body.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }))
  }`)
}

/** As WebP, in which text is as sharp as in PNG at half of the bytes. */
async function shoot(page: Page, name: string) {
  const path = join(FOLDER, `${name}.webp`)
  const session = await page.context().newCDPSession(page)
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: QUALITY })
  const picture = Buffer.from(data, 'base64')
  await writeFile(path, picture)
  process.stdout.write(`${path}: ${picture.length} bytes\n`)
  if (picture.length > MAX_BYTES) throw new Error(`${path} has more than ${MAX_BYTES} bytes`)
}
