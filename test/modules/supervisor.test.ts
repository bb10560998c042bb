import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { chown, copyFile, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createLog } from '../../src/base/index.ts'
import { markIn, Problem, type resources, shortId } from '../../src/contract/index.ts'
import type { Engine } from '../../src/engines/index.ts'
import { type AwakeLimits, createSupervisor, type InstanceSpec } from '../../src/runtime/index.ts'
import { createLineLogs, type LogLine } from '../../src/storage/index.ts'
import { handClock } from '../support/clock.ts'
import { temporaryFolder } from '../support/folder.ts'
import { LIMITS, testSandbox } from '../support/machine/engine.ts'
import { TIMEOUT_MS, until } from '../support/until.ts'

const BUBBLEWRAP = '/usr/bin/bwrap'
const engine = await testSandbox(BUBBLEWRAP)
assert.ok('start' in engine, 'the tests need bubblewrap')

const user = process.getuid?.() === 0 ? { uid: 210_003, gid: 210_003 } : undefined
const never = new AbortController().signal

/** A server that answers `up`, after the given code has handled the request. */
const server = (more = '', before = '') => `
  const http = require('node:http')
  const fs = require('node:fs')
  ${before}
  http.createServer((request, response) => {
    if (request.url === '/die') process.exit(7)
    ${more}
    response.end('up')
  }).listen(process.env.PORT, process.env.HOST)`

const STUBBORN = `process.on('SIGTERM', () => {})`

type Given = { files?: Record<string, string>; links?: Record<string, string> } & Partial<InstanceSpec>

/** An app as built, with its own log and a mark in its arguments by which its processes are found. */
async function appOf(t: TestContext, script: string, { files = {}, links = {}, ...more }: Given = {}) {
  const folder = await temporaryFolder(t)
  const [filesFolder, runFolder, mark] = [join(folder, 'files'), join(folder, 'run'), randomUUID()]
  for (const [name, content] of Object.entries({ 'server.js': script, ...files })) {
    await mkdir(dirname(join(filesFolder, name)), { recursive: true })
    await writeFile(join(filesFolder, name), content)
  }
  for (const [name, target] of Object.entries(links)) await symlink(target, join(filesFolder, name))
  if (user) await giveTo(user, filesFolder)
  const logs = createLineLogs(folder)
  const spec: InstanceSpec = {
    deployment: mark,
    build: mark,
    owner: { account: 'ours', environment: mark },
    layers: [filesFolder],
    cwd: '',
    binaries: [],
    limits: LIMITS,
    runFolder,
    argv: ['node', 'server.js', mark],
    writable: [],
    variables: {},
    user,
    hostHeader: 'app.localhost',
    openToolchain: async () => ({
      node: process.versions.node,
      mounts: [],
      path: '/headland:/usr/bin:/bin',
      environment: {},
    }),
    log: await logs.create('app', { secrets: [], whenFull: 'rotate', maxBytes: 1_000_000 }),
    ...more,
  }
  return {
    spec,
    folder,
    again: async (): Promise<InstanceSpec> => ({
      ...spec,
      log: await logs.create('app', { secrets: [], whenFull: 'rotate', maxBytes: 1_000_000 }),
    }),
    lines: (): Promise<LogLine[]> => logs.read('app', 0),
    /** Without the lines of the service about it. */
    written: async (): Promise<LogLine[]> => (await logs.read('app', 0)).filter(({ stream }) => stream !== 'service'),
    /** Fails when a process of the app, or of its sandbox, does not go away. */
    async leavesNothing() {
      await until(async () => (await processesNaming(mark, folder)).length === 0)
    },
    isThere: async () => (await processesNaming(mark)).length > 0,
  }
}

async function giveTo({ uid, gid }: { uid: number; gid: number }, folder: string) {
  await chown(folder, uid, gid)
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    if (!entry.isSymbolicLink()) await chown(join(entry.parentPath, entry.name), uid, gid)
  }
}

/** A zombie has no arguments any more. */
async function processesNaming(...words: string[]): Promise<string[]> {
  const found: string[] = []
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
    // A sandbox is found by its mounts, since its arguments do not have the mark.
    const mounts = await readFile(`/proc/${pid}/mountinfo`, 'utf8').catch(() => '')
    if (words.some((word) => command.includes(word) || mounts.includes(word))) found.push(command)
  }
  return found
}

function supervise(
  t: TestContext,
  given: { startDeadlineMs?: number; engine?: Engine; awakeLimits?: AwakeLimits } = {},
) {
  const clock = handClock()
  const supervisor = createSupervisor({
    engine,
    networks: undefined,
    clock,
    log: createLog('silent'),
    startDeadlineMs: TIMEOUT_MS,
    ...given,
  })
  t.after(() => supervisor.stop(0))
  return {
    ...supervisor,
    clock,
    /** Every reported state of the deployment; undefined when it was retired, and again when its process is gone. */
    record({ deployment }: InstanceSpec) {
      const states: (resources.InstanceState | undefined)[] = []
      supervisor.onChange(() => states.push(supervisor.of(deployment)?.state))
      return states
    },
    async ask({ deployment }: InstanceSpec, path = '/'): Promise<string> {
      const instance = supervisor.of(deployment)?.instance
      assert.ok(instance, 'no instance answers')
      return (await fetch(`http://${instance.host}:${instance.port}${path}`)).text()
    },
    async die(spec: InstanceSpec) {
      const before = supervisor.of(spec.deployment)?.instance
      await this.ask(spec, '/die').catch(() => undefined)
      await until(() => supervisor.of(spec.deployment)?.instance !== before)
    },
    untilState: ({ deployment }: InstanceSpec, state: resources.InstanceState) =>
      until(() => supervisor.of(deployment)?.state === state),
  }
}

test('a deployment that was started is RUNNING, and answers where its instance says', async (t) => {
  const supervisor = supervise(t)
  const { spec } = await appOf(t, server())
  await supervisor.start(spec, never)
  assert.equal(supervisor.of(spec.deployment)?.state, 'RUNNING')
  assert.equal(await supervisor.ask(spec), 'up')
})

test('an app is told where to listen and that it is in production, whatever its variables say', async (t) => {
  const supervisor = supervise(t)
  const { spec } = await appOf(t, server('return response.end(JSON.stringify(process.env))'), {
    variables: { PORT: '1', HOST: '0.0.0.0', NODE_ENV: 'development', GREETING: 'hello' },
  })
  await supervisor.start(spec, never)
  const { PORT, HOST, NODE_ENV, GREETING } = JSON.parse(await supervisor.ask(spec))
  const port = String(supervisor.of(spec.deployment)?.instance?.port)
  assert.deepEqual(
    { PORT, HOST, NODE_ENV, GREETING },
    { ...{ PORT: port, HOST: '127.0.0.1', NODE_ENV: 'production' }, GREETING: 'hello' },
  )
})

test('the first request of an app has the host name that visitors use', async (t) => {
  const supervisor = supervise(t)
  const { spec, written } = await appOf(t, server(`console.log('asked as ' + request.headers.host)`))
  await supervisor.start(spec, never)
  await supervisor.retire(spec.deployment)
  assert.deepEqual(
    (await written()).map(({ text }) => text),
    ['asked as app.localhost'],
  )
})

const FAILING = {
  'crashes at its start': {
    script: 'process.exit(3)',
    deadlineMs: TIMEOUT_MS,
    reason: 'START_CRASHED',
    message: /^The app ended with exit code 3 before it answered\.$/,
  },
  'is killed at its start': {
    script: `process.kill(process.pid, 'SIGKILL')`,
    deadlineMs: TIMEOUT_MS,
    reason: 'START_CRASHED',
    message: /^The app (ended with exit code 137|was killed by SIGKILL) before it answered\.$/,
  },
  'listens on no port': {
    script: 'setInterval(() => {}, 1000)',
    deadlineMs: 1000,
    reason: 'PORT_NOT_BOUND',
    message: /^The app did not listen on port \d+ \(PORT\) within 1 s\.$/,
  },
  'accepts and never answers': {
    script: `require('node:net').createServer(() => {}).listen(process.env.PORT, process.env.HOST)`,
    // Long enough for a busy machine to start a program.
    deadlineMs: 15_000,
    reason: 'START_TIMEOUT',
    message: /^The app listens but did not answer within 15 s\.$/,
  },
}

for (const [what, { script, deadlineMs, reason, message }] of Object.entries(FAILING)) {
  test(`a start of an app that ${what} is rejected with ${reason} and leaves no process`, async (t) => {
    const supervisor = supervise(t, { startDeadlineMs: deadlineMs })
    const { spec, leavesNothing } = await appOf(t, script)
    await assert.rejects(supervisor.start(spec, never), (error) => {
      assert.ok(error instanceof Problem)
      assert.equal(error.reason, reason)
      assert.match(error.message, message)
      return true
    })
    assert.equal(supervisor.of(spec.deployment), undefined)
    await leavesNothing()
  })
}

test('a start of an app that listens elsewhere is rejected with the port that it listens on', async (t) => {
  const supervisor = supervise(t, { startDeadlineMs: 15_000 })
  const { spec, written, leavesNothing } = await appOf(
    t,
    `const server = require('node:http').createServer().listen(0, '127.0.0.1', () => console.log(server.address().port))`,
  )
  const failed = await supervisor.start(spec, never).catch((error: Problem) => error)
  const port = (await written())[0]?.text
  assert.ok(failed instanceof Problem && port)
  assert.equal(failed.reason, 'PORT_NOT_BOUND')
  assert.equal(failed.metadata.listens, port)
  assert.match(failed.message, new RegExp(`It listens on ${port} instead\\.$`))
  await leavesNothing()
})

test('a start that is aborted is rejected with the reason, and leaves no process', async (t) => {
  const supervisor = supervise(t)
  const { spec, isThere, leavesNothing } = await appOf(t, 'setInterval(() => {}, 1000)')
  const cancelling = new AbortController()
  const started = supervisor.start(spec, cancelling.signal)
  await until(isThere)
  cancelling.abort(new Error('never mind'))
  await assert.rejects(started, /never mind/)
  assert.equal(supervisor.of(spec.deployment), undefined)
  await leavesNothing()
})

test('a start that the machine refuses is rejected, and does not affect other apps', async (t) => {
  const bubblewrap = join(await temporaryFolder(t), 'bwrap')
  await copyFile(BUBBLEWRAP, bubblewrap)
  const short = await testSandbox(bubblewrap)
  await rm(bubblewrap)
  const { spec } = await appOf(t, server())
  await assert.rejects(supervise(t, { engine: short }).start(spec, never), /exit code 127/)
})

test('an app that runs already is not started again', async (t) => {
  const supervisor = supervise(t)
  const { spec, again } = await appOf(t, server())
  await supervisor.start(spec, never)
  const { instance } = supervisor.of(spec.deployment) ?? {}
  await supervisor.start(await again(), never)
  assert.equal(supervisor.of(spec.deployment)?.instance, instance)
  assert.equal(await supervisor.ask(spec), 'up')
})

test('of two concurrent starts of one deployment the later one wins', async (t) => {
  const supervisor = supervise(t)
  const script = `if (process.env.SILENT) setInterval(() => {}, 1000); else { ${server()} }`
  const { spec, again, isThere, leavesNothing } = await appOf(t, script)
  const silent = { ...spec, variables: { SILENT: 'yes' } }
  const first = assert.rejects(supervisor.start(silent, never), /the deployment is retired/)
  await until(isThere)
  await supervisor.start(await again(), never)
  await first
  assert.equal(await supervisor.ask(spec), 'up')
  await supervisor.retire(spec.deployment)
  await leavesNothing()
})

test('an app that dies is RESTARTING, and after a pause RUNNING again, and that is counted', async (t) => {
  const supervisor = supervise(t)
  const { spec } = await appOf(t, server())
  await supervisor.start(spec, never)
  await supervisor.die(spec)
  const { state, restarts, instance } = supervisor.of(spec.deployment) ?? {}
  assert.deepEqual([state, restarts, instance], ['RESTARTING', 1, undefined])
  await supervisor.clock.advance(500)
  await supervisor.untilState(spec, 'RUNNING')
  assert.equal(supervisor.of(spec.deployment)?.restarts, 1)
  assert.equal(await supervisor.ask(spec), 'up')
})

/** Counts its starts in a folder that it may write to, and fails in some of them. */
const moody = (failing: number[]) =>
  server(
    '',
    `const starts = Number(fs.readFileSync('state/starts', 'utf8'))
    fs.writeFileSync('state/starts', String(starts + 1))
    if (${JSON.stringify(failing)}.includes(starts)) process.exit(1)`,
  )
const withState: Given = { files: { 'state/starts': '0' }, writable: ['state'] }

test('five deaths in a row are a CRASH_LOOP, which is still tried and can end', async (t) => {
  const supervisor = supervise(t)
  const { spec } = await appOf(t, moody([1, 2, 3, 4]), withState)
  const states = supervisor.record(spec)
  await supervisor.start(spec, never)
  await supervisor.die(spec)
  for (let deaths = 1; deaths <= 5; deaths++) {
    await until(() => states.length === deaths + 2)
    await supervisor.clock.advance(500 * 2 ** (deaths - 1))
  }
  await until(() => states.length === 8)
  const restarting: resources.InstanceState[] = ['RESTARTING', 'RESTARTING', 'RESTARTING', 'RESTARTING']
  assert.deepEqual(states, ['STARTING', 'RUNNING', ...restarting, 'CRASH_LOOP', 'RUNNING'])
  assert.equal(supervisor.of(spec.deployment)?.restarts, 5)
})

test('an app that ran for more than a minute has the shortest pause again', async (t) => {
  const supervisor = supervise(t)
  const { spec } = await appOf(t, server())
  await supervisor.start(spec, never)
  for (const round of [1, 2]) {
    await supervisor.clock.advance(60_001)
    await supervisor.die(spec)
    assert.equal(supervisor.of(spec.deployment)?.restarts, round)
    await supervisor.clock.advance(500)
    await supervisor.untilState(spec, 'RUNNING')
  }
})

test('a deployment that is taken over sleeps until it is warmed up, and is then tried until it runs', async (t) => {
  const supervisor = supervise(t)
  const { spec } = await appOf(t, moody([0]), withState)
  const states = supervisor.record(spec)
  supervisor.adopt(spec)
  assert.equal(supervisor.of(spec.deployment)?.state, 'ASLEEP')
  await supervisor.warmUp(spec.deployment)
  assert.equal(supervisor.of(spec.deployment)?.state, 'RESTARTING')
  await supervisor.clock.advance(500)
  await supervisor.untilState(spec, 'RUNNING')
  assert.deepEqual(states, ['ASLEEP', 'STARTING', 'RESTARTING', 'RUNNING'])
  assert.equal(await supervisor.ask(spec), 'up')
})

test('an app that sleeps is drained while it still answers, and then gone', async (t) => {
  const supervisor = supervise(t)
  const { spec, leavesNothing } = await appOf(t, server())
  await supervisor.start(spec, never)
  const { instance } = supervisor.of(spec.deployment) ?? {}
  let lastAnswer = ''
  await supervisor.sleep(spec.deployment, async (id) => {
    assert.equal(id, instance?.id)
    lastAnswer = await (await fetch(`http://${instance?.host}:${instance?.port}/`)).text()
  })
  assert.equal(lastAnswer, 'up')
  assert.deepEqual(
    [supervisor.of(spec.deployment)?.state, supervisor.of(spec.deployment)?.instance],
    ['ASLEEP', undefined],
  )
  await leavesNothing()
})

test('an app that is woken is RUNNING again as another instance, and that is no restart', async (t) => {
  const supervisor = supervise(t)
  const { spec } = await appOf(t, server())
  await supervisor.start(spec, never)
  const before = supervisor.of(spec.deployment)?.instance?.id
  await supervisor.sleep(spec.deployment, async () => undefined)
  supervisor.wake(spec.deployment)
  supervisor.wake(spec.deployment)
  await supervisor.untilState(spec, 'RUNNING')
  assert.notEqual(supervisor.of(spec.deployment)?.instance?.id, before)
  assert.equal(supervisor.of(spec.deployment)?.restarts, 0)
  assert.equal(await supervisor.ask(spec), 'up')
})

test('an app is woken beside its old process while that still drains', async (t) => {
  const supervisor = supervise(t)
  const { spec } = await appOf(t, server())
  await supervisor.start(spec, never)
  const drained = Promise.withResolvers<void>()
  const asleep = supervisor.sleep(spec.deployment, () => drained.promise)
  supervisor.wake(spec.deployment)
  await supervisor.untilState(spec, 'RUNNING')
  drained.resolve()
  await asleep
  assert.equal(supervisor.of(spec.deployment)?.state, 'RUNNING')
  assert.equal(await supervisor.ask(spec), 'up')
})

test('an app that cannot be drained is stopped all the same', async (t) => {
  const supervisor = supervise(t)
  const { spec, leavesNothing } = await appOf(t, server())
  await supervisor.start(spec, never)
  await assert.rejects(
    supervisor.sleep(spec.deployment, () => Promise.reject(new Error('no edge'))),
    /no edge/,
  )
  await leavesNothing()
})

test('an app that still starts is not put to sleep', async (t) => {
  const supervisor = supervise(t)
  const { spec } = await appOf(t, server())
  const started = supervisor.start(spec, never)
  await supervisor.sleep(spec.deployment, () => assert.fail('there is nothing to drain'))
  await started
  assert.equal(supervisor.of(spec.deployment)?.state, 'RUNNING')
})

const FAMILY = `
  const { spawn } = require('node:child_process')
  const stubborn = "process.on('SIGTERM', () => {}); console.log('child'); setInterval(() => {}, 1000)"
  for (const detached of [true, false]) {
    spawn(process.execPath, ['-e', stubborn, process.argv[2]], { detached, stdio: ['ignore', 'inherit', 'ignore'] }).unref()
  }`

test('a retired app is gone with everything that it started', async (t) => {
  const supervisor = supervise(t)
  const { spec, lines, leavesNothing } = await appOf(t, server('', FAMILY))
  await supervisor.start(spec, never)
  await until(async () => (await lines()).filter(({ text }) => text === 'child').length === 2)
  await supervisor.retire(spec.deployment, { graceMs: 200 })
  assert.equal(supervisor.of(spec.deployment), undefined)
  await leavesNothing()
})

test('a retired app may end in its own time', async (t) => {
  const supervisor = supervise(t)
  const bye = `process.on('SIGTERM', () => setTimeout(() => { console.log('bye'); process.exit() }, 100))`
  const { spec, written } = await appOf(t, server('', bye))
  await supervisor.start(spec, never)
  await supervisor.retire(spec.deployment)
  assert.deepEqual(
    (await written()).map(({ text }) => text),
    ['bye'],
  )
})

test('retired while it starts, an app is gone, and its start is rejected', async (t) => {
  const supervisor = supervise(t)
  const { spec, isThere, leavesNothing } = await appOf(t, 'setInterval(() => console.log("x"), 1)')
  const rejected = assert.rejects(supervisor.start(spec, never), /the deployment is retired/)
  await until(isThere)
  await supervisor.retire(spec.deployment)
  await leavesNothing()
  await rejected
})

test('retired while it waits to be restarted, an app is not started again', async (t) => {
  const supervisor = supervise(t)
  const { spec, leavesNothing } = await appOf(t, server())
  const states = supervisor.record(spec)
  await supervisor.start(spec, never)
  await supervisor.die(spec)
  await supervisor.retire(spec.deployment)
  await supervisor.clock.advance(60_000)
  assert.deepEqual(states, ['STARTING', 'RUNNING', 'RESTARTING', undefined, undefined])
  await leavesNothing()
})

test('retired while it is restarted, an app is gone', async (t) => {
  const supervisor = supervise(t)
  const { spec, isThere, leavesNothing } = await appOf(t, server())
  await supervisor.start(spec, never)
  await supervisor.die(spec)
  await leavesNothing()
  await supervisor.clock.advance(500)
  await until(isThere)
  await supervisor.retire(spec.deployment)
  await leavesNothing()
})

test('retired while it wakes, an app is gone', async (t) => {
  const supervisor = supervise(t)
  const { spec, isThere, leavesNothing } = await appOf(t, server())
  await supervisor.start(spec, never)
  await supervisor.sleep(spec.deployment, async () => undefined)
  await leavesNothing()
  supervisor.wake(spec.deployment)
  await until(isThere)
  await supervisor.retire(spec.deployment)
  await leavesNothing()
})

test('retired while it drains on its way to sleep, an app is gone when that resolves', async (t) => {
  const supervisor = supervise(t)
  const { spec, leavesNothing } = await appOf(t, server('', `setInterval(() => console.log('tick'), 1)`))
  await supervisor.start(spec, never)
  const drained = Promise.withResolvers<void>()
  const asleep = supervisor.sleep(spec.deployment, () => drained.promise)
  await supervisor.retire(spec.deployment)
  await leavesNothing()
  drained.resolve()
  await asleep
})

test('a retired app is drained while it still answers', async (t) => {
  const supervisor = supervise(t)
  const { spec, leavesNothing } = await appOf(t, server())
  await supervisor.start(spec, never)
  const { host, port, id } = supervisor.of(spec.deployment)?.instance ?? {}
  let lastAnswer = ''
  await supervisor.retire(spec.deployment, {
    async drain(instance) {
      assert.equal(instance, id)
      lastAnswer = await (await fetch(`http://${host}:${port}/`)).text()
    },
  })
  assert.equal(lastAnswer, 'up')
  await leavesNothing()
})

test('an app that is started again while it is retired and drains gets a process of its own', async (t) => {
  const supervisor = supervise(t)
  const { spec, again } = await appOf(t, server())
  await supervisor.start(spec, never)
  const before = supervisor.of(spec.deployment)?.instance?.id
  const drained = Promise.withResolvers<void>()
  const retired = supervisor.retire(spec.deployment, { drain: () => drained.promise })
  await supervisor.start(await again(), never)
  drained.resolve()
  await retired
  assert.notEqual(supervisor.of(spec.deployment)?.instance?.id, before)
  assert.equal(await supervisor.ask(spec), 'up')
})

test('an app that dies while it drains is not waited for any longer, nor started again', async (t) => {
  const supervisor = supervise(t)
  const { spec, leavesNothing } = await appOf(t, server())
  await supervisor.start(spec, never)
  const { host, port } = supervisor.of(spec.deployment)?.instance ?? {}
  await supervisor.retire(spec.deployment, {
    drain: () =>
      fetch(`http://${host}:${port}/die`).then(
        () => assert.fail(),
        () => new Promise(() => undefined),
      ),
  })
  await leavesNothing()
})

test('a second call that retires an app waits for the same end', async (t) => {
  const supervisor = supervise(t)
  const { spec, leavesNothing } = await appOf(t, server('', STUBBORN))
  await supervisor.start(spec, never)
  void supervisor.retire(spec.deployment, { graceMs: 300 })
  await supervisor.retire(spec.deployment)
  await leavesNothing()
})

test('a stop ends every app, and does not wait as long as one that is being retired may take', async (t) => {
  const supervisor = supervise(t)
  const [one, two] = [await appOf(t, server('', STUBBORN)), await appOf(t, server('', STUBBORN))]
  for (const { spec } of [one, two]) await supervisor.start(spec, never)
  const retired = supervisor.retire(one.spec.deployment, { graceMs: 600_000 })
  await supervisor.stop(50)
  await retired
  await one.leavesNothing()
  await two.leavesNothing()
  assert.deepEqual(supervisor.all(), [])
})

test('every change of state is reported', async (t) => {
  const supervisor = supervise(t)
  const { spec } = await appOf(t, server())
  const states = supervisor.record(spec)
  await supervisor.start(spec, never)
  await supervisor.die(spec)
  await supervisor.clock.advance(500)
  await supervisor.untilState(spec, 'RUNNING')
  await supervisor.sleep(spec.deployment, async () => undefined)
  supervisor.wake(spec.deployment)
  await supervisor.untilState(spec, 'RUNNING')
  assert.deepEqual(states, ['STARTING', 'RUNNING', 'RESTARTING', 'RUNNING', 'ASLEEP', 'STARTING', 'RUNNING'])
})

/** Tries to write to the requested path, and answers with the result. */
const WRITER = `
  const path = '.' + request.url
  try { fs.appendFileSync(path, '+'); return response.end(fs.readFileSync(path)) }
  catch (error) { return response.end(error.code) }`

test('a writable folder begins as the build left it, and everything else is read-only', async (t) => {
  const supervisor = supervise(t)
  const { spec } = await appOf(t, server(WRITER), {
    files: { 'a/cache/kept': 'from the build', 'a/other': 'fixed' },
    writable: ['a/cache'],
  })
  await supervisor.start(spec, never)
  assert.equal(await supervisor.ask(spec, '/a/cache/kept'), 'from the build+')
  assert.equal(await supervisor.ask(spec, '/a/cache/new'), '+')
  assert.equal(await supervisor.ask(spec, '/a/other'), 'EROFS')
  assert.equal(await supervisor.ask(spec, '/a/new'), 'EROFS')
  assert.equal(await readFile(join(spec.layers[0] ?? '', 'a/cache/kept'), 'utf8'), 'from the build')
})

test('an app writes where it may although its output was built for another user', {
  skip: user ? false : 'owners of files need root',
}, async (t) => {
  const supervisor = supervise(t)
  const { spec } = await appOf(t, server(WRITER), { files: { 'cache/inner/kept': 'built' }, writable: ['cache'] })
  await giveTo({ uid: 210_077, gid: 210_077 }, spec.layers[0] ?? '')
  await supervisor.start(spec, never)
  assert.equal(await supervisor.ask(spec, '/cache/inner/kept'), 'built+')
  assert.equal(await supervisor.ask(spec, '/cache/inner/new'), '+')
})

test('what an app wrote is there when it is started again', async (t) => {
  const supervisor = supervise(t)
  const { spec } = await appOf(t, server(WRITER), { files: { 'cache/kept': 'x' }, writable: ['cache'] })
  await supervisor.start(spec, never)
  await supervisor.ask(spec, '/cache/kept')
  await supervisor.sleep(spec.deployment, async () => undefined)
  supervisor.wake(spec.deployment)
  await supervisor.untilState(spec, 'RUNNING')
  assert.equal(await supervisor.ask(spec, '/cache/kept'), 'x++')
})

test('a copy of a writable folder that broke off is made anew', async (t) => {
  const supervisor = supervise(t)
  const { spec } = await appOf(t, server(WRITER), { files: { 'cache/kept': 'whole' }, writable: ['cache'] })
  await mkdir(join(spec.runFolder, 'cache.new'), { recursive: true })
  await supervisor.start(spec, never)
  assert.equal(await supervisor.ask(spec, '/cache/kept'), 'whole+')
})

test('a link where a writable folder should be leads to nothing of this machine', async (t) => {
  const supervisor = supervise(t)
  const secret = await temporaryFolder(t)
  await mkdir(join(secret, 'inner'))
  for (const name of ['file', 'inner/file']) await writeFile(join(secret, name), 'of another user')
  const { spec } = await appOf(t, server(WRITER), {
    links: { cache: secret, outer: secret },
    writable: ['cache', 'outer/inner', 'missing'],
  })
  await supervisor.start(spec, never)
  assert.equal(await supervisor.ask(spec, '/cache/file'), 'ENOENT')
  assert.equal(await supervisor.ask(spec, '/outer/inner/file'), 'ENOENT')
})

test('a plan that leads out of the app, or a user who is no tenant, starts nothing and makes nothing', async (t) => {
  const supervisor = supervise(t)
  const wrong: Partial<InstanceSpec>[] = [
    { writable: ['../../../etc'] },
    { writable: ['cache', 'cache/../..'] },
    { writable: ['/etc'] },
    { writable: ['.'] },
    { cwd: '..' },
    { cwd: '/etc' },
    { cwd: 'a/../../b' },
    { argv: ['/bin/sh', '-c', 'id'] },
    { argv: ['../../bin/sh'] },
    { user: { uid: 0, gid: 0 } },
    { user: { uid: 210_003, gid: 0 } },
  ]
  for (const more of wrong) {
    const { spec, folder } = await appOf(t, server(), more)
    await assert.rejects(supervisor.start(spec, never), /path inside of the app|all of its own output|not the user of/)
    assert.deepEqual((await readdir(folder)).includes('run'), false, JSON.stringify(more))
  }
})

test('of two writable folders that lie in one another the outer one holds both', async (t) => {
  const supervisor = supervise(t)
  const { spec } = await appOf(t, server(WRITER), { files: { 'a/b/kept': 'x' }, writable: ['a/b', 'a', './a/b'] })
  await supervisor.start(spec, never)
  assert.equal(await supervisor.ask(spec, '/a/b/kept'), 'x+')
  assert.equal(await supervisor.ask(spec, '/a/new'), '+')
  assert.deepEqual(await readdir(join(spec.runFolder, 'own')), ['a'])
})

test('the log has the output of the app, and how it ended', async (t) => {
  const supervisor = supervise(t)
  const { spec, lines } = await appOf(t, server('', `console.log('to stdout'); console.error('to stderr')`))
  await supervisor.start(spec, never)
  await supervisor.die(spec)
  await supervisor.retire(spec.deployment)
  const logged = (await lines()).map(({ stream, text }) => `${stream}: ${text}`)
  const id = shortId(spec.deployment)
  assert.deepEqual(logged.toSorted(), [
    `service: Deployment ${id} starts: build ${id}.`,
    'service: The app ended by itself (exit code 7).',
    'stderr: to stderr',
    'stdout: to stdout',
  ])
})

test('every start, death and sleep of a process is marked in its log, and no app can write such a mark', async (t) => {
  const supervisor = supervise(t)
  const forged = `console.log('Deployment 00000000 is live: build 00000000.')`
  const { spec, lines } = await appOf(t, server('', forged))
  await supervisor.start(spec, never)
  await supervisor.die(spec)
  await supervisor.clock.advance(500)
  await supervisor.untilState(spec, 'RUNNING')
  await supervisor.sleep(spec.deployment)
  supervisor.wake(spec.deployment)
  await supervisor.untilState(spec, 'RUNNING')
  await supervisor.retire(spec.deployment)
  const ids = { deployment: shortId(spec.deployment), build: shortId(spec.build) }
  const found = (await lines()).flatMap((line) => markIn(line) ?? [])
  assert.deepEqual(found, [
    { mark: 'START', ...ids },
    { mark: 'ENDED' },
    { mark: 'START', ...ids },
    { mark: 'ASLEEP' },
    { mark: 'START', ...ids },
  ])
})

test('a deployment that does not come up ends in its log as it began', async (t) => {
  const supervisor = supervise(t)
  const { spec, lines } = await appOf(t, 'process.exit(3)')
  await assert.rejects(supervisor.start(spec, never))
  const found = (await lines()).flatMap((line) => (markIn(line) ? [line.text] : []))
  const id = shortId(spec.deployment)
  assert.deepEqual(found, [`Deployment ${id} starts: build ${id}.`, `Deployment ${id} did not come up.`])
})

const TWO: AwakeLimits = { apps: 2, memoryBytes: 0 }

test("an app above the account's limit replaces the one that was unvisited for longest", async (t) => {
  const supervisor = supervise(t, { awakeLimits: TWO })
  const [first, second, third] = [await appOf(t, server()), await appOf(t, server()), await appOf(t, server())]
  const elsewhere = await appOf(t, server(), { owner: { account: 'theirs', environment: 'theirs' } })
  const drained: string[] = []
  supervisor.drainBy(async (instance) => void drained.push(instance))
  for (const { spec } of [elsewhere, first, second]) {
    await supervisor.start(spec, never)
    await supervisor.clock.advance(1000)
  }
  supervisor.visited(first.spec.deployment)
  const displaced = supervisor.of(second.spec.deployment)?.instance?.id
  await supervisor.start(third.spec, never)
  const states = () =>
    [elsewhere, first, second, third].map(({ spec }) => supervisor.of(spec.deployment)?.state ?? 'none')
  assert.deepEqual(states(), ['RUNNING', 'RUNNING', 'ASLEEP', 'RUNNING'])
  assert.deepEqual(drained, [displaced])
  assert.equal(await second.isThere(), false)
  assert.equal(supervisor.awake('ours').apps, 2)
  await supervisor.clock.advance(1000)
  supervisor.visited(third.spec.deployment)
  supervisor.wake(second.spec.deployment)
  await supervisor.untilState(second.spec, 'RUNNING')
  assert.deepEqual(states(), ['RUNNING', 'ASLEEP', 'RUNNING', 'RUNNING'])
  assert.match((await first.lines()).map(({ text }) => text).join(' '), /Another app of the account took its place/)
})

test('a new deployment of an app starts beside the old one, also where the account has no other place', async (t) => {
  const supervisor = supervise(t, { awakeLimits: { apps: 1, memoryBytes: 0 } })
  const owner = { account: 'ours', environment: 'shop' }
  const [old, next] = [await appOf(t, server(), { owner }), await appOf(t, server(), { owner })]
  await supervisor.start(old.spec, never)
  await supervisor.start(next.spec, never)
  assert.deepEqual([await supervisor.ask(old.spec), await supervisor.ask(next.spec)], ['up', 'up'])
  assert.equal(supervisor.awake('ours').apps, 1)
})

test('of apps that are woken all at once no more run than the account may have, and each gets its turn', async (t) => {
  const supervisor = supervise(t, { awakeLimits: TWO })
  const apps = await Promise.all(Array.from({ length: 5 }, () => appOf(t, server())))
  for (const { spec } of apps) {
    supervisor.adopt(spec)
    supervisor.warmUp(spec.deployment)
  }
  const awake = () => apps.filter(({ spec }) => supervisor.of(spec.deployment)?.state === 'RUNNING').length
  await until(() => awake() === 2)
  await until(() =>
    apps.every(({ spec }) => ['RUNNING', 'ASLEEP'].includes(supervisor.of(spec.deployment)?.state ?? '')),
  )
  let max = 0
  supervisor.onChange(() => {
    max = Math.max(max, supervisor.awake('ours').apps)
  })
  const served = new Set<string>()
  for (const { spec } of apps) supervisor.wake(spec.deployment)
  await until(async () => {
    for (const { spec } of apps) if (supervisor.of(spec.deployment)?.state === 'RUNNING') served.add(spec.deployment)
    await supervisor.clock.advance(100)
    return served.size === apps.length
  })
  assert.equal(max, 2)
})

test('an app for which there is no place, since all others still start, is refused with the reason', async (t) => {
  const supervisor = supervise(t, { awakeLimits: { apps: 1, memoryBytes: 0 }, startDeadlineMs: 5000 })
  const [silent, late] = [await appOf(t, 'setInterval(() => {}, 1000)'), await appOf(t, server())]
  const first = supervisor.start(silent.spec, never).catch((error: Problem) => error.reason)
  await until(() => silent.isThere())
  const second = supervisor.start(late.spec, never).catch((error: Problem) => error.metadata)
  let isOver = false
  void second.finally(() => {
    isOver = true
  })
  await until(async () => {
    await supervisor.clock.advance(500)
    return isOver
  })
  assert.deepEqual(await second, { kind: 'AWAKE_APPS', limit: '1', setting: 'accountAwakeApps' })
  await supervisor.retire(silent.spec.deployment)
  await first
})

test('apps that together use more than the account may have are reported, the longest unvisited first', async (t) => {
  const hungry = server('', 'const held = Buffer.alloc(60e6, 1)')
  const supervisor = supervise(t, { awakeLimits: { apps: 0, memoryBytes: 150e6 } })
  const apps = await Promise.all(Array.from({ length: 3 }, () => appOf(t, hungry)))
  for (const { spec } of apps) {
    await supervisor.start(spec, never)
    await supervisor.clock.advance(1000)
  }
  await until(() => supervisor.awake('ours').memoryBytes > 150e6)
  const [first] = supervisor.excess(Number.POSITIVE_INFINITY)
  assert.equal(first, apps[0]?.spec.deployment)
  // The measurement varies, so it may take a second one.
  for (let looks = 0; looks < 3; looks++) {
    for (const deployment of supervisor.excess(Number.POSITIVE_INFINITY)) await supervisor.sleep(deployment)
  }
  assert.deepEqual(supervisor.excess(Number.POSITIVE_INFINITY), [])
  assert.ok(supervisor.awake('ours').apps >= 1)
})
