/** Variables, domains, webhooks and the ledger, as people use them in the portal. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import type { resources } from '../../src/contract/index.ts'
import { startDns } from '../support/machine/dns.ts'
import { deploy, nodeServer } from '../support/service/deploy.ts'
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
  type TestBrowser,
} from './portal.ts'

/** Answers with two of its variables. */
const GREETER = nodeServer('', "return response.end(process.env.GREETING + ' ' + process.env.SECOND)")

const scope = { after }
const dns = await startDns(scope)
const service = await startService(scope, {
  settings: { HEADLAND_PUBLIC_ADDRESSES: '127.0.0.1', HEADLAND_DNS_SERVERS: dns.address },
})
const browser = await startBrowser(scope, service)
const api = await service.login()
const environment = await makeEnvironment()

async function makeEnvironment(): Promise<resources.Environment> {
  const { name } = await createEnvironment(service, api, { app: await createApp(service, api, { app: 'settings' }) })
  const { error, response } = await deploy(service, api, name, GREETER)
  assert.equal(error, undefined)
  return response as resources.Environment
}

const pathOf = (section: string, { name }: { name: string } = environment) =>
  `/${name.replace('accounts/', '')}/${section}`

async function opened(section: string, look: Parameters<TestBrowser['open']>[0] = {}): Promise<Page> {
  const page = await browser.open(look)
  await logIn(page, ownerOf(service), pathOf(section))
  return page
}

const rows = (page: Page) => page.getByRole('list', { name: 'Variables', exact: true }).getByRole('listitem')

test('a .env file is imported, saved with one request, and the site answers with it without a build', async () => {
  const page = await opened('settings/variables')
  await page.getByRole('button', { name: 'Import .env' }).click()
  const dialog = page.getByRole('dialog')
  await dialog
    .getByLabel('Content of a .env file')
    .fill('export GREETING="good\\nmorning" # hello\r\nSECOND=<b>bold</b>\nPORT=80\nnonsense')
  await dialog.getByText('2 new, 1 refused, 1 line not understood').waitFor()
  await dialog.getByText('is set by the service').waitFor()
  await assertAccessible(page, 'import')
  await dialog.getByRole('button', { name: 'Take 2 variables' }).click()

  const patches: unknown[] = []
  page.on('request', (request) => {
    if (request.method() === 'PATCH') patches.push(request.postDataJSON())
  })
  await page.getByText('Not saved: 2 new').waitFor()
  await assertAccessible(page, 'unsaved variables')
  await page.getByRole('button', { name: 'Save and start again' }).click()
  await page.getByRole('region', { name: 'Change operation' }).getByText('Done', { exact: true }).waitFor()
  assert.deepEqual(patches, [
    {
      shellVariables: [
        { key: 'GREETING', value: 'good\nmorning' },
        { key: 'SECOND', value: '<b>bold</b>' },
      ],
      etag: environment.etag,
    },
  ])
  assert.equal((await siteAnswer(service, environment.url)).text, 'good\nmorning <b>bold</b>')
  const { builds } = (await service.call(`/v1/${environment.name}/builds`, { as: api })).json
  assert.equal(builds.length, 1, 'nothing was built')

  await rows(page).filter({ hasText: 'GREETING' }).waitFor()
  assert.equal(await page.getByText('bold').count(), 0, 'secrets are hidden')
  await page.getByRole('button', { name: 'Show secrets' }).click()
  await page.getByText('<b>bold</b>').waitFor()
  await assertAccessible(page, 'variables')
  assertQuiet(page)
})

test('a value is changed without being shown, and the others keep theirs', async () => {
  const page = await opened('settings/variables')
  await page.getByRole('button', { name: 'Edit SECOND' }).click()
  await page.getByLabel('New value of SECOND').fill('two')
  await page.getByText('Not saved: 1 changed').waitFor()
  await page.getByRole('button', { name: 'Save and start again' }).click()
  await page.getByRole('region', { name: 'Change operation' }).getByText('Done', { exact: true }).waitFor()
  assert.equal((await siteAnswer(service, environment.url)).text, 'good\nmorning two')
})

test('an error is shown beside its row, and nothing is saved or lost', async () => {
  const page = await opened('settings/variables')
  await page.getByRole('button', { name: 'Add a variable' }).click()
  // The new row has the focus.
  await page.keyboard.type('NODE_ENV')
  await page.keyboard.press('Tab')
  await page.keyboard.type('development')
  await page.getByRole('button', { name: 'Save and start again' }).click()
  const row = rows(page).filter({ hasText: 'is set by the service' })
  await row.waitFor()
  assert.equal(await row.getByLabel('Name of the new variable').getAttribute('aria-invalid'), 'true')
  await assertAccessible(page, 'a refused variable')

  // To another page and back: the change is still there.
  await page.getByRole('link', { name: 'Domains' }).click()
  await page.getByText('They are kept until you come back').waitFor()
  await page.getByRole('link', { name: 'Variables' }).click()
  assert.equal(await page.getByLabel('Name of the new variable').inputValue(), 'NODE_ENV')
  await page.getByRole('button', { name: 'Discard' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Discard changes' }).click()
  await rows(page).filter({ hasText: 'GREETING' }).waitFor()
  assert.equal(await page.getByLabel('Name of the new variable').count(), 0)
  assertQuiet(page)
})

test('closing the tab with unsaved changes asks first', async () => {
  const page = await opened('settings/variables')
  await page.getByRole('button', { name: 'Delete SECOND' }).click()
  await page.getByText('Not saved: 1 deleted').waitFor()
  const asked = page.waitForEvent('dialog')
  await page.close({ runBeforeUnload: true })
  const dialog = await asked
  assert.equal(dialog.type(), 'beforeunload')
  await dialog.dismiss()
  await page.getByRole('button', { name: 'Undo SECOND' }).click()
  assert.equal(await page.getByText('Not saved').count(), 0)
})

/** Another user saves, outside of the page. */
async function othersSave(body: object) {
  const theirs = await service.call(`/v1/${environment.name}`, { method: 'PATCH', as: api, body })
  assert.equal(theirs.status, 200, theirs.text)
}

const saved = async (): Promise<Record<string, string>> => {
  const { json } = await service.call(`/v1/${environment.name}?view=FULL`, { as: api })
  return Object.fromEntries(json.shellVariables.map(({ key, value }: { key: string; value: string }) => [key, value]))
}

const meanwhile = (page: Page) => page.getByRole('alert').filter({ hasText: 'Another user saved changes meanwhile' })

test('changes that others save meanwhile are shown, and stay when the user saves on top', async () => {
  const page = await opened('settings/variables')
  await page.getByRole('button', { name: 'Add a variable' }).click()
  await page.keyboard.type('MINE')
  await othersSave({ shellVariables: [{ key: 'GREETING' }, { key: 'SECOND' }, { key: 'THEIRS', value: '1' }] })
  await rows(page).filter({ hasText: 'THEIRS' }).waitFor()
  await page.getByRole('button', { name: 'Save and start again' }).click()
  await meanwhile(page).getByText('THEIRS was added').waitFor()
  await meanwhile(page).getByText('Saving yours on top keeps theirs.').waitFor()
  assert.deepEqual(Object.keys(await saved()), ['GREETING', 'SECOND', 'THEIRS'], 'nothing was saved yet')
  await meanwhile(page).getByRole('button', { name: 'Save mine on top and start again' }).click()
  await page.getByRole('region', { name: 'Change operation' }).getByText('Done', { exact: true }).waitFor()
  assert.deepEqual(Object.keys(await saved()), ['GREETING', 'SECOND', 'THEIRS', 'MINE'])

  // The next change is based on what was saved just now, and is not in conflict with it.
  await page.getByRole('button', { name: 'Delete MINE' }).click()
  await page.getByRole('button', { name: 'Save and start again' }).click()
  await rows(page).filter({ hasText: 'MINE' }).waitFor({ state: 'detached' })
  assert.equal(await meanwhile(page).count(), 0)
  assertQuiet(page)
})

test('if two people changed the same variable the page says so, and the second one decides', async () => {
  const page = await opened('settings/variables')
  await page.getByRole('button', { name: 'Edit SECOND' }).click()
  await page.getByLabel('New value of SECOND').fill('mine')
  await page.getByRole('button', { name: 'Delete THEIRS' }).click()
  await page.getByRole('button', { name: 'Add a variable' }).click()
  await page.keyboard.type('BOTH')
  await page.keyboard.press('Tab')
  await page.keyboard.type('mine')
  await othersSave({
    shellVariables: [
      { key: 'GREETING', value: 'theirs' },
      { key: 'SECOND', value: 'theirs' },
      { key: 'BOTH', value: 'theirs' },
    ],
  })
  await page.getByRole('button', { name: 'Save and start again' }).click()
  const note = meanwhile(page)
  const noted = (text: string) => note.getByRole('listitem').filter({ hasText: text })
  for (const text of ['SECOND was changed', 'BOTH was added', 'THEIRS was deleted']) {
    await noted(text).getByText('You changed it, too').waitFor()
  }
  await noted('GREETING was changed').waitFor()
  assert.equal(await noted('GREETING').getByText('You changed it, too').count(), 0)
  assert.equal(await note.getByText('theirs', { exact: true }).count(), 0, 'values stay unseen')
  assert.equal(await page.getByLabel('New value of SECOND').inputValue(), 'mine', 'the input is still there')
  await assertAccessible(page, 'changed meanwhile')
  await assertFits(page, 'changed meanwhile')

  // Another page and back: nothing is lost, and saving asks again.
  await page.getByRole('link', { name: 'Domains' }).click()
  await page.getByRole('heading', { name: 'Domains', exact: true }).first().waitFor()
  await page.getByRole('link', { name: 'Variables' }).click()
  await page.getByRole('button', { name: 'Save and start again' }).click()
  await noted('SECOND was changed').waitFor()
  await note.getByRole('button', { name: 'Save mine on top and start again' }).click()
  await page.getByRole('region', { name: 'Change operation' }).getByText('Done', { exact: true }).waitFor()
  assert.deepEqual(await saved(), { GREETING: 'theirs', SECOND: 'mine', BOTH: 'mine' })
  assertQuiet(page)
})

test('changes can be discarded for those of others, and a new name or a build is no reason to ask', async () => {
  const page = await opened('settings/variables')
  await page.getByRole('button', { name: 'Edit SECOND' }).click()
  await page.getByLabel('New value of SECOND').fill('mine again')
  await othersSave({ shellVariables: [{ key: 'SECOND', value: 'two' }] })
  await page.getByRole('button', { name: 'Save and start again' }).click()
  await meanwhile(page).getByRole('button', { name: 'Discard mine' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Discard changes' }).click()
  await meanwhile(page).waitFor({ state: 'detached' })
  await rows(page).filter({ hasText: 'GREETING' }).waitFor({ state: 'detached' })
  assert.deepEqual(await saved(), { SECOND: 'two' })

  await page.getByRole('button', { name: 'Add a variable' }).click()
  await page.keyboard.type('GREETING')
  await page.keyboard.press('Tab')
  await page.keyboard.type('good')
  await othersSave({ displayName: 'Renamed' })
  await page.getByRole('button', { name: 'Save and start again' }).click()
  await page.getByRole('region', { name: 'Change operation' }).getByText('Done', { exact: true }).waitFor()
  assert.deepEqual(await saved(), { SECOND: 'two', GREETING: 'good' })
  assertQuiet(page)
})

test('the page asks about a name that two people changed at the same moment, and not about other fields', async () => {
  const page = await opened('settings')
  const name = page.getByLabel('Name', { exact: true })
  const save = page.getByRole('form', { name: 'Environment' }).getByRole('button', { name: 'Save', exact: true })
  await name.fill('Mine')
  await othersSave({ rootDirectory: 'theirs' })
  await save.click()
  await page.getByRole('region', { name: 'Change operation' }).getByText('Done', { exact: true }).waitFor()
  await name.fill('Mine again')
  await othersSave({ displayName: 'Theirs', rootDirectory: '' })
  await save.click()
  await meanwhile(page).getByText('Name is now Theirs').waitFor()
  await meanwhile(page).getByText('Folder of the app is empty now').waitFor()
  await assertAccessible(page, 'a name changed meanwhile')
  assert.equal(await name.inputValue(), 'Mine again')
  await meanwhile(page).getByRole('button', { name: 'Save mine on top' }).click()
  await meanwhile(page).waitFor({ state: 'detached' })
  const { json } = await service.call(`/v1/${environment.name}`, { as: api })
  assert.deepEqual([json.displayName, json.rootDirectory], ['Mine again', ''])
  assertQuiet(page)
})

test('the number of instances is saved, and one that is above the other is explained beside its field', async () => {
  const page = await opened('settings')
  const form = page.getByRole('form', { name: 'Instances' })
  const save = form.getByRole('button', { name: 'Save' })
  const always = form.getByLabel('Instances that always run')
  await always.fill('2')
  await form.getByText('must not be more than "Instances at most"').waitFor()
  assert.equal(await save.isDisabled(), true)
  await form.getByLabel('Instances at most').fill('99')
  await save.click()
  await form.getByText('Instances at most must be from 1 to 16').waitFor()
  await form.getByLabel('Instances at most').fill('4')
  await form.getByLabel('Requests in flight for each instance').fill('many')
  await form.getByText('must be a whole number').waitFor()
  await form.getByLabel('Requests in flight for each instance').fill('25')
  await assertAccessible(page, 'instances')
  await save.click()
  await page.getByText('Saved.').waitFor()
  const { json } = await service.call(`/v1/${environment.name}`, { as: api })
  assert.deepEqual([json.minInstances, json.maxInstances, json.requestsPerInstance], [2, 4, 25])
  await othersSave({ minInstances: 0, maxInstances: 1, requestsPerInstance: 10 })
})

test('each variable is secret or plain, by its name or by choice; plain values are shown, to viewers too', async () => {
  const page = await opened('settings/variables')
  const variables = async (view: string) =>
    (await service.call(`/v1/${environment.name}${view}`, { as: api })).json.shellVariables
  const save = async () => {
    await page.getByRole('button', { name: 'Save and start again' }).click()
    await page.getByText('Not saved').waitFor({ state: 'detached' })
  }
  await page.getByRole('button', { name: 'Add a variable' }).click()
  await page.keyboard.type('VITE_CITY')
  assert.equal(await page.getByLabel('Kind of VITE_CITY').inputValue(), 'PLAIN')
  await page.keyboard.press('Tab')
  await page.keyboard.type('Lisbon')
  await page.getByLabel('Kind of SECOND').selectOption('Plain')
  await page.getByText('Not saved: 1 new, 1 changed').waitFor()
  await page.getByRole('button', { name: 'Save and start again' }).click()
  const second = rows(page).filter({ hasText: 'SECOND' })
  await second.getByText('becomes PLAIN only together with its value').waitFor()
  await assertAccessible(page, 'a secret that is to be plain')
  await page.getByLabel('New value of SECOND').fill('seen by all')
  await save()
  await second.getByText('seen by all').waitFor()
  assert.equal(await rows(page).filter({ hasText: 'GREETING' }).getByText('value hidden').count(), 1)
  assert.deepEqual((await variables('')).at(-1), { key: 'VITE_CITY', kind: 'PLAIN', value: 'Lisbon' })

  const look = await browser.open()
  await logIn(look, await makePerson(service, 'viewer', { email: 'looks@example.com' }), pathOf('settings/variables'))
  await look.getByText('seen by all').waitFor()
  assert.equal(await look.getByText('value hidden').count(), (await rows(look).count()) - 2)

  await page.getByLabel('Kind of SECOND').selectOption('Secret')
  await save()
  await second.getByText('value hidden').waitFor()
  // If secrets are shown, their values need not be typed again.
  await page.getByRole('button', { name: 'Show secrets' }).click()
  await second.getByText('seen by all').waitFor()
  await page.getByLabel('Kind of SECOND').selectOption('Plain')
  assert.equal(await page.getByLabel('New value of SECOND').inputValue(), 'seen by all')
  await page.getByLabel('Kind of SECOND').selectOption('Secret')
  await page.getByText('Not saved').waitFor({ state: 'detached' })
  assertQuiet(page)
})

test('a domain is added in its ASCII form, refused if another environment has it, and removed after a warning', async () => {
  const other = await createEnvironment(service, api, { app: 'settings' })
  const taken = await service.call(`/v1/${other.name}/domains:replace`, {
    method: 'POST',
    as: api,
    body: { domains: ['taken.example.com'] },
  })
  assert.equal(taken.status, 200)

  const page = await opened('settings/domains')
  const field = page.getByLabel('Host name', { exact: true })
  await field.fill('taken.example.com')
  await page.keyboard.press('Enter')
  await page.getByText('Another environment has: taken.example.com.').waitFor()
  assert.equal(await field.getAttribute('aria-invalid'), 'true')
  await field.fill('no wildcard *.example.com')
  await page.keyboard.press('Enter')
  await page.getByText('there are no wildcards').waitFor()
  await assertAccessible(page, 'a refused domain')

  await field.fill('https://München.Example/')
  await page.keyboard.press('Enter')
  const row = page.getByRole('row').filter({ hasText: 'xn--mnchen-3ya.example' }).first()
  await row.waitFor()
  // The list is shown as soon as it is saved, which is before the edge has its routes.
  await until(async () => /good/.test((await siteAnswer(service, 'http://xn--mnchen-3ya.example')).text))

  await page.getByRole('button', { name: 'Remove xn--mnchen-3ya.example' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('get an error page at once').waitFor()
  await assertAccessible(page, 'remove a domain')
  await dialog.getByRole('button', { name: 'Remove domain' }).click()
  await page.getByText('No domain of your own yet').waitFor()
  await until(async () => (await siteAnswer(service, 'http://xn--mnchen-3ya.example')).status === 404)
  assertQuiet(page)
})

test('domains show where DNS leads, what to enter, and redirect to each other by a choice', async () => {
  dns.zone.set('astray.example.org', ['198.51.100.7'])
  dns.zone.set('www.astray.example.org', ['127.0.0.1'])
  const { name } = await createEnvironment(service, api, { app: 'settings' })
  const domains = ['astray.example.org', 'www.astray.example.org']
  await service.call(`/v1/${name}/domains:replace`, { method: 'POST', as: api, body: { domains } })
  const page = await browser.open()
  await logIn(page, ownerOf(service), pathOf('settings/domains', { name }))
  const choiceOf = (host: string) => page.getByLabel(`What visitors of ${host} get`, { exact: true })
  const row = (host: string) => page.getByRole('row').filter({ has: choiceOf(host) })
  await row('astray.example.org').getByText('Leads elsewhere').waitFor()
  await row('astray.example.org').getByText('To 198.51.100.7').waitFor()
  await row('www.astray.example.org').getByText('Leads here').waitFor()
  const entries = page.getByRole('table', { name: 'Entries in DNS' })
  await entries.getByRole('row').filter({ hasText: '127.0.0.1' }).waitFor()

  await page.getByRole('button', { name: 'Redirect to www.astray.example.org' }).click()
  const choice = choiceOf('astray.example.org')
  await until(async () => (await choice.inputValue()) === 'www.astray.example.org')
  const redirected = () => siteAnswer(service, 'http://astray.example.org', '/a?b')
  await until(async () => (await redirected()).status === 308)
  assert.equal((await redirected()).headers.location, '//www.astray.example.org/a?b')
  // The two swap roles, so there is never a loop.
  await choiceOf('www.astray.example.org').selectOption('astray.example.org')
  await until(async () => (await choice.inputValue()) === '')
  await until(async () => (await siteAnswer(service, 'http://www.astray.example.org')).status === 308)

  dns.zone.set('astray.example.org', ['127.0.0.1'])
  await assertAccessible(page, 'domains with their states')
  await page.setViewportSize(SIZES.phone)
  await assertFits(page, 'domains with their states')
  assertQuiet(page)
})

const copied = async (page: Page, name: string): Promise<string> => {
  await page.getByRole('button', { name: `Copy the URL for ${name}`, exact: true }).click()
  return page.evaluate<string>('navigator.clipboard.readText()')
}

const post = (url: string, agent = 'WordPress/6.8') => {
  const { pathname, search } = new URL(url)
  return fetch(`${service.api}${pathname}${search}`, { method: 'POST', headers: { 'user-agent': agent } })
}

test('webhooks are created, copied without being shown, and called; their use appears; after regeneration and deletion old URLs are refused', async () => {
  const page = await opened('settings/webhooks')
  await page.getByText('No webhooks yet').waitFor()
  await assertAccessible(page, 'no webhooks')
  await page.getByRole('button', { name: 'Create webhooks' }).click()
  await page.getByText('Copy the URLs now').waitFor()
  await assertAccessible(page, 'new webhooks')
  const purge = await copied(page, 'Purge cache')
  const token = new URL(purge).searchParams.get('token') ?? ''
  assert.ok(token.length > 20)
  assert.ok(!(await page.content()).includes(token), 'the token was copied without being on the page')
  await page.getByRole('button', { name: 'Show the URL for Purge cache' }).click()
  assert.ok((await page.content()).includes(token))

  const lastUse = page.getByRole('table', { name: 'Webhooks' }).getByRole('row', { name: /Purge cache/ })
  await lastUse.getByText('not since it was made').waitFor()
  assert.equal((await post(purge)).status, 200)
  await lastUse.getByText('just now').waitFor()
  await page.getByRole('button', { name: 'I have copied what I need' }).click()
  assert.ok(!(await page.content()).includes(token))
  await page.reload()
  await lastUse.getByText('just now').waitFor()
  assert.ok(!(await page.content()).includes('token=•'))

  await page.getByRole('button', { name: 'Regenerate all' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('Purge cache was last called just now, by WordPress/6.8 from').waitFor()
  await assertAccessible(page, 'regenerate')
  assert.equal((await post(purge)).status, 200, 'asking changes nothing')
  await dialog.getByRole('button', { name: 'Regenerate all' }).click()
  await page.getByText('Copy the URLs now').waitFor()
  const renewed = await copied(page, 'Purge cache')
  assert.equal((await post(purge)).status, 401)
  assert.equal((await post(renewed)).status, 200)
  await lastUse.getByText('just now').waitFor()

  await page.getByRole('button', { name: 'Delete all' }).click()
  await dialog.getByText('Not called since they were made: Rebuild, Clean Rebuild.').waitFor()
  await dialog.getByRole('button', { name: 'Delete all' }).click()
  await page.getByText('No webhooks yet').waitFor()
  assert.equal((await post(renewed)).status, 401)
  assert.equal(await page.getByText('Copy the URLs now').count(), 0)
  assertQuiet(page)
})

test('URLs that another user replaced are not shown any longer', async () => {
  const page = await opened('settings/webhooks')
  await page.getByRole('button', { name: 'Create webhooks' }).click()
  const shown = page.getByText('Copy the URLs now')
  await shown.waitFor()
  const { status } = await service.call(`/v1/${environment.name}/webhooks:regenerate`, { method: 'POST', as: api })
  assert.equal(status, 200)
  await shown.waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Regenerate all' }).waitFor()
  await service.call(`/v1/${environment.name}/webhooks`, { method: 'DELETE', as: api })
  await page.getByText('No webhooks yet').waitFor()
})

test('the quiet period is saved, and an error is shown beside its field', async () => {
  const page = await opened('settings/webhooks')
  await page.getByRole('button', { name: 'Create webhooks' }).click()
  const quiet = page.getByLabel('Seconds without a call')
  await quiet.fill('90')
  const form = page.getByRole('form', { name: 'Quiet period' })
  await form.getByRole('button', { name: 'Save' }).click()
  await form.getByText('must not be less than quietSeconds').waitFor()
  await quiet.fill('ten')
  await form.getByText('must be a whole number of seconds').waitFor()
  await quiet.fill('10')
  await form.getByRole('button', { name: 'Save' }).click()
  await page.getByText('The quiet period is saved.').waitFor()
  const { json } = await service.call(`/v1/${environment.name}/webhooks`, { as: api })
  assert.deepEqual([json.quietSeconds, json.maxQuietSeconds], [10, 60])
})

test('the ledger shows callers and results as they come in, and a hostile name stays text', async () => {
  const page = await opened('triggers')
  const table = page.getByRole('table')
  await table.getByText('WordPress/6.8').first().waitFor()
  const { json } = await service.call(`/v1/${environment.name}/webhooks:regenerate`, { method: 'POST', as: api })
  const { url } = json.webhooks.find(({ action }: { action: string }) => action === 'rebuild')
  assert.equal((await post(url, '<img src=x onerror=alert(1)>')).status, 200)
  const row = table.getByRole('row').filter({ hasText: '<img src=x onerror=alert(1)>' })
  await row.getByText('Taken').waitFor()
  await row.getByRole('link', { name: 'Build' }).waitFor()
  await assertAccessible(page, 'triggers')

  const before = await table.getByRole('row').count()
  await service.call(`/v1/${environment.name}:clearCache`, { method: 'POST', as: api, body: { paths: ['/a', '/b'] } })
  await page.getByRole('link', { name: 'API', exact: true }).click()
  await table.getByText('/a, /b').waitFor()
  await row.waitFor({ state: 'detached' })
  assert.equal(await table.getByText('WordPress/6.8').count(), 0)
  assert.match(page.url(), /\?source=API$/)
  assert.ok((await table.getByRole('row').count()) < before)
  await page.goBack()
  await row.getByRole('link', { name: 'Build' }).click()
  await page.waitForURL(/\/builds\/[0-9a-f-]+$/)
  assertQuiet(page)
})

/** Each page with the link that leads to it from the one before, and a text that the one before does not have. */
const SECTIONS = [
  { section: 'triggers', link: undefined, known: 'WordPress/6.8' },
  { section: 'settings', link: 'General', known: 'Instances that always run' },
  { section: 'settings/variables', link: 'Variables', known: 'GREETING' },
  { section: 'settings/domains', link: 'Domains', known: 'Given by the service' },
  { section: 'settings/webhooks', link: 'Webhooks', known: /^Quiet (for|period)/ },
] as const

test('a viewer sees no controls that write, and cannot write by a direct call either', async () => {
  const viewer = await makePerson(service, 'viewer')
  const page = await browser.open()
  await logIn(page, viewer, pathOf('triggers'))
  const writing = /add|import|edit|delete|save|regenerate|create|remove|show secrets/i
  for (const { section, link, known } of SECTIONS) {
    if (link) await page.getByRole('link', { name: link, exact: true }).click()
    await page.getByText(known).first().waitFor()
    assert.equal(await page.getByRole('main').getByRole('button', { name: writing }).count(), 0, section)
    assert.equal(await page.getByRole('main').getByRole('textbox').count(), 0, section)
    await assertAccessible(page, section)
  }
  const by = (method: string, path: string, body: unknown) =>
    page.evaluate<number>(`fetch(${JSON.stringify(path)}, {
      method: '${method}', headers: { 'content-type': 'application/json' }, body: ${JSON.stringify(JSON.stringify(body))},
    }).then(({ status }) => status)`)
  assert.equal(await by('PATCH', `/v1/${environment.name}`, { shellVariables: [] }), 403)
  assert.equal(await by('POST', `/v1/${environment.name}/domains:replace`, { domains: [] }), 403)
  assert.equal(await by('POST', `/v1/${environment.name}/webhooks:regenerate`, {}), 403)
  assert.equal(await page.evaluate(`fetch('/v1/${environment.name}?view=FULL').then(({ status }) => status)`), 403)
})

test('every page fits a phone and a wide window, and is accessible in the dark', async () => {
  const page = await opened('triggers', { scheme: 'dark' })
  for (const { section, link, known } of SECTIONS) {
    if (link) await page.getByRole('link', { name: link, exact: true }).click()
    await page.getByText(known).first().waitFor()
    await assertAccessible(page, `${section}, dark`, 'colours')
    for (const size of ['wide', 'phone'] as const) {
      await page.setViewportSize(SIZES[size])
      await assertFits(page, `${section}, ${size}`)
    }
    await assertAccessible(page, `${section}, on a phone`, 'all but colours')
    await page.setViewportSize(SIZES.laptop)
  }
  assertQuiet(page)
})
