/**
 * The documentation of this project, deployed on the service: packed as `headland deploy --root site` packs it, its packages
 * installed from the registry and its pages made in the sandbox. Then as its readers see it. `npm run test:frameworks`.
 */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { filesOf } from '../../src/cli/archive/files.ts'
import { withArchive } from '../../src/cli/archive/pack.ts'
import {
  assertAccessible,
  assertAccessibleInBoth,
  assertFits,
  assertQuiet,
  SIZES,
  startBrowser,
  type TestBrowser,
  visit,
} from '../browser/portal.ts'
import { deploy } from '../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../support/service/environment.ts'
import { startService } from '../support/service/service.ts'
import { TIMEOUT_MS } from '../support/until.ts'

const TOP = join(import.meta.dirname, '..', '..')

// A hook that is registered within another one ends with it.
const ends: (() => unknown)[] = []
const file = { after: (end: () => unknown) => void ends.unshift(end) }
after(async () => {
  for (const end of ends) await end()
})

const service = await startService(file)
const as = await service.login()
let url = ''
let browser: TestBrowser

/** Each page by its path, as the site answers it. */
const pages = new Map<string, string>()

before(async () => {
  const body = { displayName: 'docs', branch: 'uploadable', cmsEnvironment: 'none', rootDirectory: 'site' }
  const environment = await createEnvironment(service, as, { body })
  url = environment.url
  const { files } = await filesOf(TOP)
  const archive = await withArchive(files, ({ path }) => readFile(path), AbortSignal.timeout(TIMEOUT_MS))
  const done = await deploy(service, as, environment.name, archive)
  const log = await service.call(`/v1/${done.metadata.build}/log`, { as })
  assert.equal(done.error, undefined, `${JSON.stringify(done.error)}\n${log.text}`)
  browser = await startBrowser(file, service, { baseURL: url })
})

const get = async (path: string): Promise<string> => {
  const { status, text } = await siteAnswer(service, url, path)
  assert.equal(status, 200, `${path}: ${text.slice(0, 200)}`)
  return text
}

const idsOf = (page: string) => new Set([...page.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id))

test('every page, file and heading that a page links to is there', async () => {
  const files = new Set<string>()
  const anchors: { from: string; path: string; anchor: string }[] = []
  const waiting = ['/']
  for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
    if (pages.has(path)) continue
    const text = await get(path)
    pages.set(path, text)
    for (const [, target = ''] of text.matchAll(/<[a-z][^>]* (?:href|src)="([^"]*)"/g)) {
      const to = new URL(target, new URL(path, url))
      if (to.origin !== new URL(url).origin) continue
      if (to.hash) anchors.push({ from: path, path: to.pathname, anchor: decodeURIComponent(to.hash.slice(1)) })
      if (to.pathname.endsWith('/')) waiting.push(to.pathname)
      else files.add(to.pathname)
    }
  }
  for (const file of files) await get(file)
  const written = (await filesOf(TOP)).files.filter(({ path }) => /^docs\/.*\.md$/.test(path))
  assert.ok(pages.size > written.length, `${pages.size} pages, of ${written.length} files`)
  for (const { from, path, anchor } of anchors)
    assert.ok(idsOf(pages.get(path) ?? '').has(anchor), `${from} links to ${path}#${anchor}`)
})

test('a page that is not there says where to look, and the headers of the site reach its readers', async () => {
  const missing = await siteAnswer(service, url, '/guides/nothing/at/all')
  assert.equal(missing.status, 404)
  assert.match(missing.text, /There is no such page/)
  const { headers } = await siteAnswer(service, url, '/guides/deploy/')
  assert.match(String(headers['content-security-policy']), /^default-src 'none'; script-src 'self'/)
})

for (const path of ['/', '/guides/webhooks/', '/troubleshooting/', '/api/', '/api/apps/', '/nowhere']) {
  test(`${path} is accessible in light and dark, and fits on a phone`, async () => {
    const page = await browser.open()
    await visit(page, path)
    await assertAccessibleInBoth(page, path)
    await page.setViewportSize(SIZES.phone)
    await assertFits(page, path)
    await assertAccessible(page, `${path} on a phone`, 'all but colours')
    assertQuiet(page)
  })
}

test('the search finds a part of a page by the keyboard alone', async () => {
  const page = await browser.open()
  await visit(page, '/')
  await page.keyboard.press('/')
  const box = page.getByRole('dialog', { name: 'Search the documentation' })
  await box.getByRole('searchbox').fill('rollback keepDeployments')
  await box.getByRole('link', { name: 'Roll back', exact: true }).waitFor()
  await assertAccessibleInBoth(page, 'the search')
  await box.getByRole('searchbox').fill('PORT_NOT_BOUND in the log')
  await box.getByRole('link').first().waitFor()
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/troubleshooting\/port-not-bound\//)
  await page.getByRole('heading', { level: 1, name: 'PORT_NOT_BOUND' }).waitFor()
  assertQuiet(page)
})

test('a reader chooses light or dark, and the next page has it, too', async () => {
  const page = await browser.open({ scheme: 'light' })
  const scheme = () => page.evaluate('getComputedStyle(document.documentElement).colorScheme')
  await visit(page, '/guides/')
  assert.equal(await scheme(), 'light dark')
  await page.getByRole('button', { name: 'Dark', pressed: false }).click()
  assert.equal(await scheme(), 'dark')
  await visit(page, '/api/')
  assert.equal(await scheme(), 'dark')
  await page.getByRole('button', { name: 'Dark', pressed: true }).click()
  assert.equal(await scheme(), 'light dark', 'as the system has it')
  assertQuiet(page)
})

test('a command is copied without its prompt, and without what it prints', async () => {
  const page = await browser.open()
  await visit(page, '/guides/first-deploy/')
  await page.getByRole('button', { name: 'Copy' }).first().click()
  await page.getByRole('button', { name: 'Copied' }).waitFor()
  assert.equal(await page.evaluate('navigator.clipboard.readText()'), 'npm ci && npm start')
  assertQuiet(page)
})
