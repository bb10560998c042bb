import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { temporaryFolder } from '../../support/folder.ts'
import { readStalls } from '../../support/machine/stalls.ts'
import { createApp, createEnvironment } from '../../support/service/environment.ts'
import { startService } from '../../support/service/service.ts'
import { TIMEOUT_MS, until } from '../../support/until.ts'

const HEADLAND = fileURLToPath(new URL('../../../bin/headland', import.meta.url))
const RUNNER = fileURLToPath(new URL('../../support/run-commands.ts', import.meta.url))

type Ended = { code: number; stdout: string; stderr: string }

function headland(args: string[], env: Record<string, string> = {}): Promise<Ended> {
  return new Promise((resolve) => {
    const options = { env: { PATH: process.env.PATH, ...env }, timeout: TIMEOUT_MS }
    execFile(process.execPath, [HEADLAND, ...args], options, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr }),
    )
  })
}

const ends: (() => unknown)[] = []
const file = { after: (end: () => unknown) => void ends.unshift(end) }
after(async () => {
  for (const end of ends) await end()
})
/** The service makes its own folder. */
const dataDir = join(await temporaryFolder(file), 'data')
const first = await useFirstStart()
/** The second start on the same folder, for all other tests. */
const service = await startService(file, { dataDir })

/** A first start that logs all it can, what it was sent, and what it answered. */
async function useFirstStart() {
  const service = await startService(file, { dataDir, settings: { HEADLAND_LOG_LEVEL: 'trace' } })
  const [owner, as] = [service.owner(), await service.login()]
  const session = await service.call('/v1/session', { method: 'POST', body: owner })
  await createEnvironment(service, as, {
    body: {
      displayName: 'Test',
      branch: 'uploadable',
      cmsEnvironment: 'cms',
      shellVariables: [{ key: 'K', value: 'variable-secret' }],
    },
  })
  await service.call('/v1/session', { method: 'POST', body: { email: 'a@b', password: 'typed-secret' } })
  await service.call('/v1/regions?token=query-secret', { as })
  await service.stop()
  return { owner, as, session, log: service.log() }
}

// The first, since it counts requests.
test('liveness, readiness and metrics are served; metrics name no tenant and need a credential from behind a proxy', async () => {
  const as = await service.login()
  const { name } = await createEnvironment(service, as)
  assert.equal((await service.call('/healthz')).status, 200)
  assert.equal((await service.call('/readyz')).status, 200)
  await until(async () => /headland_leader 1/.test((await service.call('/metrics')).text), 'it leads')
  const metrics = await service.call('/metrics')
  assert.match(metrics.text, /headland_api_request_seconds_count\{.*route="\/v1\/accounts\/:account\/apps".*\} 1/)
  assert.match(metrics.text, /headland_edge_serving 1/)
  assert.ok(!metrics.text.includes(name.split('/')[3] ?? '-') && !metrics.text.includes('default'))
  const proxied = { 'x-forwarded-for': '203.0.113.7' }
  assert.equal((await service.call('/metrics', { headers: proxied })).status, 401)
  assert.equal((await service.call('/metrics', { headers: proxied, as })).status, 200)
})

test('the first start prints an owner and a password once; they log in; the second start prints none', () => {
  assert.equal(first.session.status, 200)
  assert.deepEqual(first.session.json.accounts, [{ name: 'accounts/default', role: 'owner' }])
  assert.equal(first.log.split(first.owner.password).length, 2)
  assert.doesNotMatch(service.log(), /Password/)
})

test('a port that is in use is reported with the setting that chooses another one', async (t) => {
  for (const [setting, variable, address] of [
    ['listen', 'HEADLAND_LISTEN', service.api],
    ['edgeListen', 'HEADLAND_EDGE_LISTEN', service.edge],
  ] as const) {
    const { host } = new URL(address)
    const free = { HEADLAND_LISTEN: '127.0.0.1:0', HEADLAND_EDGE_LISTEN: '127.0.0.1:0' }
    const settings = { HEADLAND_DATA_DIR: await temporaryFolder(t), ...free, [variable]: host }
    const { code, stderr } = await headland(['serve'], settings)
    assert.equal(code, 3)
    assert.match(stderr, new RegExp(`^headland: another program listens on ${host}: .*${setting}$`, 'm'))
    assert.doesNotMatch(stderr, /^ +at /m)
  }
})

test('the data folder and the master key are for the service alone', async () => {
  assert.equal((await stat(dataDir)).mode & 0o777, 0o700)
  assert.equal((await stat(join(dataDir, 'master.key'))).mode & 0o777, 0o600)
})

test('a portal session reads and writes, is refused from another origin, and ends', async () => {
  const { email, password } = JSON.parse(
    await service.operator(
      'users',
      'create',
      'dev@example.com',
      '--account',
      'default',
      '--role',
      'developer',
      '--json',
    ),
  )
  const opened = await service.call('/v1/session', { method: 'POST', body: { email, password } })
  const setCookie = opened.headers.get('set-cookie') ?? ''
  assert.match(setCookie, /^headland_session=[A-Za-z0-9_-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=\d+$/)
  const cookie = setCookie.split(';')[0] ?? ''
  const create = (headers: Record<string, string>, appId: string) =>
    service.call(`/v1/accounts/default/apps?appId=${appId}`, {
      method: 'POST',
      body: { region: 'regions/UK', uploadable: {} },
      headers: { cookie, ...headers },
    })

  assert.equal((await service.call('/v1/session', { headers: { cookie } })).json.email, 'dev@example.com')
  assert.equal((await create({ origin: service.api }, 'same-origin')).status, 200)
  assert.equal((await create({ origin: 'http://evil.localhost' }, 'other')).reason, 'ORIGIN_REFUSED')
  assert.equal((await create({ 'sec-fetch-site': 'same-site' }, 'other')).reason, 'ORIGIN_REFUSED')

  assert.equal((await service.call('/v1/session', { method: 'DELETE', headers: { cookie } })).status, 200)
  assert.equal((await service.call('/v1/session', { headers: { cookie } })).status, 401)
})

test('the values of shell variables are shown to developers on request, and to no other role', async () => {
  const [owner, viewer] = [await service.login('owner'), await service.login('viewer')]
  const secret = 'a-value-that-stands-out'
  const { name } = await createEnvironment(service, owner, {
    body: {
      displayName: 'Test',
      branch: 'uploadable',
      cmsEnvironment: 'cms',
      shellVariables: [{ key: 'API_KEY', value: secret }],
    },
  })
  assert.deepEqual((await service.call(`/v1/${name}`, { as: owner })).json.shellVariables, [
    { key: 'API_KEY', kind: 'SECRET' },
  ])
  const full = await service.call(`/v1/${name}?view=FULL`, { as: owner })
  assert.deepEqual(full.json.shellVariables, [{ key: 'API_KEY', kind: 'SECRET', value: secret }])
  assert.equal((await service.call(`/v1/${name}?view=FULL`, { as: viewer })).status, 403)
  assert.ok(!(await service.call(`/v1/${name}/operations`, { as: viewer })).text.includes(secret))
})

test('no secret reaches the log: not a password, not a variable, not a query', () => {
  const { as, log } = first
  assert.match(log, /"requestId"/)
  for (const secret of [
    as.password,
    btoa(`${as.userId}:${as.password}`),
    'variable-secret',
    'typed-secret',
    'query-secret',
  ]) {
    assert.ok(!log.includes(secret), secret)
  }
})

test('a PATCH sets what its mask names, keeps what has no value, and answers with an operation', async () => {
  const as = await service.login()
  const { name } = await createEnvironment(service, as, {
    body: {
      displayName: 'Before',
      branch: 'uploadable',
      cmsEnvironment: 'cms',
      shellVariables: [
        { key: 'KEEP', value: '1' },
        { key: 'DROP', value: '2' },
      ],
    },
  })
  const asked = await service.call(`/v1/${name}?updateMask=displayName,shellVariables`, {
    method: 'PATCH',
    as,
    body: {
      displayName: 'After',
      shellVariables: [{ key: 'KEEP' }, { key: 'NEW', value: '3' }],
      rootDirectory: 'ignored',
    },
  })
  assert.equal(asked.json.metadata.trigger, 'UPDATE')
  const done = await service.call(`/v1/${asked.json.name}:wait`, { method: 'POST', as })
  assert.equal(done.json.response.displayName, 'After')
  const { json } = await service.call(`/v1/${name}?view=FULL`, { as })
  assert.deepEqual(json.shellVariables, [
    { key: 'KEEP', kind: 'SECRET', value: '1' },
    { key: 'NEW', kind: 'SECRET', value: '3' },
  ])
  assert.equal(json.rootDirectory, '')
})

test('an app with environments is deleted only by force, and its name is free at once', async () => {
  const as = await service.login()
  const app = await createApp(service, as)
  await createEnvironment(service, as, { app })
  const name = `accounts/default/apps/${app}`
  assert.equal((await service.call(`/v1/${name}`, { method: 'DELETE', as })).reason, 'APP_HAS_ENVIRONMENTS')
  assert.equal((await service.call(`/v1/${name}?force=true`, { method: 'DELETE', as })).status, 200)
  assert.equal((await service.call(`/v1/${name}/environments`, { as })).status, 404)
  const again = await service.call(`/v1/accounts/default/apps?appId=${app}`, {
    method: 'POST',
    as,
    body: { region: 'regions/UK', uploadable: {} },
  })
  assert.equal(again.status, 200)
})

test('a blocked event loop is reported by metrics and, with what it was doing, by the log', async () => {
  for (const [which, pid] of [
    ['control', service.controlPid()],
    ['edge', service.edgePid()],
  ] as const) {
    process.kill(pid, 'SIGSTOP')
    await wait(1000)
    process.kill(pid, 'SIGCONT')
    const logged = new RegExp(
      `"process":"${which}","ms":\\d{3,},"cpuMs":\\d+,"doing":".+","msg":"the event loop stood still"`,
    )
    await until(() => logged.test(service.log()))
    const { longestMs, count } = (await readStalls(service))[which]
    assert.ok(longestMs >= 500 && count >= 1, `${longestMs} ms`)
  }
})

test('operators create accounts and users; errors have the right exit code', async (t) => {
  const dataDir = await temporaryFolder(t)
  const on = { HEADLAND_DATA_DIR: dataDir }
  assert.equal((await headland(['accounts', 'create', 'agency'], on)).code, 0)
  assert.match((await headland(['accounts', 'list'], on)).stdout, /agency/)
  const twice = await headland(['accounts', 'create', 'agency'], on)
  assert.deepEqual([twice.code, twice.stderr], [1, 'headland: There is an account agency already.\n'])
  assert.equal((await headland(['accounts', 'create', 'Bad Name'], on)).code, 2)
  assert.equal((await headland(['accounts', 'destroy', 'agency'], on)).code, 2)
  assert.equal((await headland(['credentials', 'create'], on)).code, 2)
  assert.equal((await headland(['credentials', 'create', '--account', 'unknown'], on)).code, 1)
  assert.equal((await headland(['cms', 'set', 'wp', 'https://cms.example', '--account', 'agency'], on)).code, 0)
  assert.equal((await headland(['cms', 'set', 'wp', 'javascript:alert(1)', '--account', 'agency'], on)).code, 2)
  assert.equal((await headland(['serve'], { HEADLAND_PORT: '1' })).code, 2)
})

test('every command has --help', async () => {
  const overview = await headland(['--help'])
  const commands = [...overview.stdout.matchAll(/^ {2}headland ([a-z-]+(?: [a-z-]+)?)/gm)].map(([, name = '']) => name)
  assert.ok(commands.length >= 9)
  // In one process, since a start of one takes longer than the help of all.
  const asked = commands.map((command) => JSON.stringify([...command.split(' '), '--help']))
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [RUNNER, ...asked])
  assert.deepEqual(
    stderr.match(/^=== .*$/gm),
    commands.map(() => '=== 0'),
  )
  for (const command of commands) assert.match(stdout, new RegExp(`^headland ${command}\\b`, 'm'))
})

test('doctor reports what this machine can do, and what to do about a data folder it cannot use', async (t) => {
  const folder = await temporaryFolder(t)
  const findings = JSON.parse((await headland(['doctor', '--json', '--data-dir', folder])).stdout)
  const parts = findings.map(({ part }: { part: string }) => part)
  assert.deepEqual(parts, [
    'node',
    'version',
    'user',
    'data folder',
    'database',
    'disk',
    'master key',
    'sandbox',
    'layers',
    'limits',
    'system calls',
    'network',
    'own addresses',
    'git',
    'certificates',
  ])
  for (const { state, advice } of findings) assert.equal(state === 'ok', advice === '')

  await mkdir(join(folder, 'open'), { mode: 0o755 })
  const weaker = await headland(['doctor', '--data-dir', join(folder, 'open')])
  assert.match(weaker.stdout, /can be read by others +chmod 700/)
})

for (const [where, file, pattern] of [
  ['the unit for systemd', 'docs/operate/headland.service', /CAP_(\w+)/g],
  ['compose.yaml', 'compose.yaml', /^ {6}- ([A-Z_]+)$/gm],
] as const) {
  test(`with the capabilities of ${where}, the doctor finds the sandbox that the service has`, {
    skip: process.getuid?.() !== 0,
  }, async (t) => {
    const text = await readFile(new URL(`../../../${file}`, import.meta.url), 'utf8')
    const left = [...text.matchAll(pattern)].map(([, name = '']) => `+${name.toLowerCase()}`)
    assert.ok(left.length > 5, text)
    const doctor = [process.execPath, HEADLAND, 'doctor', '--json', '--data-dir', await temporaryFolder(t)]
    const bounds = ['--no-new-privs', `--bounding-set=-all,${left}`]
    const { stdout } = await promisify(execFile)('setpriv', [...bounds, ...doctor])
    const found = (JSON.parse(stdout) as { part: string }[]).find(({ part }) => part === 'sandbox')
    assert.deepEqual(found, {
      part: 'sandbox',
      state: 'ok',
      found: 'bubblewrap, a user for each environment',
      advice: '',
    })
  })
}

test('doctor knows the version of the service that runs', async () => {
  const { host } = new URL(service.api)
  const { stdout } = await headland(['doctor', '--json', '--data-dir', service.dataDir, '--listen', host])
  const { found } = JSON.parse(stdout).find(({ part }: { part: string }) => part === 'version')
  assert.match(found, /^\d+\.\d+\.\d+, which the service at http:\S+ runs too$/)
})

test('a second service on a data folder that is in use is refused, and the first goes on', async () => {
  const second = await headland(['serve', '--data-dir', service.dataDir, '--listen', '127.0.0.1:0']).catch(
    (error) => error,
  )
  assert.equal(second.code, 1)
  assert.match(second.stderr, /data folder \S+ is in use by another service \(process \d+\)\. Stop that one first/)
  const as = await service.login()
  assert.match((await createEnvironment(service, as)).name, /^accounts\/default\/apps\//)
})

test('a data folder whose path is too long for the sockets in it is refused, with what to do', async (t) => {
  const dataDir = join(await temporaryFolder(t), 'x'.repeat(100))
  const refused = await headland(['serve', '--data-dir', dataDir]).catch((error) => error)
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /is too long for the sockets in it, by \d+ bytes\. Choose a shorter one for dataDir/)
})

// The last two: no one logs in after the first of them, and the service ends with the second.
test('log-ins are limited, with Retry-After', async () => {
  const guess = () => service.call('/v1/session', { method: 'POST', body: { email: 'owner@localhost', password: 'x' } })
  const answers = []
  for (let tries = 0; tries < 11; tries++) answers.push(await guess())
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [401, 429])
  assert.ok(Number(answers.at(-1)?.headers.get('retry-after')) > 0)
})

test('SIGTERM answers a waiting call with the operation as it is, and the service ends with 0', async () => {
  const as = await service.login()
  const { name } = await createEnvironment(service, as)
  // An edge that does not answer delays the operation.
  process.kill(service.edgePid(), 'SIGSTOP')
  const asked = await service.call(`/v1/${name}`, { method: 'DELETE', as })
  const waiting = service.call(`/v1/${asked.json.name}:wait?timeout=60s`, { method: 'POST', as })
  // Answered after the waiting call has been read: the event loop takes them in order.
  await service.call('/healthz')
  const stopped = service.stop()
  assert.equal((await waiting).json.done, false)
  process.kill(service.edgePid(), 'SIGCONT')
  assert.equal(await stopped, 0)
})
