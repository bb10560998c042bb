/** Apps that sleep frozen: real processes in real cgroups. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { createLog } from '../../../src/base/index.ts'
import { type AwakeLimits, createSupervisor, type FrozenLimits, type InstanceSpec } from '../../../src/runtime/index.ts'
import { createLineLogs } from '../../../src/storage/index.ts'
import { handClock } from '../../support/clock.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { appIn, never } from '../../support/machine/agent.ts'
import { needsFreezer, testSandbox } from '../../support/machine/engine.ts'
import { killIfThere, runningProcesses } from '../../support/machine/process-tree.ts'
import { TIMEOUT_MS, until } from '../../support/until.ts'

const engine = await testSandbox()
const GB = 1024 ** 3
const HOUR_MS = 3_600_000
const SECOND_MS = 1000
const PLENTY = 100 * GB
const skip = needsFreezer

const COUNTER = `
  let visits = 0
  require('node:http').createServer((request, response) => response.end(String(request.url === '/visit' ? ++visits : visits)))
    .listen(process.env.PORT, process.env.HOST)`

type Given = { awakeLimits?: AwakeLimits; frozenLimits?: FrozenLimits }

function supervise(t: TestContext, given: Given = {}) {
  const clock = handClock()
  const supervisor = createSupervisor({
    engine,
    networks: undefined,
    clock,
    log: createLog('silent'),
    startDeadlineMs: TIMEOUT_MS,
    frozenLimits: { memoryBytes: 10 * GB, ageMs: HOUR_MS },
    ...given,
  })
  t.after(() => supervisor.stop(0))
  return {
    ...supervisor,
    clock,
    async visit({ spec }: App): Promise<string> {
      const instance = supervisor.of(spec.deployment)?.instance
      assert.ok(instance, 'no instance answers')
      return (await fetch(`http://${instance.host}:${instance.port}/visit`)).text()
    },
    async wake({ spec }: App) {
      supervisor.wake(spec.deployment)
      await until(() => supervisor.of(spec.deployment)?.state === 'RUNNING')
    },
  }
}

type App = { spec: InstanceSpec; mark: string; pids(): number[]; leavesNothing(): Promise<unknown> }

async function app(t: TestContext): Promise<App> {
  const folder = await temporaryFolder(t)
  const mark = randomUUID()
  const { scaling: _, log, expiries: _expiries, ...request } = await appIn(folder, mark, COUNTER)
  const { name, ...options } = log
  const pids = () => runningProcesses().flatMap(({ pid, command }) => (command.includes(mark) ? pid : []))
  return {
    mark,
    spec: {
      ...request,
      argv: ['node', 'server.js', mark],
      log: await createLineLogs(folder).create(name, options),
    },
    pids,
    leavesNothing: () => until(() => pids().length === 0),
  }
}

/** An app that was visited once, and sleeps with its memory. */
async function frozen(t: TestContext, supervisor: ReturnType<typeof supervise>): Promise<App> {
  const one = await app(t)
  await supervisor.start(one.spec, never)
  assert.equal(await supervisor.visit(one), '1')
  await until(() => supervisor.awake('ours').memoryBytes > 0)
  await supervisor.sleep(one.spec.deployment)
  return one
}

test('an app that sleeps frozen goes on where it was, as another instance for edges', { skip }, async (t) => {
  const supervisor = supervise(t)
  const one = await app(t)
  await supervisor.start(one.spec, never)
  assert.equal(await supervisor.visit(one), '1')
  const before = supervisor.of(one.spec.deployment)?.instance?.id
  const pids = one.pids()
  for (const visits of ['2', '3']) {
    await supervisor.sleep(one.spec.deployment)
    const { state, instance } = supervisor.of(one.spec.deployment) ?? {}
    assert.deepEqual([state, instance], ['ASLEEP', undefined])
    await supervisor.wake(one)
    assert.equal(await supervisor.visit(one), visits)
  }
  assert.deepEqual(one.pids(), pids)
  assert.notEqual(supervisor.of(one.spec.deployment)?.instance?.id, before)
  assert.equal(supervisor.of(one.spec.deployment)?.restarts, 0)
})

test('a frozen app is not awake, but its memory counts', { skip }, async (t) => {
  const supervisor = supervise(t)
  await frozen(t, supervisor)
  const { apps, memoryBytes } = supervisor.awake('ours')
  assert.equal(apps, 0)
  assert.ok(memoryBytes > 0)
})

test('a frozen app ends when its account needs the memory, and wakes by a start', { skip }, async (t) => {
  const supervisor = supervise(t, { awakeLimits: { apps: 0, memoryBytes: 1 } })
  const one = await frozen(t, supervisor)
  const other = await app(t)
  await supervisor.start(other.spec, never)
  await one.leavesNothing()
  assert.equal(supervisor.of(one.spec.deployment)?.state, 'ASLEEP')
  await supervisor.retire(other.spec.deployment)
  await supervisor.wake(one)
  assert.equal(await supervisor.visit(one), '1')
})

test('a frozen app ends when the machine needs the memory', { skip }, async (t) => {
  const supervisor = supervise(t)
  const one = await frozen(t, supervisor)
  assert.deepEqual(supervisor.excess(PLENTY), [])
  assert.deepEqual(supervisor.excess(0), [one.mark])
  await supervisor.release(one.mark)
  assert.deepEqual(one.pids(), [])
  assert.deepEqual(supervisor.excess(0), [])
})

test('a frozen app ends after its time', { skip }, async (t) => {
  const supervisor = supervise(t)
  const one = await frozen(t, supervisor)
  await supervisor.clock.advance(HOUR_MS)
  assert.deepEqual(supervisor.excess(PLENTY), [one.mark])
})

test('an app that uses more than frozen ones may keep is stopped', async (t) => {
  const supervisor = supervise(t, { frozenLimits: { memoryBytes: 1, ageMs: HOUR_MS } })
  const one = await frozen(t, supervisor)
  assert.deepEqual(one.pids(), [])
  await supervisor.wake(one)
  assert.equal(await supervisor.visit(one), '1')
})

test('a frozen app that is retired is gone', { skip }, async (t) => {
  const supervisor = supervise(t)
  const one = await frozen(t, supervisor)
  await supervisor.retire(one.mark)
  assert.deepEqual(one.pids(), [])
})

test('a stop ends frozen apps', { skip }, async (t) => {
  const supervisor = supervise(t)
  const one = await frozen(t, supervisor)
  await supervisor.stop(TIMEOUT_MS)
  assert.deepEqual(one.pids(), [])
})

test('a frozen app that was killed wakes by a start', { skip }, async (t) => {
  const supervisor = supervise(t)
  const one = await frozen(t, supervisor)
  one.pids().forEach(killIfThere)
  await supervisor.wake(one)
  // The kernel may end it only after its wake: then it is started as after any crash.
  await until(async () => {
    await supervisor.clock.advance(SECOND_MS)
    return (await supervisor.visit(one).catch(() => '')) === '1'
  })
})

test('a supervisor that hands over ends what is frozen, and hands it over as asleep', { skip }, async (t) => {
  const supervisor = supervise(t)
  const one = await frozen(t, supervisor)
  const handed = await supervisor.handOver(0)
  assert.deepEqual(
    handed.map(({ spec, instance }) => [spec.deployment, instance]),
    [[one.mark, undefined]],
  )
  await one.leavesNothing()
})
