/** Pages of the portal that are tested on one service: what operators, owners and developers see and change there. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { deploy, page as siteOf, untilDone } from '../support/service/deploy.ts'
import { createApp, createEnvironment } from '../support/service/environment.ts'
import { until } from '../support/until.ts'
import {
  assertAccessible,
  assertAccessibleInBoth,
  assertFits,
  assertQuiet,
  logIn,
  makePerson,
  ownerOf,
  SIZES,
  startBrowser,
  startService,
  visit,
} from './portal.ts'

const ends: (() => unknown)[] = []
const scope = { after: (end: () => unknown) => void ends.unshift(end) }
after(async () => {
  for (const end of ends) await end()
})

/** Of the receiver of notifications, which is a real server. */
let receiverStatus = 500
const receiver = createServer((_, response) => response.writeHead(receiverStatus).end()).listen(0, '127.0.0.1')
await new Promise((resolve) => receiver.once('listening', resolve))
scope.after(() => receiver.close())
const { port } = receiver.address() as AddressInfo

const service = await startService(scope, {
  settings: {
    HEADLAND_OPERATOR_ACCOUNTS: 'default',
    HEADLAND_REQUEST_LOG: 'false',
    HEADLAND_EGRESS_HOSTS: `127.0.0.1:${port}`,
  },
})
const browser = await startBrowser(scope, service)
const as = await service.login('owner')

test('one machine is shown to its operator, and nothing to others', async () => {
  const page = await browser.open()
  await logIn(page, ownerOf(service), '/default/cluster')
  await page.getByText('One machine', { exact: true }).waitFor()
  await page.getByRole('table', { name: 'Control processes' }).getByText('Leads').waitFor()
  await page.getByText('Nothing is being done.').waitFor()
  await assertAccessible(page, 'one machine')
  assertQuiet(page)

  const viewer = await browser.open()
  await logIn(viewer, await makePerson(service, 'viewer', { email: 'visits@example.com' }), '/default/cluster')
  await viewer.getByText('There is nothing here').waitFor()
  const links = viewer.getByRole('navigation', { name: 'Account' })
  await links.getByRole('link', { name: 'Usage' }).waitFor()
  assert.equal(await links.getByRole('link', { name: 'Cluster' }).count(), 0)
})

test('owners see who changed what in the portal, as it happens, and filter it', async () => {
  const body = {
    displayName: 'Production',
    branch: 'uploadable',
    cmsEnvironment: 'cms',
    shellVariables: [{ key: 'API_KEY', value: 'cafe5ecre7' }],
  }
  const environment = await createEnvironment(service, as, { app: await createApp(service, as, { app: 'blog' }), body })
  const page = await browser.open()
  const owner = ownerOf(service)
  await logIn(page, owner, '/default/apps')
  await page.getByRole('link', { name: 'Audit log' }).first().click()
  const table = page.getByRole('table')
  await table
    .getByRole('row', { name: /Created an environment blog, Production/ })
    .getByText(/shellVariables\.API_KEY/)
    .waitFor()
  await table
    .getByRole('row', { name: /Logged in/ })
    .getByText(owner.email)
    .first()
    .waitFor()

  // A change that is made elsewhere appears by itself.
  await service.call(`/v1/${environment.name}`, { method: 'PATCH', as, body: { production: true } })
  await table
    .getByRole('row', { name: /Changed an environment/ })
    .getByText('production', { exact: true })
    .waitFor()
  await assertAccessibleInBoth(page, 'the audit log')
  for (const [name, size] of Object.entries(SIZES)) {
    await page.setViewportSize(size)
    await assertFits(page, `the audit log, ${name}`)
  }
  await page.setViewportSize(SIZES.laptop)

  const expectValue = async (value: string) => {
    // Longer than what is typed takes to become part of the address.
    await page.waitForTimeout(500)
    assert.equal(await page.getByLabel('Who').inputValue(), value)
    assert.equal(new URL(page.url()).searchParams.get('by') ?? '', value)
  }
  await page.getByLabel('What').selectOption({ label: 'Created an app' })
  await table.getByRole('row', { name: /Created an environment/ }).waitFor({ state: 'detached' })
  await table.getByRole('row', { name: /Created an app blog/ }).waitFor()
  await page.getByLabel('Who').fill('unknown@example.com')
  await page.getByText('No such change is recorded.').waitFor()
  await assertAccessible(page, 'the audit log without a match')
  await page.getByRole('link', { name: 'Show all' }).click()
  await table
    .getByRole('row', { name: /Logged in/ })
    .first()
    .waitFor()
  await expectValue('')
  await table.getByRole('link', { name: owner.email }).first().click()
  await table.getByRole('row', { name: /Created an app/ }).waitFor({ state: 'detached' })
  await expectValue(owner.email)
  assert.doesNotMatch(await page.content(), /cafe5ecre7/)

  const viewer = await browser.open()
  await logIn(viewer, await makePerson(service, 'viewer', { email: 'reads@example.com' }), '/default/audit')
  await viewer.getByText('is shown to its owners').waitFor()
  assert.equal(await viewer.getByRole('link', { name: 'Audit log' }).count(), 0)
  assertQuiet(page)
})

test('a preview is shown with its branch, promoted and deleted, and the settings of previews are changed', async () => {
  const body = { displayName: 'Production', branch: 'uploadable', cmsEnvironment: 'cms', production: true }
  const production = await createEnvironment(service, as, { body })
  const [, account, , app] = production.name.split('/')
  const path = `/v1/accounts/${account}/apps/${app}`
  const branch = { branch: 'feature/a-rather-long-name-of-a-branch' }
  const { json: preview } = await service.call(`${path}:preview`, { method: 'POST', as, body: branch })
  assert.equal((await deploy(service, as, preview.name, siteOf('the preview'))).error, undefined)
  const page = await browser.open()
  await logIn(page, ownerOf(service), `/${account}/apps/${app}`)

  const row = page.getByRole('row', { name: /feature\/a-rather/ })
  await row.getByText('Live').waitFor()
  await assertAccessibleInBoth(page, 'previews')
  await assertFits(page, 'previews')

  await page.getByLabel('Previews at most').fill('3')
  await page.getByLabel('Secrets').selectOption('yes')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved.').waitFor()
  const { json: changed } = await service.call(path, { as })
  assert.deepEqual([changed.previews.maxCount, changed.previews.secrets], [3, true])

  await row.getByRole('button', { name: /^Promote/ }).click()
  await assertAccessible(page, 'promote')
  await page.getByRole('dialog').getByRole('button', { name: 'Promote' }).click()
  await page.getByText(/Nothing is built/).waitFor()
  await page.goto(`${service.api}/${account}/apps/${app}`)
  await row.getByRole('button', { name: /^Delete/ }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete preview' }).click()
  await row.waitFor({ state: 'detached' })
  assertQuiet(page)
})

test('a repository is connected, its key and secret are shown, and it is disconnected', async () => {
  const environment = await createEnvironment(service, as)
  const [, account, , app, , id] = environment.name.split('/')
  const address = `/${account}/apps/${app}/environments/${id}/settings/repository`
  const page = await browser.open()
  await logIn(page, ownerOf(service), address)
  await page.getByText('No repository is connected').waitFor()
  await page.getByRole('button', { name: 'Connect a repository' }).click()
  const form = page.getByRole('dialog')
  await form.getByLabel('Address').fill('http://git.invalid/acme/site')
  await form.getByRole('button', { name: 'Connect', exact: true }).click()
  await form.getByText(/must begin with https/).waitFor()
  await assertAccessible(page, 'a refused address')
  await form.getByLabel('Address').fill('git@gitea.invalid:acme/site.git')
  await form.getByRole('button', { name: 'Connect', exact: true }).click()
  await form.waitFor({ state: 'detached' })

  await page.getByText(/^ssh-ed25519 /).waitFor()
  await page.getByText('Copy the secret now: it is not shown again.').waitFor()
  await page.getByText(/repository:push$/).waitFor()
  await assertAccessibleInBoth(page, 'repository')
  await assertFits(page, 'repository')
  const { json } = await service.call(`/v1/${environment.name}/repository`, { as })
  assert.deepEqual([json.url, json.provider], ['ssh://git@gitea.invalid/acme/site.git', 'GITEA'])

  await page.getByRole('button', { name: 'Change', exact: true }).click()
  await form.getByLabel('Branch').fill('next')
  await form.getByLabel('Look for commits').selectOption('15')
  await form.getByLabel('Provider').selectOption('GITHUB')
  await form.getByLabel('Commit statuses').selectOption('off')
  await assertFits(page, 'a change')
  await assertAccessible(page, 'a change')
  await form.getByRole('button', { name: 'Save' }).click()
  await form.waitFor({ state: 'detached' })
  await page.getByText('Every 15 minutes').waitFor()
  const { json: changed } = await service.call(`/v1/${environment.name}/repository`, { as })
  assert.deepEqual([changed.branch, changed.pollMinutes, changed.url], ['next', 15, json.url])
  assert.deepEqual([changed.provider, changed.sendsStatuses], ['GITHUB', false])

  const secretOf = () => page.getByText('Secret', { exact: true }).locator('xpath=..').locator('code').textContent()
  const before = await secretOf()
  await page.getByRole('button', { name: 'New secret' }).click()
  await form.getByRole('button', { name: 'New secret' }).click()
  await page.getByText('The hook has a new secret.').waitFor()
  assert.notEqual(await secretOf(), before)

  await page.getByRole('button', { name: 'Disconnect' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Disconnect' }).click()
  await page.getByText('No repository is connected').waitFor()
  assertQuiet(page)
})

test('a schedule is made, paused, resumed and deleted in the portal', async () => {
  const environment = await createEnvironment(service, as)
  const [, account, , app, , id] = environment.name.split('/')
  const address = `/${account}/apps/${app}/environments/${id}/settings/schedules`
  const page = await browser.open()
  await logIn(page, ownerOf(service), address)
  await page.getByText('No schedules yet').waitFor()
  await assertAccessible(page, 'no schedules')

  await page.getByRole('button', { name: 'New schedule' }).click()
  const form = page.getByRole('dialog')
  await form.getByLabel('What').selectOption({ label: 'Clean Rebuild' })
  await form.getByLabel('When').selectOption({ label: 'By a cron expression' })
  await form.getByLabel('Cron expression').fill('61 3 * * *')
  await form.getByLabel('Time zone').fill('Europe/Berlin')
  await form.getByRole('button', { name: 'Create schedule' }).click()
  await form.getByText(/minute: 61/).waitFor()
  await assertAccessible(page, 'a refused schedule')
  await form.getByLabel('Cron expression').fill('30 3 * * *')
  await form.getByRole('button', { name: 'Create schedule' }).click()
  await form.waitFor({ state: 'detached' })

  const row = page.getByRole('row', { name: /30 3/ })
  await row.getByText(/03:30/).waitFor()
  await row.getByText('Europe/Berlin').waitFor()
  await assertAccessibleInBoth(page, 'schedules')
  await assertFits(page, 'schedules')
  await row.getByRole('button', { name: 'Pause 30 3 * * *' }).click()
  await row.getByText('Paused').waitFor()
  await row.getByRole('button', { name: 'Resume 30 3 * * *' }).click()
  await row.getByText(/03:30/).waitFor()
  const { json } = await service.call(`/v1/${environment.name}/schedules`, { as })
  assert.deepEqual(
    json.schedules.map(({ action, paused }: { action: string; paused: boolean }) => [action, paused]),
    [['CLEAN_REBUILD', false]],
  )

  await row.getByRole('button', { name: 'Delete 30 3 * * *' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete schedule' }).click()
  await page.getByText('No schedules yet').waitFor()
  assertQuiet(page)
})

test('an environment gets a branch in the portal, and the page of the app has the commands of a push', async () => {
  const app = await createApp(service, as, { app: 'site' })
  const page = await browser.open()
  await logIn(page, ownerOf(service), `/default/apps/${app}/new-environment`)
  const form = page.getByRole('form', { name: 'New environment' })
  await form.getByLabel('Name', { exact: true }).fill('Production')
  await form.getByLabel('Git branch').fill('a..b')
  await form.getByRole('button', { name: 'Create environment' }).click()
  await form.getByText(/name of a git branch/).waitFor()
  await form.getByLabel('Git branch').fill('main')
  await form.getByRole('button', { name: 'Create environment' }).click()
  await page.waitForURL(/\/environments\//)

  await visit(page, `/default/apps/${app}`)
  await page.getByText(`git remote add live ${service.api}/git/default/site.git`).waitFor()
  await page.getByText('git push live main').waitFor()
  await assertAccessibleInBoth(page, 'how to push')
  await assertFits(page, 'how to push')
  assertQuiet(page)
})

const pathOf = (name: string) => `/${name.replace('accounts/', '')}`
const note = (page: Page) => page.getByRole('region', { name: 'Pinned' })

test('after a rollback a banner says what is pinned, and its button ends it', async () => {
  const { name } = await createEnvironment(service, as)
  const good = (await deploy(service, as, name, siteOf('good'))).metadata.deployment
  await deploy(service, as, name, siteOf('bad'))
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

  const viewer = await browser.open({ size: 'phone', scheme: 'dark' })
  await logIn(
    viewer,
    await makePerson(service, 'viewer', { email: 'looks@example.com' }),
    `${pathOf(name)}/deployments`,
  )
  await note(viewer).waitFor()
  assert.equal(await note(viewer).getByRole('button').count(), 0, 'a user without write access has no button')
  await assertFits(viewer, 'the banner on a phone')
  await assertAccessible(viewer, 'the banner on a phone')
  assertQuiet(viewer)

  await note(page).getByRole('button', { name: 'Unpin' }).click()
  await note(page).waitFor({ state: 'detached' })
  await page.getByText('Not pinned any more. The next rebuild builds the newest upload.').waitFor()
  await until(async () => (await service.call(`/v1/${name}`, { as })).json.pin === null, 'it is not pinned')
  assertQuiet(page)
})

test('where the operator has switched the record of requests off, their page says so', async () => {
  const { name } = await createEnvironment(service, as)
  const page = await browser.open()
  await logIn(page, ownerOf(service), `${pathOf(name)}/requests`)
  await page.getByRole('heading', { name: 'Requests are not recorded' }).waitFor()
  assertQuiet(page)
})

test('a target is made, tried, given a new key, changed, switched off and deleted in the portal', async () => {
  const page = await browser.open()
  await logIn(page, ownerOf(service), '/default/notifications')
  await page.getByText('No targets yet').waitFor()
  await assertAccessible(page, 'no targets')

  await page.getByRole('button', { name: 'New target' }).click()
  const form = page.getByRole('dialog')
  await form.getByLabel('Kind').selectOption({ label: 'Webhook' })
  await form.getByRole('textbox', { name: 'URL' }).fill('https://10.0.0.1/inside')
  await form.getByRole('textbox', { name: 'Name' }).fill('Our server')
  await form.getByLabel('A deployment went live').check()
  await form.getByRole('button', { name: 'Create target' }).click()
  await form
    .getByText(/10\.0\.0\.1|private|address/i)
    .first()
    .waitFor()
  await assertAccessible(page, 'a refused target')
  await form.getByRole('textbox', { name: 'URL' }).fill(`http://127.0.0.1:${port}/`)
  await form.getByRole('button', { name: 'Create target' }).click()
  await form.waitFor({ state: 'detached' })
  const key = page.getByText(/^whsec_/)
  const first = await key.textContent()
  await assertAccessible(page, 'a key that is shown once')
  await page.getByRole('button', { name: 'I have kept it' }).click()

  const row = page.getByRole('row', { name: /Our server/ })
  await row.getByRole('button', { name: 'Send a test to Our server' }).click()
  const log = page.getByRole('table', { name: /Deliveries/ })
  await log.getByText(/500/).first().waitFor()
  receiverStatus = 204
  await row.getByRole('button', { name: 'Send a test to Our server' }).click()
  await log.getByText('Delivered').waitFor()
  await row.getByText('Delivered').waitFor()
  await assertAccessibleInBoth(page, 'targets')
  await assertFits(page, 'targets')

  await row.getByRole('button', { name: 'New key for Our server' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Make a new key' }).click()
  await form.waitFor({ state: 'detached' })
  assert.notEqual(await key.textContent(), first)
  await page.getByRole('button', { name: 'I have kept it' }).click()

  await row.getByRole('button', { name: 'Change Our server' }).click()
  await form.getByLabel('A deployment went live').uncheck()
  await form.getByRole('button', { name: 'Save' }).click()
  await form.waitFor({ state: 'detached' })
  await row.getByRole('button', { name: 'Switch Our server off' }).click()
  await row.getByText('Off', { exact: true }).waitFor()
  const { json } = await service.call('/v1/accounts/default/notificationTargets', { as })
  const [{ enabled, noticeKinds }] = json.notificationTargets
  assert.deepEqual(
    [enabled, noticeKinds.includes('BUILD_LIVE'), noticeKinds.includes('BUILD_FAILED')],
    [false, false, true],
  )

  await row.getByRole('button', { name: 'Delete Our server' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete target' }).click()
  await page.getByText('No targets yet').waitFor()
  assertQuiet(page)
})
