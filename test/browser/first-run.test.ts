/** The first quarter of an hour with Headland, in a browser: from the log-in to a site that answers. */
import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { temporaryFolder } from '../support/folder.ts'
import { deploy, nodeServer, page as siteOf, upload } from '../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../support/service/environment.ts'
import { heldBuild, untilHeld } from '../support/service/held-build.ts'
import { startService } from '../support/service/service.ts'
import { until } from '../support/until.ts'
import { zipOf } from '../support/zip.ts'
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
} from './portal.ts'

const service = await startService({ after })
const browser = await startBrowser({ after }, service)
const as = await service.login()

/** Drops a file on the page, with the events of a browser. */
async function drop(page: Page, name: string, content: Buffer) {
  const handed = await page.evaluateHandle(`(() => {
    const bytes = Uint8Array.from(atob('${content.toString('base64')}'), (letter) => letter.charCodeAt(0))
    const transfer = new DataTransfer()
    transfer.items.add(new File([bytes], ${JSON.stringify(name)}, { type: 'application/zip' }))
    return transfer
  })()`)
  await page.getByRole('button', { name: 'Choose a zip' }).waitFor()
  const body = page.locator('body')
  await body.dispatchEvent('dragenter', { dataTransfer: handed })
  await page.getByText(/Drop it to deploy to/).waitFor()
  await body.dispatchEvent('drop', { dataTransfer: handed })
}

test('log in, create an app and an environment, drop a zip, watch it, open the site', async () => {
  const page = await browser.open()
  // Notices do not time out here: one that disappears was removed for another reason.
  await page.addInitScript(`{
    const later = window.setTimeout
    window.setTimeout = (work, ms, ...rest) => (ms === 6000 ? 0 : later(work, ms, ...rest))
  }`)
  const { email, password } = ownerOf(service)

  await page.goto('/')
  await page.getByLabel('E-mail').fill(email)
  await page.getByLabel('Password').fill('not this one')
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByRole('alert').getByText('LOG_IN_FAILED').waitFor()
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Log in' }).click()

  await page.getByRole('heading', { name: 'No app yet' }).waitFor()
  await page.getByRole('link', { name: 'Create the first app' }).click()
  const tab = page.getByRole('navigation', { name: 'Account' }).getByRole('link', { name: 'Apps' })
  assert.equal(await tab.getAttribute('aria-current'), 'true', 'the tab is marked as current on a page below it')
  await page.getByLabel('Name').fill('my blog')
  await page.getByLabel('Region').selectOption({ label: 'Europe West' })
  await page.getByRole('button', { name: 'Create app' }).click()
  // The API names the invalid field, and its message is shown beside it.
  await page.locator('input[name=appId][aria-invalid=true]').waitFor()
  await page.getByText('Name must have 1 to 40 letters, digits, hyphens and underscores, and begin').waitFor()
  await page.getByLabel('Name').fill('blog')
  await page.getByRole('button', { name: 'Create app' }).click()

  await page.getByRole('heading', { name: 'New environment' }).waitFor()
  await page.getByRole('button', { name: 'Create environment' }).click()
  await page.getByText('Name must not be empty.').waitFor()
  assert.equal(await page.getByLabel('CMS install').inputValue(), 'blog', 'filled in, and so optional')
  await page.getByLabel('CMS install').fill('')
  await page.getByText('The same from a terminal').click()
  const lines = await page.locator('details pre').allInnerTexts()
  assert.match(lines[0] ?? '', /^headland envs create Production --account default --app blog --cms blog$/)
  assert.match(lines[1] ?? '', /^curl /)
  await page.getByLabel('Name', { exact: true }).fill('Production')
  await page.getByRole('button', { name: 'Add a variable' }).click()
  await page.getByLabel('Name of variable 1').fill('GREETING')
  await page.getByLabel('Value of variable 1').fill('hello')
  await page.getByRole('button', { name: 'Add a variable' }).click()
  await page.getByLabel('Name of variable 2').fill('PUBLIC_CITY')
  await page.getByLabel('Value of variable 2').fill('Lisbon')
  const kinds = ['1', '2'].map((number) => page.getByLabel(`Kind of variable ${number}`).inputValue())
  assert.deepEqual(await Promise.all(kinds), ['SECRET', 'PLAIN'])
  await page.getByRole('button', { name: 'Create environment' }).click()

  await page.getByRole('heading', { name: 'Production', level: 1 }).waitFor()
  await page.getByText('Nothing deployed', { exact: true }).first().waitFor()
  await page
    .getByRole('definition')
    .filter({ hasText: /^blog$/ })
    .waitFor()
  assert.equal(await page.getByText('Europe West').count(), 0, 'a region is shown only if there are several')
  const help = page.getByRole('banner').getByRole('link', { name: 'Help' })
  assert.equal(await help.getAttribute('href'), '/docs/guides/deploy')
  const sent = page.getByText('Sent. It is being built.')
  const isSent = sent.waitFor()
  await drop(page, 'site.zip', zipOf(siteOf('hello from the portal')))
  await isSent
  const opened = page.waitForEvent('popup')
  await page.getByRole('link', { name: 'Open the site' }).click()
  const site = await opened
  await site.getByText('hello from the portal').waitFor()
  await page.getByText('Live', { exact: true }).first().waitFor()
  await sent.waitFor({ state: 'detached' })
  await page.getByRole('table', { name: 'Recent operations' }).waitFor()
  assert.equal(await page.getByRole('columnheader', { name: 'Why' }).count(), 0, 'empty columns are not shown')
  assertQuiet(page)
})

test('an example is live after one press, and everything that it took is a call of the API', async () => {
  const page = await browser.open()
  const calls: string[] = []
  page.on('request', (request) => {
    const { pathname } = new URL(request.url())
    if (request.method() === 'POST' || pathname.endsWith('.zip'))
      calls.push(pathname.replaceAll(/[0-9a-f-]{36}/g, 'id'))
  })
  const newcomer = await makePerson(service, 'developer', {
    email: 'newcomer@example.com',
    account: 'newcomer',
    makeAccount: true,
  })
  await logIn(page, newcomer, '/newcomer/apps')
  const button = page.getByRole('button', { name: 'Deploy an example' })
  await button.waitFor()
  await assertAccessibleInBoth(page, 'an account without apps')
  await page.setViewportSize(SIZES.phone)
  await assertFits(page, 'an account without apps, on a phone')
  await assertAccessible(page, 'an account without apps, on a phone', 'all but colours')
  await page.setViewportSize(SIZES.laptop)
  calls.length = 0
  await button.click()

  await page.getByRole('heading', { name: /^Build /, level: 1 }).waitFor()
  await page.getByText(/^The site is built, at/).waitFor()
  await page.getByText('This build is live').waitFor()
  await assertAccessibleInBoth(page, 'a build that is live')
  const opened = page.waitForEvent('popup')
  await page.getByRole('status').getByRole('link').click()
  const site = await opened
  await site.getByRole('heading', { name: 'Your site is live' }).waitFor()
  assert.deepEqual(calls, [
    '/v1/examples/welcome.zip',
    '/v1/accounts/newcomer/apps',
    '/v1/accounts/newcomer/apps/example/environments',
    '/fu/v1/accounts/newcomer/apps/example/environments/id:upload',
  ])

  await page.getByRole('link', { name: 'Apps', exact: true }).first().click()
  await page.getByRole('link', { name: 'example', exact: true }).waitFor()
  assert.equal(await button.count(), 0, 'the account is not empty any more')
  assertQuiet(page)
})

test('an example that cannot be fetched leaves nothing behind, and the page says why', async () => {
  const page = await browser.open()
  const newcomer = await makePerson(service, 'developer', {
    email: 'unlucky@example.com',
    account: 'unlucky',
    makeAccount: true,
  })
  await logIn(page, newcomer, '/unlucky/apps')
  await page.route('**/v1/examples/*.zip', (route) => route.abort())
  await page.getByRole('button', { name: 'Deploy an example' }).click()
  await page.getByRole('alert').getByText('The example was not deployed').waitFor()
  const { apps } = await (await page.request.get('/v1/accounts/unlucky/apps')).json()
  assert.deepEqual(apps, [])
  await page.unroute('**/v1/examples/*.zip')
  await page.getByRole('button', { name: 'Deploy an example' }).click()
  await page.getByText('This build is live').waitFor()
})

test('the list of apps shows by itself what is being built, and what visitors asked for', async () => {
  const [built, visited] = [await createEnvironment(service, as), await createEnvironment(service, as)]
  await deploy(service, as, visited.name, siteOf('visited'))
  assert.equal((await siteAnswer(service, visited.url)).status, 200)
  const page = await browser.open()
  await logIn(page, ownerOf(service), '/default/apps')
  await page
    .getByRole('list', { name: /^Environments of/ })
    .first()
    .waitFor()
  assert.equal(await page.getByRole('heading', { name: 'Under way' }).count(), 0)

  await upload(service, as, built.name, heldBuild('overview', 'held'))
  const held = await untilHeld('overview')
  await upload(service, as, built.name, siteOf('next'))
  const rows = page.getByRole('list', { name: 'Builds under way' }).getByRole('listitem')
  await rows.filter({ hasText: 'Building' }).waitFor()
  await rows.filter({ hasText: 'Waiting' }).waitFor()
  assert.match(await rows.first().innerText(), /Building/, 'what runs comes first')
  await assertAccessibleInBoth(page, 'builds under way')
  await page.setViewportSize(SIZES.phone)
  await assertFits(page, 'builds under way, on a phone')
  await page.setViewportSize(SIZES.laptop)
  await held.goOn()
  await page.getByRole('heading', { name: 'Under way' }).waitFor({ state: 'detached' })

  const counted = () => page.request.get('/v1/accounts/default/trafficSummaries')
  await until(async () => (await (await counted()).text()).includes(visited.name), 'the visits are counted')
  await page.reload()
  const row = page
    .getByRole('listitem')
    .filter({ has: page.getByRole('link', { name: visited.url.replace('http://', '') }) })
  const words = await row.getByRole('link', { name: /^Usage, in the last 24 hours: / }).textContent()
  assert.match(words ?? '', /hours: 1 request, 100% hits, no errors/)
  assertQuiet(page)
})

test('a folder is zipped in the browser, without packages and history', async (t) => {
  const { name, url } = await createEnvironment(service, as, { app: 'blog' })
  const folder = join(await temporaryFolder(t), 'my-app')
  await mkdir(join(folder, 'node_modules', 'huge'), { recursive: true })
  await mkdir(join(folder, '.git'))
  await writeFile(join(folder, 'node_modules', 'huge', 'index.js'), 'throw new Error("never sent")')
  await writeFile(join(folder, '.git', 'config'), 'secret')
  for (const [file, content] of Object.entries(nodeServer('from a folder')))
    await writeFile(join(folder, file), content as string)

  const page = await browser.open()
  await logIn(page, ownerOf(service), `/${name.replace('accounts/', '')}`)
  await page.getByLabel('Folder', { exact: true }).setInputFiles(folder)
  await page.getByText(/Left out of the last upload: (node_modules\/, \.git\/|\.git\/, node_modules\/)/).waitFor()
  await page.getByRole('link', { name: 'Open the site' }).waitFor()
  assert.equal((await siteAnswer(service, url)).text, 'from a folder')
  const { json } = await service.call(`/v1/${name}/builds`, { as })
  assert.equal(json.builds[0].archive.files, 2)
  assertQuiet(page)
})

test('a file that is no archive is refused with the message of the API, and nothing else changes', async () => {
  const { name } = await createEnvironment(service, as, { app: 'blog' })
  const page = await browser.open()
  await logIn(page, ownerOf(service), `/${name.replace('accounts/', '')}`)
  await drop(page, 'broken.zip', Buffer.from('this is no zip'))
  await page.getByRole('alert').getByText('ARCHIVE_NOT_ZIP').waitFor()
  await page.getByRole('button', { name: 'Choose a zip' }).waitFor()
  assertQuiet(page)
})

test('an upload that is cancelled leaves nothing behind', async () => {
  const { name } = await createEnvironment(service, as, { app: 'blog' })
  const page = await browser.open()
  await logIn(page, ownerOf(service), `/${name.replace('accounts/', '')}`)
  await page.getByRole('button', { name: 'Choose a zip' }).waitFor()
  // Slow enough to be cancelled.
  const network = await page.context().newCDPSession(page)
  await network.send('Network.enable')
  await network.send('Network.emulateNetworkConditions', {
    offline: false,
    latency: 0,
    downloadThroughput: -1,
    uploadThroughput: 20_000,
  })
  const large = zipOf({
    ...siteOf('never'),
    'noise.bin': Buffer.from(Array.from({ length: 400_000 }, () => Math.random() * 256)),
  })
  await drop(page, 'large.zip', large)
  await page.getByRole('progressbar').waitFor()
  await page.getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('button', { name: 'Choose a zip' }).waitFor()
  assert.equal(await page.getByRole('alert').count(), 0)
  const { json } = await service.call(`/v1/${name}/builds`, { as })
  assert.deepEqual(json.builds, [])
})

test('a failed build says why, and the site is unchanged', async () => {
  const { name, url } = await createEnvironment(service, as, { app: 'blog' })
  const page = await browser.open()
  await logIn(page, ownerOf(service), `/${name.replace('accounts/', '')}`)
  await drop(page, 'site.zip', zipOf(siteOf('good')))
  await page.getByRole('link', { name: 'Open the site' }).waitFor()
  const build = `node -e "console.error('<img src=x onerror=alert(1)>'); process.exit(3)"`
  await drop(page, 'site.zip', zipOf({ 'package.json': JSON.stringify({ scripts: { build, start: 'node x' } }) }))
  await page.getByText('The last operation failed').waitFor()
  await page.getByRole('alert').getByText('BUILD_SCRIPT_FAILED').waitFor()
  await page.getByText('Live, last build failed').first().waitFor()
  assert.equal(await page.locator('main img').count(), 0, 'the output of a build stays text')
  assert.match((await siteAnswer(service, url)).text, /good/)
  assertQuiet(page)
})

test('rebuild and purge are one press, and a change made elsewhere shows by itself', async () => {
  const { name } = await createEnvironment(service, as, { app: 'blog' })
  const page = await browser.open()
  await logIn(page, ownerOf(service), `/${name.replace('accounts/', '')}`)
  await drop(page, 'site.zip', zipOf(siteOf('one')))
  await page.getByRole('link', { name: 'Open the site' }).waitFor()
  await page.getByRole('button', { name: 'Purge cache' }).click()
  await page.getByRole('row').filter({ hasText: 'Purge cache' }).getByText('Done').waitFor()
  await page.getByRole('button', { name: 'Rebuild', exact: true }).click()
  await page
    .getByRole('row', { name: /^Rebuild/ })
    .getByText(/^Done/)
    .waitFor()
  await service.call(`/v1/${name}`, { method: 'PATCH', as, body: { displayName: 'Renamed <b>elsewhere</b>' } })
  await page.getByRole('heading', { name: 'Renamed <b>elsewhere</b>', level: 1 }).waitFor()
  assertQuiet(page)
})

test('a viewer sees everything and is offered no control that writes', async () => {
  const page = await browser.open()
  await logIn(page, await makePerson(service, 'viewer'), '/default/apps')
  await page.getByRole('link', { name: 'Production' }).click()
  await page.getByRole('heading', { name: 'Production', level: 1 }).waitFor()
  await page.getByText('Live', { exact: true }).first().waitFor()
  for (const name of ['Rebuild', 'Clean Rebuild', 'Purge cache', 'Choose a zip', 'Cancel'])
    assert.equal(await page.getByRole('button', { name, exact: true }).count(), 0, name)
  await page.goto('/default/new-app')
  await page.getByText('You may look, but not create').waitFor()
  assert.equal(await page.getByRole('button', { name: 'Create app' }).count(), 0)
  assertQuiet(page)
})

test('deleting an app asks for its name, and says what stops working', async () => {
  const { name } = await createEnvironment(service, as, {})
  const [, , , app = ''] = name.split('/')
  const page = await browser.open()
  await logIn(page, ownerOf(service), `/default/apps/${app}`)
  await page.getByRole('button', { name: 'Delete app' }).click()
  const window = page.getByRole('dialog')
  await window.getByText('1 site stops answering: Test.').waitFor()
  assert.ok(await window.getByRole('button', { name: 'Delete app' }).isDisabled())
  await window.getByLabel(`Type ${app} to go on`).fill(app)
  await window.getByRole('button', { name: 'Delete app' }).click()
  await page.getByRole('heading', { name: 'Apps', level: 1 }).waitFor()
  await page.getByRole('article').filter({ hasText: app }).waitFor({ state: 'detached' })
  assertQuiet(page)
})

test('a session that ends elsewhere leads to the log-in, and back to the same page', async () => {
  const page = await browser.open()
  await logIn(page, ownerOf(service), '/default/apps/blog')
  await page.getByRole('heading', { name: 'blog', level: 1 }).waitFor()
  assert.equal((await page.request.delete('/v1/session')).status(), 200)
  await page.getByRole('heading', { name: 'Log in to Headland' }).waitFor()
  const { email, password } = ownerOf(service)
  await page.getByLabel('E-mail').fill(email)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByRole('heading', { name: 'blog', level: 1 }).waitFor()
  assertQuiet(page)
})

test('the keyboard is enough: skip link, search, shortcuts, and a switch to turn those off', async () => {
  const page = await browser.open()
  await logIn(page, ownerOf(service), '/default/apps')
  await page.getByRole('link', { name: 'blog', exact: true }).waitFor()
  await page.keyboard.press('/')
  await page.keyboard.type('nothing like that')
  await page.getByText('Nothing has all of these words').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('link', { name: 'blog', exact: true }).waitFor()
  await page.keyboard.press('Tab')
  await page.locator('body').press('?')
  const help = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
  await help.waitFor()
  await page.keyboard.press('Escape')
  await help.waitFor({ state: 'detached' })
  await page.getByRole('link', { name: 'Users' }).click()
  await page.getByRole('heading', { name: 'Users', level: 1 }).waitFor()
  await page.keyboard.press('g')
  await page.keyboard.press('a')
  await page.getByRole('heading', { name: 'Apps', level: 1 }).waitFor()
  assert.equal(await page.evaluate('document.activeElement.tagName'), 'H1', 'reading begins at the heading')

  await page.locator('body').press('?')
  await page.getByLabel('Use these shortcuts').uncheck()
  await page.keyboard.press('Escape')
  await page.locator('body').press('?')
  assert.equal(await help.count(), 0)
  assertQuiet(page)
})
