/** The requests of visitors, as people read them in the portal. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { deploy, nodeServer } from '../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../support/service/environment.ts'
import {
  assertAccessible,
  assertFits,
  assertQuiet,
  COLOUR_RULES,
  logIn,
  ownerOf,
  startBrowser,
  startService,
} from './portal.ts'

const scope = { after }
const service = await startService(scope)
const browser = await startBrowser(scope, service)
const api = await service.login()
const owner = ownerOf(service)

const ANSWERS = `
  if (request.url.startsWith('/blog')) response.setHeader('cache-control', 's-maxage=600')
  if (request.url === '/checkout') { console.error('TypeError: <b>cart</b> is undefined'); response.statusCode = 500 }
  if (request.url === '/old') response.statusCode = 404`

const pathOf = (name: string) => `/${name.replace('accounts/', '')}/requests`

test('a visitor who got a 500 is found, with what the app wrote then; new requests appear, unless it is paused', async () => {
  const { name, url } = await createEnvironment(service, api)
  assert.equal((await deploy(service, api, name, nodeServer('hello', ANSWERS))).error, undefined)
  const page = await browser.open()
  await logIn(page, owner, pathOf(name))
  await page.getByRole('heading', { name: 'No requests yet' }).waitFor()
  await assertAccessible(page, 'no requests')

  const rows = page.getByRole('table', { name: 'Requests, newest first' }).getByRole('row')
  await siteAnswer(service, url, '/blog/one?token=hunter2&page=2')
  await rows.filter({ hasText: '/blog/one?token=…&page=…' }).filter({ hasText: 'Miss' }).waitFor()
  await siteAnswer(service, url, '/blog/one?token=hunter2&page=2')
  await rows.filter({ hasText: 'Hit' }).waitFor()
  const fault = await siteAnswer(service, url, '/checkout')
  await siteAnswer(service, url, '/old')
  await rows.filter({ hasText: '/old' }).waitFor()
  assert.doesNotMatch(await page.content(), /hunter2/)

  await page.getByRole('navigation', { name: 'Status' }).getByRole('link', { name: '5xx' }).click()
  await page.waitForURL(/status=5xx/)
  const found = rows.filter({ hasText: '/checkout' })
  await found.getByText(String(fault.headers['headland-request-id'])).waitFor()
  assert.equal(await rows.count(), 2, 'the head and one request')
  await found.getByRole('button', { name: 'What the app wrote' }).click()
  await found.getByText('TypeError: <b>cart</b> is undefined').waitFor()
  await assertAccessible(page, 'an error')
  await assertFits(page, 'an error')

  await page.getByRole('navigation', { name: 'Status' }).getByRole('link', { name: 'All' }).click()
  await page.getByRole('searchbox', { name: 'Path, as /blog*' }).fill('/blog*')
  await page.waitForURL(/path=/)
  await page.getByText('2 requests, the newest first.').waitFor()

  await page.getByRole('button', { name: 'Pause' }).click()
  await page.getByText('Paused.').waitFor()
  await siteAnswer(service, url, '/blog/two')
  await page.getByRole('button', { name: 'Go on' }).click()
  await rows.filter({ hasText: '/blog/two' }).waitFor()
  await page.getByText('3 requests, the newest first.').waitFor()
  await page.getByRole('searchbox', { name: 'Path, as /blog*' }).fill('/none')
  await page.getByText('No recorded request matches.').waitFor()
  assertQuiet(page)

  for (const look of [{ size: 'phone' }, { scheme: 'dark' }, { size: 'phone', scheme: 'dark' }] as const) {
    const other = await browser.open(look)
    await logIn(other, owner, pathOf(name))
    await other.getByRole('row').filter({ hasText: '/old' }).waitFor()
    await assertFits(other, JSON.stringify(look))
    await assertAccessible(other, JSON.stringify(look), COLOUR_RULES)
    assertQuiet(other)
  }
})

test('where the operator has switched it off, the page says so', async (t) => {
  const silent = await startService(t, { settings: { HEADLAND_REQUEST_LOG: 'false' } })
  const { name } = await createEnvironment(silent, await silent.login())
  const page = await (await startBrowser(t, silent)).open()
  await logIn(page, ownerOf(silent), pathOf(name))
  await page.getByRole('heading', { name: 'Requests are not recorded' }).waitFor()
  assertQuiet(page)
})
