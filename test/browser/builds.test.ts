/** Builds, their logs, deployments, the output of running apps and the requests of visitors, as users see them. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import {
  deploy,
  type Files,
  page as files,
  nodeServer,
  untilDone,
  upload,
  uploadWithQuery,
} from '../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../support/service/environment.ts'
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
const owner = ownerOf(service)

const SCRIPT = '<img src=x onerror="window.hacked = true"><script>window.hacked = true</script>'

/** The portal's page of a resource. */
const pathOf = (name: string) => `/${name.replace('accounts/', '')}`

const building = (script: string): Files => ({
  'package.json': JSON.stringify({ scripts: { build: 'node build.js', start: 'node server.js' } }),
  'build.js': script,
  'server.js': nodeServer('built')['server.js'] ?? '',
})

const log = (page: Page) => page.getByRole('region', { name: 'Log of the build' })
const lineOf = (page: Page, number: number) => log(page).locator(`[data-line="${number}"]`)

/** Fails unless the element is inside the visible part of the log. */
async function assertInSight(page: Page, number: number) {
  const [inner, outer] = [await lineOf(page, number).boundingBox(), await log(page).boundingBox()]
  assert.ok(inner && outer, `line ${number} is drawn`)
  assert.ok(
    inner.y >= outer.y - 1 && inner.y + inner.height <= outer.y + outer.height + 1,
    `line ${number} is in sight`,
  )
}

test('a failing build shows its reason and leads to the line; script in log lines stays text', async () => {
  const { name } = await createEnvironment(service, as)
  const noise = 'for (let i = 0; i < 200; i++) console.log("compiling part " + i)'
  const failed = await deploy(
    service,
    as,
    name,
    building(
      `${noise}; console.error(${JSON.stringify(SCRIPT)}); console.error("Error: cannot find the moon"); process.exit(3)`,
    ),
  )
  const { json: build } = await service.call(`/v1/${failed.metadata.build}`, { as })
  const { reason, message, logLine } = build.failure

  const page = await browser.open()
  await logIn(page, owner, pathOf(`${name}/builds`))
  await page.getByRole('table', { name: 'Builds' }).getByText(reason).waitFor()
  await assertAccessible(page, 'builds')
  await page.getByRole('table', { name: 'Builds' }).getByRole('link').first().click()

  const why = page.getByRole('region', { name: 'Why it failed' })
  await why.getByText(reason).waitFor()
  // Text between backticks is shown as code.
  await why.getByRole('heading', { name: message.replaceAll('`', '') }).waitFor()
  const help = why.getByRole('link', { name: 'Help with this failure' })
  const answer = await page.request.get((await help.getAttribute('href')) ?? '')
  assert.match(await answer.text(), new RegExp(`<h1[^>]*>${reason}</h1>`))
  // The log opens at that line, and the button leads there again after scrolling away.
  await lineOf(page, logLine).getByText('Error: cannot find the moon').waitFor()
  await assertInSight(page, logLine)
  await log(page).focus()
  await page.keyboard.press('Home')
  await lineOf(page, 1).waitFor()
  await lineOf(page, logLine).waitFor({ state: 'detached' })
  await why.getByRole('button', { name: `Jump to line ${logLine}` }).click()
  await lineOf(page, logLine).waitFor()
  await assertInSight(page, logLine)
  assert.equal(await lineOf(page, logLine).getAttribute('aria-current'), 'true')
  assert.equal(new URL(page.url()).hash, `#L${logLine}`)

  await log(page).getByText(SCRIPT).waitFor()
  assert.equal(await page.evaluate('window.hacked'), undefined)
  assert.equal(await log(page).locator('img, script').count(), 0)
  await assertAccessible(page, 'a failed build')
  assertQuiet(page)

  // The URL leads another user to the same line, on a small screen too.
  const other = await browser.open({ size: 'phone', scheme: 'dark' })
  await logIn(other, owner, `${pathOf(failed.metadata.build)}#L7`)
  await lineOf(other, 7).waitFor()
  await assertInSight(other, 7)
  await assertFits(other, 'a failed build on a phone')
  await assertAccessible(other, 'a failed build on a phone')
  assertQuiet(other)
})

test('the log is searched by keyboard, forward and back', async () => {
  const { name } = await createEnvironment(service, as)
  const done = await deploy(
    service,
    as,
    name,
    building('for (let i = 1; i <= 400; i++) console.log(i % 100 ? "compiling " + i : "Needle " + i)'),
  )
  const { text } = await service.call(`/v1/${done.metadata.build}/log`, { as })
  const found = text.split('\n').flatMap((line) => (line.includes('Needle') ? [Number.parseInt(line, 10)] : []))
  const count = found.length
  assert.ok(count >= 4, text)

  const page = await browser.open()
  await logIn(page, owner, pathOf(done.metadata.build))
  await page.getByText('Complete', { exact: true }).waitFor()
  const field = page.getByRole('searchbox', { name: 'Search in the log' })
  await field.focus()
  await page.keyboard.type('needle')
  await page.getByText(`${count} found`).waitFor()
  // The search begins with the visible part, which is the end of the log, and wraps around.
  for (const [key, place] of [
    ['Enter', count],
    ['Enter', 1],
    ['Enter', 2],
    ['Shift+Enter', 1],
    ['Shift+Enter', count],
  ] as const) {
    await field.press(key)
    await page.getByText(`${place} of ${count}`).waitFor()
    const number = found[place - 1] ?? 0
    assert.equal(await lineOf(page, number).getAttribute('aria-current'), 'true')
    assert.equal(await lineOf(page, number).locator('mark').textContent(), 'Needle')
    await assertInSight(page, number)
  }
  await field.press('Escape')
  await log(page).locator('mark').first().waitFor({ state: 'detached' })

  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download' }).click(),
  ])
  const kept: string[] = []
  for await (const piece of await download.createReadStream()) kept.push(String(piece))
  assert.match(kept.join(''), /Needle 100\n/)
  assertQuiet(page)
})

test('the log follows a build that runs, pauses when scrolled up, and the build can be cancelled', async () => {
  const { name } = await createEnvironment(service, as)
  const asked = await upload(
    service,
    as,
    name,
    building('let i = 0; setInterval(() => console.log("tick " + ++i), 20)'),
  )
  const page = await browser.open()
  await logIn(page, owner, pathOf(asked.json.metadata.build))
  await page.getByText('Following').waitFor()
  await log(page).getByText('tick 120', { exact: true }).waitFor()

  const ticksInSight = async (): Promise<number[]> => {
    const texts = (await log(page).locator('[data-line]').allTextContents()).join('\n')
    return [...texts.matchAll(/tick (\d+)/g)].map(([, digits]) => Number(digits))
  }
  await log(page).hover()
  await page.mouse.wheel(0, -900)
  await page.getByText('Paused, as you scrolled up').waitFor()
  const place = 'document.querySelector(\'[aria-label="Log of the build"]\').scrollTop'
  const before = await page.evaluate(place)
  const seen = await ticksInSight()
  await page.waitForFunction(
    '(most) => Number(/(\\d[\\d,]*) lines/.exec(document.body.textContent)[1].replace(",", "")) > most',
    Math.max(...seen) + 80,
  )
  assert.equal(await page.evaluate(place), before, 'nothing moves while the user reads')
  assert.deepEqual(await ticksInSight(), seen)

  await page.getByRole('button', { name: 'Follow' }).click()
  await page.getByText('Following').waitFor()
  await log(page)
    .getByText(`tick ${Math.max(...seen) + 100}`, { exact: true })
    .waitFor()
  await assertAccessible(page, 'a build that runs')

  await page.getByRole('button', { name: 'Cancel build' }).click()
  await untilDone(service, as, asked.json.name)
  await page.getByRole('button', { name: 'Rebuild', exact: true }).waitFor()
  await page.getByText('Complete', { exact: true }).waitFor()
  assertQuiet(page)
})

test('a roll back says what changes, makes no build, and visitors get the older one', async () => {
  const { name, url } = await createEnvironment(service, as)
  await deploy(service, as, name, files('the first'))
  await deploy(service, as, name, files('the second'))
  const page = await browser.open()
  await logIn(page, owner, pathOf(`${name}/deployments`))
  const rows = page.getByRole('table', { name: 'Deployments' }).getByRole('row')
  await rows.filter({ hasText: 'Live' }).first().waitFor()
  await assertAccessible(page, 'deployments')
  await page.getByRole('button', { name: 'Roll back to this' }).click()

  const asked = page.getByRole('dialog')
  await asked.getByText('another one').waitFor()
  for (const text of [/variables it was made with/, /cache is purged/, /No build is made/]) {
    await asked.getByText(text).waitFor()
  }
  await assertAccessible(page, 'the question before a roll back')
  await asked.getByRole('button', { name: 'Roll back' }).click()

  const progress = page.getByRole('region', { name: 'Activate operation' })
  await progress.getByText('Done', { exact: true }).waitFor()
  assert.match((await siteAnswer(service, url)).text, /the first/)
  await page.getByRole('button', { name: 'Make live' }).waitFor()
  assert.equal((await service.call(`/v1/${name}/builds`, { as })).json.builds.length, 2)
  assertQuiet(page)
})

test('the output of a running app appears by itself, and can be filtered by stream', async () => {
  const { name, url } = await createEnvironment(service, as)
  const says = 'console.log("asked for " + request.url); if (request.url === "/bad") console.error("a bad <b>one</b>")'
  await deploy(service, as, name, nodeServer('talks', says))
  const page = await browser.open()
  await logIn(page, owner, pathOf(`${name}/logs`))
  await page.getByText('Following').waitFor()
  const lines = page.getByRole('region', { name: 'Log of the app' })
  await siteAnswer(service, url, '/hello')
  await lines.getByText('asked for /hello').waitFor()
  await siteAnswer(service, url, '/bad')
  await lines.getByText('a bad <b>one</b>').waitFor()
  await page.getByLabel('Lines to show').selectOption('stderr')
  await lines.getByText('asked for /hello').waitFor({ state: 'detached' })
  assert.match((await lines.locator('[data-line]').textContent()) ?? '', /stderr: a bad <b>one<\/b>$/)
  await assertAccessible(page, 'the log of the app')
  assertQuiet(page)
})

test('a message is text, and requester, message and commit are shown with the build everywhere', async () => {
  const { name } = await createEnvironment(service, as)
  const sha = 'c0ffee1'.padEnd(40, '0')
  const message = `${SCRIPT} \u202egnp.exe`
  const query = new URLSearchParams({
    message,
    commit: sha,
    commitBranch: `<b>${'long-'.repeat(20)}`,
    commitDirty: 'true',
  })
  const sent = await uploadWithQuery(service, as, { environment: name, query: `?${query}` }, files('one'))
  const { metadata } = await untilDone(service, as, sent.json.name)
  const page = await browser.open()
  for (const path of [name, `${name}/builds`, `${name}/deployments`, metadata.build]) {
    await page.setViewportSize(SIZES.laptop)
    await logIn(page, owner, pathOf(path))
    const assertShown = async () => {
      await page.getByText(message).first().waitFor()
      await page.getByText('c0ffee1', { exact: true }).first().waitFor()
      await page.getByText('with changes').first().waitFor()
      await page.getByText('credential made by the operator').first().waitFor()
      await assertFits(page, path)
    }
    await assertShown()
    await assertAccessible(page, path)
    await page.setViewportSize(SIZES.phone)
    await assertShown()
    await assertAccessible(page, `${path} on a phone`, 'all but colours')
    assert.equal(await page.evaluate('window.hacked'), undefined)
  }
  assertQuiet(page)
})

test('a message that is entered with an upload is sent with it', async () => {
  const { name } = await createEnvironment(service, as)
  const page = await browser.open()
  await logIn(page, owner, pathOf(name))
  await page.getByLabel('Message').fill(' Larger pictures ')
  await page
    .getByLabel('Zip')
    .setInputFiles({ name: 'app.zip', mimeType: 'application/zip', buffer: zipOf(files('one')) })
  const operations = page.getByRole('table', { name: 'Recent operations' })
  await operations.getByText('Larger pictures', { exact: true }).waitFor()
  await operations.getByText(owner.email).first().waitFor()
  assert.equal(await page.getByLabel('Message').inputValue(), '')
  assertQuiet(page)
})

test('a viewer reads everything and is offered no control that writes', async () => {
  const { name } = await createEnvironment(service, as)
  const first = await deploy(service, as, name, files('one'))
  await deploy(service, as, name, files('two'))
  const page = await browser.open()
  await logIn(page, await makePerson(service, 'viewer'), pathOf(first.metadata.build))
  await page.getByText('Complete', { exact: true }).waitFor()
  for (const button of ['Rebuild', 'Clean Rebuild', 'Cancel build']) {
    assert.equal(await page.getByRole('button', { name: button, exact: true }).count(), 0, button)
  }
  await page.goto(pathOf(`${name}/deployments`))
  await page.getByRole('table', { name: 'Deployments' }).getByText('Retired', { exact: true }).last().waitFor()
  assert.equal(await page.getByRole('button', { name: /Roll back|Make live/ }).count(), 0)
  // Nor can a viewer write by a direct call.
  const [older] = (await service.call(`/v1/${name}/deployments`, { as })).json.deployments.toReversed()
  const status = await page.evaluate(
    `fetch('/v1/${older.name}:activate', { method: 'POST', headers: { 'x-requested-with': 'headland-portal' } }).then(({ status }) => status)`,
  )
  assert.equal(status, 403)
  assertQuiet(page)
})

test('builds are filtered by the URL, and a page without builds says what to do', async () => {
  const { name } = await createEnvironment(service, as)
  const page = await browser.open({ size: 'phone' })
  await logIn(page, owner, pathOf(`${name}/builds`))
  await page.getByRole('heading', { name: 'No build yet' }).waitFor()
  await page.getByText('The same from a terminal').click()
  await page.getByText(`/fu/v1/${name}:upload`).waitFor()
  await assertAccessible(page, 'no builds')

  // Arrives by itself.
  await deploy(service, as, name, files('one'))
  await deploy(service, as, name, { 'notes.txt': 'no app' })
  await page.getByRole('table', { name: 'Builds' }).getByText('PLAN_FAILED').waitFor()
  await page.getByLabel('State').selectOption('failed')
  assert.equal(new URL(page.url()).search, '?state=failed')
  await page.getByText('Succeeded', { exact: true }).last().waitFor({ state: 'hidden' })
  await page.reload()
  await page.getByText('PLAN_FAILED').waitFor()
  assert.equal(await page.getByRole('table', { name: 'Builds' }).getByRole('row').count(), 1)
  await page.getByLabel('State').selectOption('cancelled')
  await page.getByText('No build passes the filter.').waitFor()
  await assertFits(page, 'builds on a phone')
  assertQuiet(page)
})

test('a Node version without security fixes has a warning on the page of the build and on that of the environment', async () => {
  const { name } = await createEnvironment(service, as)
  const done = await deploy(service, as, name, { ...nodeServer('old'), '.nvmrc': '18' })
  const page = await browser.open()
  for (const [what, path] of Object.entries({ build: pathOf(done.metadata.build), environment: pathOf(name) })) {
    await logIn(page, owner, path)
    const note = page.getByRole('region', { name: 'Warnings' })
    await note
      .getByText(/^Node 18\.\S+ no longer gets security fixes \(since 2025-04-30\)\. Change \.nvmrc to 24 /)
      .waitFor()
    await assertAccessible(page, `an old ${what}`)
    await assertFits(page, `an old ${what}`)
  }
  assertQuiet(page)
})

test('a held build is a banner that says what is missing, and one click makes it live', async () => {
  const { name, url } = await createEnvironment(service, as)
  const pages = (count: number) => [{ key: 'PAGES', value: String(count), kind: 'PLAIN' }]
  const change = async (count: number) => {
    const asked = await service.call(`/v1/${name}`, { method: 'PATCH', as, body: { shellVariables: pages(count) } })
    await untilDone(service, as, asked.json.name)
  }
  await change(30)
  const script = `const fs = require('node:fs')
    fs.mkdirSync('dist')
    for (let i = 1; i <= process.env.PAGES; i++) fs.writeFileSync('dist/post-' + i + '.html', 'post ' + i)
    fs.writeFileSync('dist/index.html', 'all posts')`
  const site = { 'package.json': JSON.stringify({ scripts: { build: 'node build.js' } }), 'build.js': script }
  assert.equal((await deploy(service, as, name, site)).error, undefined)
  await change(0)
  const asked = await service.call(`/v1/${name}:rebuild`, { method: 'POST', as, body: {} })
  const held = await untilDone(service, as, asked.json.name)
  assert.ok(held.error, 'it is held')

  const page = await browser.open({ size: 'phone' })
  await logIn(page, owner, pathOf(held.metadata.build))
  const ofBuild = page.getByRole('region', { name: 'Held build' })
  await ofBuild.getByText('Missing: /post-1, /post-10,').waitFor()
  await assertFits(page, 'a held build')
  await page.goto(pathOf(name))
  const banner = page.getByRole('region', { name: 'Held build' })
  await banner.getByText('Visitors get what they got before. Headland builds it again by itself').waitFor()
  await assertAccessible(page, 'a held build')
  assert.equal((await siteAnswer(service, url, '/post-30')).status, 200)
  await banner.getByRole('button', { name: 'Make it live' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Make it live' }).click()
  await banner.waitFor({ state: 'detached' })
  assert.equal((await siteAnswer(service, url, '/post-30')).status, 404)
  await assertQuiet(page)
})

test('the limits of a suspicious rebuild are set on the page of the environment', async () => {
  const { name } = await createEnvironment(service, as)
  const page = await browser.open()
  await logIn(page, owner, `${pathOf(name)}/settings`)
  const form = page.getByRole('form', { name: 'Suspicious output' })
  await form.getByLabel('Pages that may be lost, in percent').fill('150')
  await form.getByRole('button', { name: 'Save' }).click()
  await form
    .getByText(/must be <= 100|100/)
    .first()
    .waitFor()
  await form.getByLabel('Pages that may be lost, in percent').fill('50')
  await form.getByLabel('A rebuild that looks wrong').selectOption('WARN')
  await form.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved.').waitFor()
  const { json } = await service.call(`/v1/${name}`, { as })
  assert.deepEqual(json.suspiciousOutput, { action: 'WARN', maxLostPagesPercent: 50, minLostPages: 10 })
  await assertAccessible(page, 'suspicious output')
})

test('a publish has a bar with its times, and one that is slower than promised is marked as late', async () => {
  const environment = await createEnvironment(service, as)
  const page = await browser.open()
  await logIn(page, owner, `${pathOf(environment.name)}/publishes`)
  await page.getByText('Nothing was published yet').waitFor()
  await page.getByLabel('Seconds').fill('1')
  await page.getByRole('region', { name: 'Promise' }).getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved.').waitFor()
  await deploy(service, as, environment.name, building("setTimeout(() => console.log('built'), 1500)"))
  const row = page.getByRole('row', { name: /^Upload/ })
  await row.getByText('Late').waitFor()
  await row.getByText(/Waiting \d.* · Building \d.* · Switching \d/).waitFor()
  await row.getByText('promised 1.0 s').waitFor()
  await page.getByRole('row', { name: /^Builds 1 visible, 1 late/ }).waitFor()
  await service.call(`/v1/${environment.name}:clearCache`, { method: 'POST', as, body: {} })
  await page.getByRole('row', { name: /^Purge cache/ }).waitFor()
  await page.getByRole('navigation', { name: 'Kind' }).getByRole('link', { name: 'Purges' }).click()
  await row.waitFor({ state: 'detached' })
  await page.getByRole('row', { name: /^Purge cache/ }).waitFor()
  assertQuiet(page)
})

test('learned caching is switched on for a time, and off, on the page of the environment', async () => {
  const { name } = await createEnvironment(service, as)
  const page = await browser.open()
  await logIn(page, owner, `${pathOf(name)}/settings`)
  const form = page.getByRole('form', { name: 'Learned caching' })
  const set = async (): Promise<unknown> => (await service.call(`/v1/${name}`, { as })).json.learnedCaching
  await form.getByLabel('Pages are kept for, in seconds').fill('600')
  await assertAccessible(page, 'learned caching')
  await form.getByRole('button', { name: 'Switch learned caching on' }).click()
  await page.getByText('Learned caching is on').waitFor()
  assert.deepEqual(await set(), { maxAgeSeconds: 600 })
  await form.getByRole('button', { name: 'Switch it off' }).click()
  await page.getByText('Learned caching is off.').waitFor()
  assert.equal(await set(), null)
})

const ANSWERS = `
  if (request.url.startsWith('/blog')) response.setHeader('cache-control', 's-maxage=600')
  if (request.url === '/checkout') { console.error('TypeError: <b>cart</b> is undefined'); response.statusCode = 500 }
  if (request.url === '/old') response.statusCode = 404`

test('a visitor who got a 500 is found, with what the app wrote then; new requests appear, unless it is paused', async () => {
  const { name, url } = await createEnvironment(service, as)
  assert.equal((await deploy(service, as, name, nodeServer('hello', ANSWERS))).error, undefined)
  const page = await browser.open()
  await logIn(page, owner, pathOf(`${name}/requests`))
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

  const phone = await browser.open({ size: 'phone', scheme: 'dark' })
  await logIn(phone, owner, pathOf(`${name}/requests`))
  await phone.getByRole('row').filter({ hasText: '/old' }).waitFor()
  await assertFits(phone, 'requests on a phone')
  await assertAccessibleInBoth(phone, 'requests on a phone')
  await phone.setViewportSize(SIZES.laptop)
  await assertAccessibleInBoth(phone, 'requests')
  assertQuiet(phone)
})
