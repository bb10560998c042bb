/** Protected environments in a real browser: the form that visitors get, and the settings in the portal. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import type { resources } from '../../src/contract/index.ts'
import { deploy, page as siteOf, untilDone } from '../support/service/deploy.ts'
import { createApp, createEnvironment, siteAnswer } from '../support/service/environment.ts'
import { until } from '../support/until.ts'
import {
  assertAccessible,
  assertFits,
  assertQuiet,
  logIn,
  makePerson,
  ownerOf,
  SIZES,
  startBrowser,
  startService,
} from './portal.ts'

const PASSWORD = 'correct horse'

const scope = { after }
const service = await startService(scope)
const browser = await startBrowser(scope, service)
const api = await service.login()
const app = await createApp(service, api, { app: 'protected' })
const environment = await createEnvironment(service, api, { app })
const files = { ...siteOf('the secret site'), 'a/index.html': '<!doctype html><title>a</title><p>page a</p>' }
assert.equal((await deploy(service, api, environment.name, files)).error, undefined)

async function change(body: object) {
  const asked = await service.call(`/v1/${environment.name}`, { method: 'PATCH', as: api, body })
  assert.equal(asked.status, 200, asked.text)
  await untilDone(service, api, asked.json.name)
}

const read = async (): Promise<resources.Environment> =>
  (await service.call(`/v1/${environment.name}`, { as: api })).json

const settings = `/${environment.name.replace('accounts/', '')}/settings`
const formOf = (page: Page) => page.getByRole('form', { name: 'Visibility' })

test('a visitor types the password, and gets to the page that was asked for', async () => {
  await change({ protection: { password: PASSWORD } })
  const page = await browser.open()
  const answer = await page.goto(`${environment.url}/a/?b=1`)
  assert.equal(answer?.status(), 401)
  assert.equal(await page.evaluate('document.activeElement.id'), 'password', 'the field has the focus')
  await assertAccessible(page, 'the form')
  await page.keyboard.type('wrong horse')
  await page.keyboard.press('Enter')
  await page.getByRole('alert').getByText('This is not the password. Try again.').waitFor()
  await assertAccessible(page, 'the form after a wrong password')
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByText('page a').waitFor()
  assert.equal(page.url(), `${environment.url}/a/?b=1`)
  await page.goto(environment.url)
  await page.getByText('the secret site').waitFor()
  assert.equal(await page.evaluate('document.cookie'), '', 'scripts of the site do not see the cookie')
  assertQuiet(page)
})

test('the form fits a phone, and its colours can be read in light and dark', async () => {
  for (const scheme of ['light', 'dark'] as const) {
    const page = await browser.open({ size: 'phone', scheme })
    await page.goto(environment.url)
    await page.getByRole('heading', { name: 'Password required' }).waitFor()
    await assertFits(page, `the form, ${scheme}`)
    await assertAccessible(page, `the form, ${scheme}`, 'colours')
    assertQuiet(page)
  }
})

test('a password is set, changed and removed in the portal, and is never shown', async () => {
  await change({ protection: { password: null } })
  const page = await browser.open()
  await logIn(page, ownerOf(service), settings)
  const form = formOf(page)
  const save = form.getByRole('button', { name: 'Save' })
  await form.getByLabel('Password').fill('short')
  await form.getByText('Password must have at least 8 characters').waitFor()
  assert.equal(await save.isDisabled(), true)
  await form.getByLabel('Password').fill(PASSWORD)
  await save.click()
  await form.getByText('A password is set.').waitFor()
  await assertAccessible(page, 'the settings with a password')
  assert.equal(await form.getByLabel('New password').inputValue(), '')
  assert.equal((await read()).protection.hasPassword, true)
  assert.equal((await siteAnswer(service, environment.url)).status, 401)

  await form.getByRole('button', { name: 'Remove password' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('Everyone who knows the address can see the site.').waitFor()
  await dialog.getByRole('button', { name: 'Remove password' }).click()
  await form.getByLabel('Password', { exact: true }).waitFor()
  assert.equal((await read()).protection.hasPassword, false)
  assertQuiet(page)
})

test('addresses are saved together, and one that is none is named', async () => {
  const page = await browser.open()
  await logIn(page, ownerOf(service), settings)
  const form = formOf(page)
  await form.getByLabel('Addresses').fill('127.0.0.0/8\nexample.com')
  await form.getByRole('button', { name: 'Save' }).click()
  await form.getByText('Addresses has example.com, which must be an IPv4 or IPv6 address').waitFor()
  await form.getByLabel('Addresses').fill('127.0.0.9/8 ::1\n2001:DB8::/32')
  await form.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved.').waitFor()
  assert.deepEqual((await read()).protection.addresses, ['127.0.0.0/8', '::1', '2001:db8::/32'])
  assert.equal((await siteAnswer(service, environment.url)).status, 200)
  await change({ protection: { addresses: [] } })
  assertQuiet(page)
})

test('an environment with a domain that is not production is pointed out, until it is', async () => {
  const body = { domains: ['www.protected.example'] }
  await service.call(`/v1/${environment.name}/domains:replace`, { method: 'POST', as: api, body })
  const page = await browser.open()
  await logIn(page, ownerOf(service), `${settings}/domains`)
  const note = page.getByRole('region', { name: 'Not listed by search engines' })
  await note.waitFor()
  await assertAccessible(page, 'the domains with a note')
  await note.getByRole('link', { name: 'Visibility under General' }).click()
  await formOf(page).getByLabel('Search engines').selectOption('yes')
  await formOf(page).getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved.').waitFor()
  assert.equal((await read()).production, true)
  assert.equal((await siteAnswer(service, environment.url)).headers['x-robots-tag'], undefined)
  await page.getByRole('link', { name: 'Domains' }).click()
  await page.getByRole('heading', { name: 'Domains' }).waitFor()
  await note.waitFor({ state: 'detached' })
  assertQuiet(page)
})

test('the badge is switched on, shown with its Markdown, and switched off', async () => {
  const page = await browser.open()
  await logIn(page, ownerOf(service), settings)
  await page.getByRole('button', { name: 'Switch the badge on' }).click()
  const picture = page.getByRole('img', { name: `Badge of ${environment.displayName}` })
  await picture.waitFor()
  await until(
    () => picture.evaluate((image) => (image as unknown as { naturalWidth: number }).naturalWidth > 60),
    'the picture is drawn',
  )
  await page.getByText(`[![${environment.displayName}](${service.api}/v1/${environment.name}/badge.svg)]`).waitFor()
  await assertAccessible(page, 'the badge')
  await page.setViewportSize(SIZES.phone)
  await assertFits(page, 'the badge on a phone')
  await page.getByRole('button', { name: 'Switch the badge off' }).click()
  await picture.waitFor({ state: 'detached' })
  assert.equal((await read()).badge, false)
  assertQuiet(page)
})

test('a viewer sees who may see the site, and cannot change it', async () => {
  await change({ production: false, protection: { password: PASSWORD, addresses: ['203.0.113.0/24'] } })
  const page = await browser.open()
  await page.setViewportSize(SIZES.phone)
  await logIn(page, await makePerson(service, 'viewer'), settings)
  await page.getByText('Not production: they are told not to list it').waitFor()
  await page.getByText('asked for', { exact: true }).waitFor()
  await page.getByText('203.0.113.0/24').waitFor()
  assert.equal(await formOf(page).count(), 0)
  await assertFits(page, 'the settings of a viewer')
  assertQuiet(page)
})
