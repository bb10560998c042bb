/** A rollback as people see it: what is pinned, since when, and how to end it. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { deploy, page as files, untilDone } from '../support/service/deploy.ts'
import { createEnvironment } from '../support/service/environment.ts'
import { until } from '../support/until.ts'
import {
  assertAccessible,
  assertFits,
  assertQuiet,
  logIn,
  makePerson,
  ownerOf,
  startBrowser,
  startService,
} from './portal.ts'

const ends: (() => unknown)[] = []
const scope = { after: (end: () => unknown) => void ends.unshift(end) }
after(async () => {
  for (const end of ends) await end()
})
const service = await startService(scope)
const browser = await startBrowser(scope, service)
const as = await service.login()

const pathOf = (name: string) => `/${name.replace('accounts/', '')}`
const note = (page: Page) => page.getByRole('region', { name: 'Pinned' })

/** A screenshot for review, if PICTURES names a folder. */
async function keepPicture(page: Page, name: string) {
  const folder = process.env.PICTURES
  if (folder) await page.screenshot({ path: join(folder, `pin-${name}.png`) })
}

test('after a rollback a banner says what is pinned, and its button ends it', async () => {
  const { name } = await createEnvironment(service, as)
  const good = (await deploy(service, as, name, files('good'))).metadata.deployment
  await deploy(service, as, name, files('bad'))
  const page = await browser.open()
  await logIn(page, ownerOf(service), pathOf(name))
  await page.getByRole('heading', { name: 'Details' }).waitFor()
  assert.equal(await note(page).count(), 0)

  const { json } = await service.call(`/v1/${good}:activate`, { method: 'POST', as, body: {} })
  await untilDone(service, as, json.name)
  await note(page).waitFor()
  const { pin } = (await service.call(`/v1/${name}`, { as })).json
  await note(page)
    .getByText(pin.archive.slice('sha256:'.length, 'sha256:'.length + 12))
    .waitFor()
  await note(page)
    .getByRole('link', { name: good.slice(-8) })
    .waitFor()
  await assertAccessible(page, 'a pinned environment')
  await keepPicture(page, 'overview')

  const viewer = await browser.open({ size: 'phone', scheme: 'dark' })
  await logIn(viewer, await makePerson(service, 'viewer'), `${pathOf(name)}/deployments`)
  await note(viewer).waitFor()
  assert.equal(await note(viewer).getByRole('button').count(), 0, 'a user without write access has no button')
  await assertFits(viewer, 'the banner on a phone')
  await assertAccessible(viewer, 'the banner on a phone')
  await keepPicture(viewer, 'phone')
  assertQuiet(viewer)

  await note(page).getByRole('button', { name: 'Unpin' }).click()
  await note(page).waitFor({ state: 'detached' })
  await page.getByText('Not pinned any more. The next rebuild builds the newest upload.').waitFor()
  await until(async () => (await service.call(`/v1/${name}`, { as })).json.pin === null, 'it is not pinned')
  assertQuiet(page)
})
