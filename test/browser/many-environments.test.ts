/** An agency with hundreds of environments: the pages that list them request all of them at once. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { fillAccount } from '../support/service/many-environments.ts'
import { startService } from '../support/service/service.ts'
import { assertAccessible, assertFits, assertQuiet, logIn, ownerOf, SIZES, startBrowser } from './portal.ts'

const ENVIRONMENTS = 230
const FAILED = 23

const service = await startService({ after })
const browser = await startBrowser({ after }, service)
await fillAccount(service, ENVIRONMENTS)

/** The API requests of the page since it was last loaded, without queries. */
function watchRequests(page: Page): string[] {
  const asked: string[] = []
  page.on('request', (request) => {
    if (request.isNavigationRequest()) asked.length = 0
    const { pathname } = new URL(request.url())
    if (pathname.startsWith('/v1/')) asked.push(pathname)
  })
  return asked
}

const app = (page: Page, name: string) => page.getByRole('heading', { name, exact: true })
const rowsOf = (page: Page) => page.getByRole('list', { name: /^Environments of/ }).getByRole('listitem')

/** Two pages of environments and one of apps, twice: again when the stream of changes is open. */
const LISTS = 6
/** Two pages of traffic, and what is under way, twice. */
const LIVE = 6

test('the apps page shows hundreds of environments with a handful of requests', async () => {
  const page = await browser.open()
  const asked = watchRequests(page)
  await logIn(page, ownerOf(service), '/default/apps')
  await app(page, 'site-000').waitFor()
  assert.equal(await rowsOf(page).count(), ENVIRONMENTS)
  const lists = asked.filter((path) => path.includes('/apps'))
  assert.ok(lists.length <= LISTS, lists.join('\n'))
  assert.ok(asked.length <= LISTS + LIVE + 6, asked.join('\n'))
  assert.deepEqual(
    asked.filter((path) => path.includes('/operations')),
    [],
  )
  await page.setViewportSize(SIZES.phone)
  await assertFits(page, 'many environments, on a phone')
  assertQuiet(page)
})

test('a search and a state filter the list, without further requests', async () => {
  const page = await browser.open()
  const asked = watchRequests(page)
  await logIn(page, ownerOf(service), '/default/apps')
  await app(page, 'site-000').waitFor()
  const rows = rowsOf(page)
  await page.getByRole('link', { name: `Failed ${FAILED}` }).click()
  await app(page, 'site-003').waitFor({ state: 'detached' })
  assert.equal(await rows.count(), FAILED)
  await page.getByLabel('Search apps, environments and addresses').fill('site-120')
  await app(page, 'site-000').waitFor({ state: 'detached' })
  assert.equal(await rows.count(), 1)
  await assertAccessible(page, 'a search in a state')
  await page.getByRole('link', { name: 'All', exact: true }).click()
  await rows.nth(2).waitFor()
  assert.equal(await rows.count(), 3)
  await page.getByLabel('Search apps, environments and addresses').fill('no such thing')
  await page.getByText('Nothing has all of these words: no such thing').waitFor()
  const lists = asked.filter((path) => path.includes('/apps'))
  assert.ok(lists.length <= LISTS, lists.join('\n'))
  assertQuiet(page)
})

test('the page of one app requests its environments once, and nothing for each of them', async () => {
  const page = await browser.open()
  const asked = watchRequests(page)
  await logIn(page, ownerOf(service), '/default/apps/site-000')
  await page.getByText('Build failed').first().waitFor()
  assert.deepEqual(
    asked.filter((path) => /environments\/./.test(path)),
    [],
  )
  assertQuiet(page)
})
