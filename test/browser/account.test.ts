/** Usage, users, API access and one's own sessions, as people use them in the portal. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { deploy, nodeServer } from '../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../support/service/environment.ts'
import { until } from '../support/until.ts'
import {
  assertAccessible,
  assertAccessibleInBoth,
  assertFits,
  assertQuiet,
  logIn,
  makePerson,
  ownerOf,
  resetPassword,
  startBrowser,
  startService,
} from './portal.ts'

const scope = { after }
const service = await startService(scope)
const owner = ownerOf(service)
const program = await service.login('owner')
const browser = await startBrowser(scope, service)

const SCRIPT = '<img src=x onerror="document.title=1">'

/** Axe and the width of the page, in light and dark, where only the colours differ. */
async function assertWell(page: Page, what: string) {
  await assertAccessibleInBoth(page, what)
  await assertFits(page, what)
  assertQuiet(page)
}

/** The value of a labelled field, such as `Password`. */
const fact = (page: Page, name: string) => page.locator('div', { has: page.locator(`dt:text-is("${name}")`) }).last()

test('API access is shown once, works, and is refused once it is revoked', async () => {
  const page = await browser.open()
  await logIn(page, owner, '/default/api-access')
  await page.getByRole('button', { name: 'Generate API access' }).click()
  const form = page.getByRole('dialog')
  await form.getByLabel('Name').fill(SCRIPT)
  await form.getByRole('radio', { name: /^Viewer/ }).check()
  await assertWell(page, 'the form for API access')
  await form.getByRole('button', { name: 'Generate' }).click()

  const userId = await fact(page, 'User id').locator('code').innerText()
  const password = await fact(page, 'Password').locator('code').innerText()
  await assertWell(page, 'API access that is shown once')
  await page.getByRole('button', { name: 'Copy the lines for a terminal' }).click()
  assert.equal(
    await page.evaluate('navigator.clipboard.readText()'),
    `export HEADLAND_API_USER=${userId}\nexport HEADLAND_API_PASSWORD=${password}`,
  )
  const use = () => service.call('/v1/accounts/default/apps', { as: { userId, password } })
  assert.equal((await use()).status, 200)
  assert.equal(
    (await service.call('/v1/accounts/default/credentials', { method: 'POST', as: { userId, password } })).reason,
    'ROLE_TOO_WEAK',
  )

  await page.getByRole('button', { name: 'I have kept it' }).click()
  assert.ok(!(await page.content()).includes(password), 'it is shown this once')
  const row = page.getByRole('row', { name: SCRIPT })
  assert.match(await row.innerText(), /Viewer/)
  await row.getByRole('button', { name: /^Revoke/ }).click()
  const question = page.getByRole('dialog')
  assert.ok((await question.innerText()).includes(userId), 'it says what stops')
  await assertAccessible(page, 'the question before API access is revoked')
  assert.equal((await use()).status, 200, 'a question changes nothing')
  await question.getByRole('button', { name: 'Revoke' }).click()
  await row.waitFor({ state: 'detached' })
  assert.equal((await use()).status, 401)
  assertQuiet(page)
})

test('a user who was added logs in with the password that was shown, gets another role, and is removed', async () => {
  const page = await browser.open()
  await logIn(page, owner, '/default/users')
  await page.getByRole('button', { name: 'Add user' }).click()
  const form = page.getByRole('dialog')
  await form.getByLabel('E-mail').fill('not-an-address')
  await form.getByRole('button', { name: 'Add user' }).click()
  await form.locator('[aria-invalid=true]').waitFor()
  await form.getByLabel('E-mail').fill('New@Example.com')
  await form.getByRole('radio', { name: /^Viewer/ }).check()
  await assertWell(page, 'the form for a user')
  await form.getByRole('button', { name: 'Add user' }).click()
  const password = await fact(page, 'Password').locator('code').innerText()
  await assertWell(page, 'a user who was added')

  const theirs = await browser.open()
  await logIn(theirs, { email: 'new@example.com', password }, '/default/new-app')
  await theirs.getByText('You may look, but not create').waitFor()

  await page.getByRole('button', { name: 'Change the role of new@example.com' }).click()
  await page
    .getByRole('dialog')
    .getByRole('radio', { name: /^Developer/ })
    .check()
  await page.getByRole('dialog').getByRole('button', { name: 'Change role' }).click()
  await page
    .getByRole('row', { name: /new@example\.com/ })
    .getByText('Developer')
    .waitFor()
  await theirs.goto('/default/new-app')
  await theirs.getByRole('button', { name: 'Create app' }).waitFor()

  await page.getByRole('button', { name: 'Remove new@example.com' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Remove user' }).click()
  await page.getByRole('row', { name: /new@example\.com/ }).waitFor({ state: 'detached' })
  await theirs.reload()
  await theirs.getByRole('heading', { name: 'Log in to Headland' }).waitFor()
  assertQuiet(page)
})

test('an existing user is invited, sees which account asks, and belongs to it once they accept', async () => {
  const person = await makePerson(service, 'developer', { email: 'asked@example.com' })
  for (const account of ['agency', 'trap']) {
    const boss = await makePerson(service, 'owner', {
      email: `owner@${account}.example.com`,
      account,
      makeAccount: true,
    })
    const page = await browser.open()
    await logIn(page, boss, `/${account}/users`)
    await page.getByRole('button', { name: 'Add user' }).click()
    await page.getByRole('dialog').getByLabel('E-mail').fill(person.email)
    await page.getByRole('dialog').getByRole('button', { name: 'Add user' }).click()
    await page.getByText('They belong to the account once they accept.').waitFor()
    await page
      .getByRole('row', { name: /asked@example\.com/ })
      .getByText('Invited')
      .waitFor()
    await assertWell(page, 'an invited user')
  }

  const page = await browser.open({ size: 'phone' })
  await logIn(page, person, '/default/apps')
  const asked = page.getByRole('region', { name: 'Invitations' })
  await asked.getByText('owner@agency.example.com asked').waitFor()
  await assertWell(page, 'two invitations on a phone')
  assert.equal(
    await page.getByLabel('Account', { exact: true }).getByRole('option').count(),
    0,
    'there is no choice yet',
  )
  await page.goto('/trap/apps')
  await page.getByText('The account does not exist, or you do not belong to it.').waitFor()
  await page.getByRole('button', { name: 'Decline the invitation of trap' }).click()
  await page.getByText('You declined the invitation of trap.').waitFor()
  await page.getByRole('button', { name: 'Accept the invitation of agency' }).click()
  await page.getByText('You belong to agency now.').waitFor()
  await asked.waitFor({ state: 'detached' })
  const options = await page.locator('select[aria-label=Account] option').allInnerTexts()
  assert.deepEqual(options, ['agency', 'default'])
  assertQuiet(page)
})

test('a user without an account sees invitations, and can log out', async () => {
  const made = await service.call('/v1/accounts/default/users', {
    method: 'POST',
    as: program,
    body: { email: 'homeless@example.com', role: 'developer' },
  })
  assert.equal(made.status, 200)
  // The operator gives the password to another person than the account had in mind.
  const password = await resetPassword(service, 'homeless@example.com')
  const page = await browser.open()
  await page.request.post('/v1/session', { data: { email: 'homeless@example.com', password } })
  await page.goto('/default/apps')
  await page.getByRole('heading', { name: 'You belong to no account' }).waitFor()
  await assertWell(page, 'the page of a user without an account')
  await page.getByRole('button', { name: 'Log out' }).waitFor()
  await page.getByRole('button', { name: 'Accept the invitation of default' }).click()
  await page.getByRole('heading', { name: 'Apps', level: 1 }).waitFor()
  assertQuiet(page)
})

test('the last owner stays one, and the page says why', async () => {
  const page = await browser.open({ size: 'phone' })
  await logIn(page, owner, '/default/users')
  await assertWell(page, 'users on a phone')
  await page.getByRole('button', { name: `Change the role of ${owner.email}` }).click()
  await page.getByRole('radio', { name: /^Viewer/ }).check()
  await page.getByRole('dialog').getByRole('button', { name: 'Change role' }).click()
  await page.getByRole('alert').getByText('LAST_OWNER').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: `Remove ${owner.email}` }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Remove user' }).click()
  await page.getByRole('alert').getByText('LAST_OWNER').waitFor()
  await assertFits(page, 'a refusal on a phone')
})

test('a viewer sees no controls that write on the pages of the account, and cannot write by a direct call either', async () => {
  const viewer = await makePerson(service, 'viewer')
  const page = await browser.open()
  await logIn(page, viewer, '/default/users')
  await page.getByRole('row', { name: /viewer@example\.com/ }).waitFor()
  for (const [path, ready] of [
    ['/default/users', /^Owners add users/],
    ['/default/api-access', /Owners generate and revoke/],
    ['/default/usage', /can be deleted/],
  ] as const) {
    await page.goto(path)
    await page.getByText(ready).waitFor()
    const controls = page.getByRole('main').getByRole('button', { name: /add|change|remove|generate|revoke|delete/i })
    assert.equal(await controls.count(), 0, path)
    await assertWell(page, `${path} for a viewer`)
  }
  const statuses = await page.evaluate(`Promise.all([
    ['/v1/accounts/default/users', 'POST', { email: 'a@example.com', role: 'owner' }],
    ['/v1/accounts/default/credentials', 'POST', { role: 'owner' }],
  ].map(async ([url, method, body]) => (await fetch(url, {
    method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body),
  })).status))`)
  assert.deepEqual(statuses, [403, 403])
})

test('log-out everywhere ends the session in the other browser', async () => {
  const person = await makePerson(service, 'developer')
  const [here, there] = [await browser.open(), await browser.open()]
  await logIn(there, person, '/default/users')
  await there.getByRole('row', { name: /developer@example\.com/ }).waitFor()
  await logIn(here, person, '/me')
  await here.getByRole('button', { name: 'Log out everywhere' }).click()
  const question = here.getByRole('dialog')
  await question.getByText('in every browser').waitFor()
  await assertAccessible(here, 'the question before sessions end')
  await question.getByRole('button', { name: 'Log out everywhere' }).click()
  await here.getByRole('heading', { name: 'Log in to Headland' }).waitFor()
  await there.getByRole('link', { name: 'API access' }).click()
  await there.getByRole('heading', { name: 'Log in to Headland' }).waitFor()
  assertQuiet(here)
})

test('a password is changed with the old one', async () => {
  const person = await makePerson(service, 'viewer', { email: 'changes@example.com' })
  const page = await browser.open({ size: 'phone' })
  await logIn(page, person, '/me')
  await assertWell(page, 'one’s own page on a phone')
  const fill = async (old: string, next: string, again: string) => {
    await page.getByLabel('Current password').fill(old)
    await page.getByLabel('New password', { exact: true }).fill(next)
    await page.getByLabel('New password again').fill(again)
    await page.getByRole('button', { name: 'Change password' }).click()
  }
  await fill(person.password, 'a long enough one', 'another long one')
  await page.getByText('It is not the same as the new password.').waitFor()
  await fill('a guess', 'a long enough one', 'a long enough one')
  await page.getByText('is not the one that is to be changed').waitFor()
  await fill(person.password, 'short', 'short')
  await page.locator('[name=newPassword][aria-invalid=true]').waitFor()
  await assertAccessible(page, 'a refused password')
  await fill(person.password, 'a long enough one', 'a long enough one')
  await page.getByText('The password is changed').waitFor()
  const body = { email: person.email, password: 'a long enough one' }
  assert.equal((await service.call('/v1/session', { method: 'POST', body })).status, 200)
})

test('charts appear after visits, with a table of the same numbers, for pointer, keys and screen reader', async () => {
  const environment = await createEnvironment(service, program)
  const usage = `/${environment.name.replace('accounts/', '')}/usage`
  const page = await browser.open()
  await logIn(page, owner, `${usage}?range=1h`)
  await page.getByText('No visits in the last hour').waitFor()
  await assertWell(page, 'usage without visits')

  await deploy(
    service,
    program,
    environment.name,
    nodeServer(
      'answer',
      `if (request.url === '/fault') response.statusCode = 500
       if (request.url === '/lost') response.statusCode = 404`,
    ),
  )
  for (const path of ['/', '/', '/lost', '/fault', '/fault']) await siteAnswer(service, environment.url, path)
  const body = await untilCounted(environment.name, 5)
  // The page gets these numbers from now on, since a new minute may begin at any moment.
  await page.route('**/traffic?range=1h', (route) => route.fulfill({ contentType: 'application/json', body }))
  await page.reload()
  const chart = page.getByRole('region', { name: 'Requests', exact: true })
  await chart.getByRole('slider').waitFor()
  assert.match((await chart.innerText()).replaceAll(/\s+/g, ' '), /^Requests 5 2xx 2 4xx 1 5xx 2 By the status/)
  const listOf = async (title: string) =>
    (await page.getByRole('region', { name: title, exact: true }).getByRole('listitem').allInnerTexts()).map((row) =>
      row.replaceAll(/\s+/g, ' ').trim(),
    )
  await page.getByText('/lost').waitFor()
  assert.deepEqual(await listOf('Most visited'), ['/ (opens in a new tab) 2'])
  assert.deepEqual(await listOf('Missing'), ['/lost (opens in a new tab) 1'])

  const rows = await table(page, 'Requests')
  assert.equal(rows.length, 60)
  assert.equal(
    rows.reduce((all, [, requests]) => all + Number(requests), 0),
    5,
  )
  const latencies = await table(page, 'Time to answer')
  assert.ok(latencies.some(([, p50 = '', p95 = '']) => / m?s$/.test(p50) && / m?s$/.test(p95)))
  assert.ok(
    latencies.some(([, p50]) => p50 === '–'),
    'a minute without visits took no time',
  )

  await assertShared(page, rows)
  for (const scheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme: scheme })
    for (const property of ['--accent', '--warn', '--bad-solid']) await assertDrawn(page, 'Requests', property)
    // A single step with visits is drawn as a point, since it has no line to a neighbour.
    await assertDrawn(page, 'Time to answer', '--accent')
    await assertDrawn(page, 'Time to answer', '--warn')
  }
  await assertWell(page, 'usage with charts and tables')

  await page.getByRole('link', { name: '7 days' }).click()
  await page.waitForURL(/range=7d/)
  await chart.getByRole('slider').waitFor()
  assert.equal(await chart.getByRole('slider').getAttribute('aria-valuemax'), '167')
  const phone = await browser.open({ size: 'phone' })
  await logIn(phone, owner, `${usage}?range=1h`)
  await phone.getByRole('slider').first().waitFor()
  await assertWell(phone, 'usage on a phone')
  const narrow = Number(await phone.evaluate("document.querySelector('.uplot').clientWidth"))
  assert.ok(narrow > 200)
  await phone.setViewportSize({ width: 700, height: 740 })
  await phone.waitForFunction(`document.querySelector('.uplot').clientWidth > ${narrow + 200}`)
})

test('the disk usage of an account is shown with its limit and its environments', async () => {
  const page = await browser.open()
  await logIn(page, owner, '/default/usage')
  await page.getByText(/ of 20 GB, /).waitFor()
  const limits = page.getByRole('list', { name: 'Limits of the account, with the current numbers' })
  const { json } = await service.call('/v1/accounts/default/usage', { as: program })
  for (const [word, kind] of [
    ['Environments', 'ENVIRONMENTS'],
    ['API credentials', 'CREDENTIALS'],
  ] as const) {
    const { used, limit } = json.ceilings.find((counted: { kind: string }) => counted.kind === kind)
    assert.ok(used > 0)
    await limits.getByRole('listitem').filter({ hasText: word }).getByText(`${used} of ${limit}`).waitFor()
  }
  await limits.getByRole('listitem').filter({ hasText: 'Files on the disk' }).getByText(' of 2,000,000').waitFor()
  await page.getByRole('row', { name: /Test/ }).first().waitFor()
  await assertWell(page, 'usage of the account')
  await page.getByRole('link', { name: 'Test' }).first().click()
  await page.getByRole('heading', { name: 'On the disk' }).waitFor()
  await page.getByRole('list', { name: 'On the disk, by kind' }).getByText('Archives').waitFor()
  await assertWell(page, 'usage of an environment')
})

/** The edge sends its counts every few seconds. */
async function untilCounted(name: string, requests: number): Promise<string> {
  return until(async () => {
    const { json, text } = await service.call(`/v1/${name}/traffic?range=1h`, { as: program })
    return json.totals.requests >= requests && text
  }, `there were ${requests} requests`)
}

/** Opens the table of a chart and reads its rows, the newest first. */
async function table(page: Page, title: string): Promise<string[][]> {
  const chart = page.getByRole('region', { name: title, exact: true })
  await chart.getByText('Show as table').click()
  const rows = chart.locator('tbody tr')
  await rows.first().waitFor()
  const texts = await rows.evaluateAll((all) =>
    all.map((row) => [...row.children].map((cell) => cell.textContent ?? '')),
  )
  return texts
}

/** Keys and pointer in one chart move the cursor of all charts, and the value under it is that of the table. */
async function assertShared(page: Page, rows: string[][]) {
  const slider = (title: string) => page.getByRole('slider', { name: `${title} over time` })
  await slider('Requests').focus()
  await page.keyboard.press('Home')
  for (const title of ['Requests', 'Hit ratio', 'Time to answer']) {
    assert.equal(await slider(title).getAttribute('aria-valuenow'), '0', title)
  }
  await page.keyboard.press('End')
  await page.keyboard.press('ArrowLeft')
  const [time, requests] = rows[1] ?? []
  assert.match(
    (await slider('Requests').getAttribute('aria-valuetext')) ?? '',
    new RegExp(`^${time} to .*: ${requests}( \\(.*\\))?$`),
  )
  const cursors = await page
    .locator('.u-cursor-x')
    .evaluateAll((all) => all.map((line) => line.getBoundingClientRect().x))
  assert.equal(cursors.length, 4)
  assert.equal(Math.round(cursors[0] ?? 0), Math.round(cursors[3] ?? 1), 'charts above each other have it in line')
  await page.keyboard.press('Escape')
  const reading = page.getByRole('region', { name: 'Sent', exact: true }).getByText(/^\d\d:\d\d: /)
  await reading.waitFor({ state: 'detached' })
  await slider('Hit ratio').hover()
  await reading.waitFor()
  await page.getByRole('heading', { level: 1 }).hover()
  await reading.waitFor({ state: 'detached' })
}

/** Waits until the chart has pixels of this colour of the current theme. */
async function assertDrawn(page: Page, title: string, property: string) {
  const isDrawn = `(() => {
    const probe = document.createElement('i')
    probe.style.color = 'var(${property})'
    document.body.append(probe)
    const wanted = getComputedStyle(probe).color.match(/\\d+/g).map(Number)
    probe.remove()
    const heading = [...document.querySelectorAll('h2')].find(({ textContent }) => textContent === '${title}')
    const canvas = heading.closest('section').querySelector('canvas')
    const { width, height } = canvas
    const copy = Object.assign(document.createElement('canvas'), { width, height })
    const picture = copy.getContext('2d', { willReadFrequently: true })
    picture.drawImage(canvas, 0, 0)
    const { data } = picture.getImageData(0, 0, width, height)
    for (let at = 0; at < data.length; at += 4) {
      if (data[at + 3] === 255 && wanted.every((part, index) => data[at + index] === part)) return true
    }
    return false
  })()`
  await until(() => page.evaluate(isDrawn), `${title} has something in ${property}`)
}
