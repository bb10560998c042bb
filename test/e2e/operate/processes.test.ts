/**
 * The processes of `npm start` and `bin/headland serve`, and what happens to each when one of them gets a signal. Each
 * service is started in a process group of its own, as in a terminal: it has ended when the group is empty.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { delimiter, dirname } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { temporaryFolder } from '../../support/folder.ts'
import { isLong } from '../../support/long.ts'
import { childrenOf, groupOf, type Running } from '../../support/machine/process-tree.ts'
import { putPreparedDatabase } from '../../support/service/prepared.ts'
import { until } from '../../support/until.ts'

const TOP = fileURLToPath(new URL('../../..', import.meta.url))
/** Whatever Node the machine has, without the one that npm installed for this checkout. */
const MACHINES_PATH = (process.env.PATH ?? '')
  .split(delimiter)
  .filter((folder) => !folder.includes('node_modules') && folder !== dirname(process.execPath))
  .join(delimiter)

type Started = {
  /** The process that was started, and the service: the one that supervises the others. */
  first: ChildProcess & { pid: number }
  service: Running
  log(): string
  /** Waits until no process is left. */
  over(): Promise<void>
}

async function start(t: TestContext, command: readonly string[], path = process.env.PATH): Promise<Started> {
  const [file = '', ...args] = command
  const free = { HEADLAND_LISTEN: '127.0.0.1:0', HEADLAND_EDGE_LISTEN: '127.0.0.1:0' }
  const dataDir = await temporaryFolder(t)
  await putPreparedDatabase(dataDir)
  const env = { PATH: path, HOME: process.env.HOME, HEADLAND_DATA_DIR: dataDir, ...free }
  const first = spawn(file, args, { cwd: TOP, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  const pid = first.pid as number
  t.after(() => groupOf(pid).length > 0 && process.kill(-pid, 'SIGKILL'))
  let log = ''
  first.stderr.setEncoding('utf8').on('data', (text) => {
    log += text
  })
  const lines = createInterface({ input: first.stdout })
  const ready = (async () => {
    for await (const line of lines) if (line.startsWith('{')) return JSON.parse(line).api as string
    throw new Error(`it ended before it was ready:\n${log}`)
  })()
  assert.equal((await fetch(`${await ready}/readyz`)).status, 200)
  const edge = groupOf(pid).find((one) => one.command.some((word) => word === 'edge'))
  const service = groupOf(pid).find((one) => one.pid === edge?.parent)
  assert.ok(service, 'the service has an edge')
  return {
    first: first as Started['first'],
    service,
    log: () => log,
    async over() {
      await until(() => groupOf(pid).length === 0, 'every process of it is gone')
      // The output is complete when no process has the other end of the pipe open.
      if (!first.stderr.readableEnded) await once(first.stderr, 'end')
    },
  }
}

/** The log line of a graceful stop. */
const IN_ORDER = /"msg":"stopped"/

const SIGNALS = ['SIGTERM', 'SIGINT'] as const

/** Where a service gets SIGINT is shown once for each way that it comes: by Ctrl-C, and alone. */
const USUAL_SIGNALS = isLong ? SIGNALS : (['SIGTERM'] as const)

for (const signal of USUAL_SIGNALS) {
  test(`${signal} to npm ends a service that npm started gracefully`, async (t) => {
    const { first, log, over } = await start(t, ['npm', 'start'])
    first.kill(signal)
    await over()
    assert.match(log(), IN_ORDER)
  })

  test(`${signal} to a service that npm started ends it gracefully, and npm with it`, async (t) => {
    const { service, log, over } = await start(t, ['npm', 'start'])
    process.kill(service.pid, signal)
    await over()
    assert.match(log(), IN_ORDER)
  })
}

test('Ctrl-C, which reaches npm and the service and comes again from npm, ends the service gracefully', async (t) => {
  const { first, log, over } = await start(t, ['npm', 'start'])
  process.kill(-first.pid, 'SIGINT')
  await over()
  assert.match(log(), IN_ORDER)
})

test('SIGKILL of npm ends the service gracefully, which logs why', async (t) => {
  const { first, log, over } = await start(t, ['npm', 'start'])
  first.kill('SIGKILL')
  await over()
  assert.match(log(), /the process that started the service is gone/)
  assert.match(log(), IN_ORDER)
})

test('npm start is two processes, npm and the service as its child; SIGKILL of the service leaves no process behind', async (t) => {
  const { first, service, over } = await start(t, ['npm', 'start'])
  assert.deepEqual(
    childrenOf(first.pid).map(({ pid }) => pid),
    [service.pid],
  )
  process.kill(service.pid, 'SIGKILL')
  await over()
})

test('SIGTERM and SIGKILL of npx, which leaves a shell in between, end the service gracefully', async (t) => {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    const { first, log, over } = await start(t, ['npx', '--no-install', 'headland', 'serve'])
    first.kill(signal)
    await over()
    assert.match(log(), IN_ORDER)
  }
})

test("bin/headland becomes the service, on any Node of the machine, and gets the service's signals", async (t) => {
  for (const signal of SIGNALS) {
    const { first, service, log, over } = await start(t, ['bin/headland', 'serve'], MACHINES_PATH)
    assert.equal(service.pid, first.pid)
    const exited = once(first, 'exit')
    first.kill(signal)
    assert.deepEqual(await exited, [0, null])
    await over()
    assert.match(log(), IN_ORDER)
  }
})

test('SIGKILL of bin/headland, on any Node of the machine, leaves no process behind', async (t) => {
  const { first, over } = await start(t, ['bin/headland', 'serve'], MACHINES_PATH)
  first.kill('SIGKILL')
  await over()
})

/** As npm links the command: a Node before 22.15 cannot become another program, and stays as its parent. */
const LINKED = ['node', 'bin/headland.js', 'serve']

test('the command that npm links ends the service gracefully at each signal, on any Node of the machine', async (t) => {
  for (const signal of USUAL_SIGNALS) {
    const { first, log, over } = await start(t, LINKED, MACHINES_PATH)
    const exited = once(first, 'exit')
    first.kill(signal)
    assert.deepEqual(await exited, [0, null])
    await over()
    assert.match(log(), IN_ORDER)
  }
})

test('SIGKILL of the command that npm links, or of the service, leaves no process behind', async (t) => {
  const one = await start(t, LINKED, MACHINES_PATH)
  one.first.kill('SIGKILL')
  await one.over()
  // If the service itself is killed, it cannot log a graceful stop.
  if (one.service.pid !== one.first.pid) assert.match(one.log(), IN_ORDER)
  const other = await start(t, LINKED, MACHINES_PATH)
  process.kill(other.service.pid, 'SIGKILL')
  await other.over()
})
