/** Which files are sent when a user drops a folder on the page, and what a hostile folder does to the page. */
import assert from 'node:assert/strict'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { type Scope, temporaryFolder } from '../support/folder.ts'
import { nodeServer } from '../support/service/deploy.ts'
import { createEnvironment } from '../support/service/environment.ts'
import { startService } from '../support/service/service.ts'
import { assertAccessibleInBoth, assertFits, assertQuiet, logIn, ownerOf, startBrowser } from './portal.ts'

const service = await startService({ after })
const browser = await startBrowser({ after }, service)
const as = await service.login()
const owner = ownerOf(service)

async function projectOf(t: Scope, files: Record<string, string>): Promise<string> {
  const folder = join(await temporaryFolder(t), 'my-app')
  for (const [path, content] of Object.entries({ ...nodeServer('from a folder'), ...files })) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), content as string)
  }
  return folder
}

async function openEnvironment(): Promise<{ page: Page; name: string }> {
  const { name } = await createEnvironment(service, as, {})
  const page = await browser.open()
  await logIn(page, owner, `/${name.replace('accounts/', '')}`)
  await page.getByRole('button', { name: 'Choose a folder' }).waitFor()
  return { page, name }
}

const choose = (page: Page, folder: string) => page.getByLabel('Folder', { exact: true }).setInputFiles(folder)

/** How many files the archive of the latest build had. */
async function filesSent(name: string): Promise<number | undefined> {
  const { json } = await service.call(`/v1/${name}/builds`, { as })
  return json.builds[0]?.archive.files
}

const SECRETS = {
  '.env': 'API_KEY=secret',
  '.env.local': 'API_KEY=secret',
  '.env.example': 'API_KEY=',
  '.gitignore': 'dist/\n*.log\n',
  '.headlandignore': '!.env.local\n',
  'dist/index.js': '',
  'debug.log': '',
}

test('local settings and ignored files of a folder are not sent, and the page says what was left out', async (t) => {
  const { page, name } = await openEnvironment()
  await choose(page, await projectOf(t, SECRETS))
  const question = page.getByRole('region', { name: 'Local settings' })
  await question.getByText('.env.local').waitFor()
  assert.equal(await question.getByRole('checkbox').isChecked(), false)
  await assertAccessibleInBoth(page, 'the question about local settings')
  await page.setViewportSize({ width: 360, height: 740 })
  await assertFits(page, 'the question about local settings')
  await question.getByRole('button', { name: 'Deploy without' }).click()
  const leftOut = page.getByText(/^Left out of the last upload: /)
  await leftOut.waitFor()
  for (const path of ['.env', '.env.local', 'dist/', 'debug.log'])
    assert.ok((await leftOut.innerText()).includes(path), `${path} is named`)
  await page.getByRole('link', { name: 'Open the site' }).waitFor()
  assert.equal(await filesSent(name), 2 + 3, 'the app, the example and the rules')
  assertQuiet(page)
})

test('local settings are sent if the user ticks the box', async (t) => {
  const { page, name } = await openEnvironment()
  await choose(page, await projectOf(t, SECRETS))
  await page.getByLabel('Send them all the same').check()
  await page.getByRole('button', { name: 'Deploy with local settings' }).click()
  await page.getByText(/^Left out of the last upload: dist\//).waitFor()
  await page.getByRole('link', { name: 'Open the site' }).waitFor()
  assert.equal(await filesSent(name), 2 + 5)
  assertQuiet(page)
})

test('a question about local settings that is cancelled sends nothing', async (t) => {
  const { page, name } = await openEnvironment()
  await choose(page, await projectOf(t, SECRETS))
  await page.getByRole('region', { name: 'Local settings' }).getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('button', { name: 'Choose a folder' }).waitFor()
  assert.equal(await page.getByRole('alert').count(), 0)
  assert.equal(await filesSent(name), undefined)
  assertQuiet(page)
})

/**
 * Drops an object with the entries of a file system: a script cannot make the object that a browser gives for a real
 * folder, so the page gets an imitation.
 */
const dropMade = (page: Page, entry: string) =>
  page.evaluate(`(() => {
    const file = (name) => ({ isDirectory: false, isFile: true, name, file: (done) => done(new File(['x'], name)) })
    const folder = (name, next) => ({ isDirectory: true, isFile: false, name, createReader() {
      const read = next()
      return { readEntries: (done) => setTimeout(() => done(read())) }
    } })
    const once = (entries) => () => { let left = entries; return () => { const some = left; left = []; return some } }
    const items = [{ webkitGetAsEntry: () => (${entry}), getAsFile: () => null }]
    const event = new Event('drop', { bubbles: true, cancelable: true })
    Object.defineProperty(event, 'dataTransfer', { value: { types: ['Files'], items } })
    document.body.dispatchEvent(event)
  })()`)

const HOSTILE: [what: string, entry: string, words: RegExp][] = [
  ['a name that leads up', `folder('app', once([file('..')]))`, /the name \.\./],
  ['an absolute name', `folder('app', once([file('/etc/passwd')]))`, /a slash in the name/],
  ['a control character', `folder('app', once([file('a\\u001b[2Jb')]))`, /control character/],
  ['a name without end', `folder('app', once([file('x'.repeat(100000))]))`, /more than 255 bytes/],
  ['names that differ in case only', `folder('app', once([file('a'), file('A')]))`, /in case or spelling only/],
  [
    'a folder that contains itself',
    `(() => { const loop = folder('loop', () => { let left = [loop]; return () => { const some = left; left = []; return some } }); return loop })()`,
    /128 folders deep/,
  ],
  [
    'a folder without end',
    `folder('app', () => { let at = 0; return () => Array.from({ length: 5000 }, () => file('f' + at++)) })`,
    /more than 250,000 files and folders/,
  ],
  [
    '100,000 files',
    `folder('app', () => { let at = 0; return () => at >= 100000 ? [] : Array.from({ length: 5000 }, () => file('f' + at++)) })`,
    /65,535 files to send/,
  ],
  ['markup', `folder('app', once([file('<img src=x onerror=document.title=1>\\u0007')]))`, /<img src=x/],
]

/** CPU time of the page's thread. Generous: a page with this fault is blocked for minutes. */
const MAX_WORK_SECONDS = 10

/** CPU time of the page's thread so far, which no other program lengthens. */
async function workOf(page: Page): Promise<() => Promise<number>> {
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable', { timeDomain: 'threadTicks' })
  return async () => {
    const { metrics } = await session.send('Performance.getMetrics')
    return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? assert.fail('no TaskDuration')
  }
}

for (const [what, entry, words] of HOSTILE) {
  test(`a hostile dropped folder is refused with a message, and the page stays responsive: ${what}`, async () => {
    const { page, name } = await openEnvironment()
    const work = await workOf(page)
    const before = await work()
    await dropMade(page, entry)
    await page.getByRole('alert').getByText(words).waitFor()
    const seconds = (await work()) - before
    assert.ok(seconds < MAX_WORK_SECONDS, `the page worked for ${seconds} s`)
    await page.getByRole('button', { name: 'Choose a folder' }).waitFor()
    assert.equal(await page.locator('main img').count(), 0, 'a name is text')
    assert.equal(await filesSent(name), undefined)
    await assertFits(page, what)
    assertQuiet(page)
  })
}

test('ignore rules that take for ever are evaluated outside of the page, and can be cancelled', async () => {
  const { page, name } = await openEnvironment()
  // Each `**` may match any part of a deep path, so there are very many combinations.
  const rule = `${'a/**/'.repeat(10)}b`
  const entry = `(() => {
    let deep = folder('a', once([file('c')]))
    for (let depth = 0; depth < 80; depth++) { const below = deep; deep = folder('a', once([below])) }
    const rules = { ...file('.gitignore'), file: (done) => done(new File(['${rule}'], '.gitignore')) }
    return folder('app', once([rules, deep]))
  })()`
  await dropMade(page, entry)
  await page.getByText('Reading the folder').waitFor()
  await page.getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('button', { name: 'Choose a folder' }).waitFor()
  assert.equal(await filesSent(name), undefined)
  assertQuiet(page)
})

test('a real folder with links that form a loop is sent or refused, and nothing hangs', async (t) => {
  const folder = await projectOf(t, { 'src/a.js': '' })
  await symlink('..', join(folder, 'src', 'up'))
  const { page } = await openEnvironment()
  await choose(page, folder)
  const isLive = page.getByRole('link', { name: 'Open the site' })
  await page.getByText(/^Sent/).or(isLive).or(page.getByRole('alert')).first().waitFor()
})
