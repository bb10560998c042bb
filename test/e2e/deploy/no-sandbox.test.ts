/** A machine without bubblewrap: apps are built and run only while there is a single account. */
import assert from 'node:assert/strict'
import { readdir, readFile, readlink, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { makeAccount } from '../../support/e2e/account.ts'
import { answerTo, ON_LOOPBACK } from '../../support/e2e/loopback-app.ts'
import { newestFirst } from '../../support/e2e/newest-first.ts'
import { type Scope, temporaryFolder } from '../../support/folder.ts'
import { usesPostgres } from '../../support/postgres/databases.ts'
import { appAt, CALLER } from '../../support/service/app-calls.ts'
import { deploy, type Files, page, reasonOf, untilDone, upload } from '../../support/service/deploy.ts'
import { createApp, createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { startService, type TestService } from '../../support/service/service.ts'
import { until } from '../../support/until.ts'

const isRoot = process.getuid?.() === 0

/** Stopped gracefully when the test is over: without a sandbox, a killed service leaves its apps running. */
async function start(t: Scope, dataDir?: string): Promise<TestService> {
  const ends: (() => unknown)[] = []
  t.after(async () => {
    for (const end of ends) await end()
  })
  const settings = { HEADLAND_BUBBLEWRAP: '/nowhere/bwrap', HEADLAND_START_TIMEOUT: '20' }
  const scope = { after: (end: () => unknown) => void ends.push(end) }
  const started = await startService(scope, { ...(dataDir ? { dataDir } : {}), settings })
  ends.unshift(() => started.stop())
  return started
}

/** The build writes its user id; the server answers with its own, and with what it can read. */
const WHO: Files = {
  'package.json': JSON.stringify({ scripts: { build: 'node build.js', start: 'node server.js' } }),
  'build.js': `require('node:fs').writeFileSync('built-by', String(process.getuid()))`,
  'server.js': `
    const fs = require('node:fs')
    const server = require('node:http').createServer((request, response) => {
      if (request.url === '/die') process.exit(7)
      if (request.url === '/') return response.end(fs.readFileSync('built-by') + ' ' + process.getuid())
      try { response.end(fs.readdirSync(request.url) + '') } catch (error) {
        try { response.end(fs.readFileSync(request.url)) } catch (error) { response.end(error.code) }
      }
    }).listen(process.env.PORT, process.env.HOST)
    process.on('SIGTERM', () => { console.log('asked to end'); server.close(() => process.exit()) })`,
}

/** The one that is started again ends before the folder is deleted. */
const scope = newestFirst({ after })
let service = await start(scope)
const as = await service.login()
const environment = await createEnvironment(service, as)

/** On a busy machine event loops are blocked at times, which has nothing to do with sandboxes. */
const warningsOf = (one: TestService): { msg: string }[] =>
  one
    .log()
    .split('\n')
    .filter((line) => line.startsWith('{"level":"warn"'))
    .map((line) => JSON.parse(line))
    .filter(({ msg }) => msg !== 'the event loop stood still')

test('the log has one warning, which says what is missing, what that means and what to do', () => {
  const warnings = warningsOf(service)
  assert.equal(warnings.length, 1, JSON.stringify(warnings))
  const { msg } = warnings[0] ?? { msg: '' }
  assert.match(msg, /there is no bubblewrap at \/nowhere\/bwrap: programs see the whole machine/)
  assert.equal(/run as the service's own user/.test(msg), !isRoot)
  assert.match(msg, /for a single account only\. See: headland doctor$/)
})

test('an app of the only account is built and answers, as another user than root', async () => {
  const done = await deploy(service, as, environment.name, WHO)
  assert.equal(done.error, undefined, JSON.stringify(done.error))
  const [builder, runner] = (await siteAnswer(service, environment.url)).text.split(' ').map(Number)
  assert.equal(builder, runner)
  if (isRoot) assert.ok(runner && runner > 100_000, `it runs as ${runner}`)
  else assert.equal(runner, process.getuid?.())
})

if (isRoot) {
  for (const name of [
    '',
    ...(usesPostgres ? [] : ['headland.db', 'headland.db-wal']),
    'master.key',
    'routes.log',
    'blobs',
    'logs',
    'environments',
  ]) {
    test(`an app cannot look into ${name || 'the data folder'}`, async () => {
      assert.ok(await stat(join(service.dataDir, name)))
      assert.equal((await siteAnswer(service, environment.url, join(service.dataDir, name))).text, 'EACCES')
    })
  }

  test('if no other user can reach the data folder, apps run as root, and the warning says so', async (t) => {
    const dataDir = join(await temporaryFolder(t), 'data')
    const closed = await start(t, dataDir)
    assert.match(
      warningsOf(closed)[0]?.msg ?? '',
      /programs run as root, since no other user can reach .+\/data, Node and npm/,
    )
    const login = await closed.login()
    const { name, url } = await createEnvironment(closed, login)
    assert.equal((await deploy(closed, login, name, WHO)).error, undefined)
    assert.equal((await siteAnswer(closed, url)).text, '0 0')
    assert.equal((await stat(dataDir)).mode & 0o777, 0o700)
  })
}

test('an app that dies is started again', async () => {
  await siteAnswer(service, environment.url, '/die').catch(() => undefined)
  await until(async () => (await siteAnswer(service, environment.url).catch(() => undefined))?.status === 200)
})

/** Leaves orphaned processes behind, one of them with its output closed. */
const sleeper: Files = {
  'package.json': JSON.stringify({ scripts: { build: 'sh build.sh', start: 'node x.js' } }),
  'build.sh': `(sh -c 'trap "" TERM; while :; do sleep 1; done' "$PWD" &)
    (sh -c 'trap "" TERM; while :; do sleep 1; done' "$PWD" > /dev/null 2>&1 &)
    echo asleep; trap "" TERM; while :; do sleep 1; done`,
  'x.js': '',
}

test('a cancelled build is gone with everything that it started', async () => {
  const { name } = await createEnvironment(service, as)
  const asked = await upload(service, as, name, sleeper)
  const { build } = asked.json.metadata
  await until(async () => (await service.call(`/v1/${build}/log`, { as })).text.includes('asleep'))
  const folder = join(service.dataDir, 'environments', name.split('/').at(-1) ?? '', 'work')
  assert.ok((await processesIn(folder)).length >= 3)
  await service.call(`/v1/${build}:cancel`, { method: 'POST', as })
  assert.equal(reasonOf(await untilDone(service, as, asked.json.name)), 'OPERATION_CANCELLED')
  await until(async () => (await processesIn(folder)).length === 0)
})

test('an app finds the service on loopback', async () => {
  const { name, url } = await createEnvironment(service, as)
  const { error } = await deploy(service, as, name, CALLER)
  assert.equal(error, undefined, JSON.stringify(error))
  const { variables, put, get, purge } = await appAt(service, url)
  assert.equal(new URL(variables.HEADLESS_KV_STORE_URL).hostname, '127.0.0.1')
  assert.equal((await put('a', { body: '"a"' })).status, 204)
  assert.equal((await get('a')).text, '"a"')
  assert.equal((await get('a', 'wrong')).status, 401)
  assert.equal((await purge(['/'])).status, 200)
})

test('an app that listens on 127.0.0.1 alone is reached, and its peer is loopback', async () => {
  const { name, url } = await createEnvironment(service, as)
  const { error } = await deploy(service, as, name, ON_LOOPBACK)
  assert.equal(error, undefined, JSON.stringify(error))
  const visitor = '127.0.0.9'
  assert.equal(await answerTo(service, { url, from: visitor }), `127.0.0.1 ${visitor}`)
})

test('a stop asks the app to end, and leaves no process', async () => {
  const { dataDir } = service
  assert.notDeepEqual(await processesIn(dataDir), [])
  assert.equal(await service.stop(), 0)
  await until(async () => (await processesIn(dataDir)).length === 0)

  service = await start(scope, dataDir)
  const logged = await service.call(`/v1/${environment.name}/logs`, { as })
  assert.match(logged.text, /asked to end/)
  await until(async () => (await siteAnswer(service, environment.url)).status === 200)
})

test('with a second account every upload is refused with 503, for all accounts', async () => {
  await makeAccount(service, 'second')
  const theirs = await service.login('owner', 'second')
  await createApp(service, theirs, { account: 'second', app: 'theirs' })
  const second = await createEnvironment(service, theirs, { account: 'second', app: 'theirs' })
  for (const [login, { name }] of [
    [as, environment],
    [theirs, second],
  ] as const) {
    const refused = await upload(service, login, name, page('x'))
    assert.deepEqual([refused.status, refused.reason], [503, 'ISOLATION_MISSING'])
  }
})

/** Processes of this machine whose arguments or folder lead into this one; zombies have neither. */
async function processesIn(folder: string): Promise<string[]> {
  const found: string[] = []
  for (const pid of (await readdir('/proc')).filter((entry) => /^\d+$/.test(entry))) {
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
    const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => '')
    if (command.includes(folder) || cwd.startsWith(folder)) found.push(`${pid} ${command.replaceAll('\0', ' ')}`)
  }
  return found
}
