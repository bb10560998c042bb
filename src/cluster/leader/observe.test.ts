import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { handClock } from '../../../test/support/clock.ts'
import { LEADING } from '../../../test/support/leading.ts'
import { migratedSql } from '../../../test/support/sql.ts'
import { LeadershipLost } from '../../storage/index.ts'
import type { ObservedInstance } from '../../swarm/index.ts'
import { createAppRecords } from '../records.ts'
import { reportOf, statusOf } from '../status.ts'
import { createObserve } from './observe.ts'

const seen = (instance: string, change: Partial<ObservedInstance> = {}): ObservedInstance => ({
  deployment: 'one',
  instance,
  node: 'node1',
  address: '10.0.0.1',
  port: 30_000,
  state: 'RUNNING',
  exitCode: undefined,
  reason: undefined,
  message: '',
  restarts: 0,
  ...change,
})
const crashed = (instance: string, exitCode = 3) =>
  seen(instance, { state: 'CRASHED', exitCode, message: `task: non-zero exit (${exitCode})` })

const SERVICE = {
  ...{ build: 'build', command: ['node'], memoryBytes: 1, pids: 1, user: { uid: 1, gid: 1 } },
  ...{ writable: [], scratchBytes: 1, hostHeader: 'site.example' },
}

async function open(t: TestContext) {
  const records = createAppRecords(await migratedSql(t))
  const clock = handClock()
  const written: string[] = []
  const sayOf = async (_: string, phase: string, text: string) => void written.push(`${phase}: ${text}`)
  const lines = { say: async () => undefined, trySay: async () => undefined, sayOf }
  await records.change((change) =>
    records.put(change, {
      ...{ deployment: 'one', environment: 'environment', account: 'account', region: 'EU-W', image: 'image' },
      ...{ record: 'sealed', service: SERVICE, generation: 1, replicas: 1, starter: '', holdTime: 0, visitTime: 0 },
      scaling: { minInstances: 0, maxInstances: 1, requestsPerInstance: 10 },
    }),
  )
  const observe = createObserve({ clock, records, lines, term: LEADING })
  const rows = async () => {
    const [app] = await records.named(['one'])
    return { app, instances: await records.instancesOf(['one']) }
  }
  return {
    records,
    clock,
    written,
    lines,
    rows,
    report: (...changed: ObservedInstance[]) => observe({ changed, gone: [], isWhole: false }),
    observe,
    async ready(instance: string) {
      const row = (await rows()).instances.find((one) => one.instance === instance)
      assert.ok(row)
      await records.change((change) => records.setAnswer(change, row, { isReady: true, time: clock.now() }))
    },
  }
}

test('an app that crashes five times in a row is in a crash loop, and edges are told that it is down', async (t) => {
  const { rows, report, written } = await open(t)
  const states: (string | undefined)[] = []
  for (let start = 1; start <= 5; start++) {
    await report(seen(`i${start}`))
    await report(crashed(`i${start}`))
    // The same once more, as another leader reports it.
    await report(crashed(`i${start}`))
    states.push(statusOf(await rows(), () => true)?.state)
  }
  assert.deepEqual(states, ['RESTARTING', 'RESTARTING', 'RESTARTING', 'RESTARTING', 'CRASH_LOOP'])
  assert.equal((await rows()).app?.restarts, 5)
  assert.deepEqual(
    reportOf(await rows(), () => true),
    { state: 'down' },
  )
  const ended = 'ENDED: The app ended with exit code 3 before it answered.'
  const started = 'START: Deployment one starts: build build.'
  assert.deepEqual(written, [ended, ...Array.from({ length: 4 }, () => [started, ended]).flat()])
})

test('a crash long after the start begins the count anew', async (t) => {
  const { rows, report, ready, clock, written } = await open(t)
  for (const instance of ['i1', 'i2']) {
    await report(seen(instance))
    await report(crashed(instance))
  }
  await report(seen('i3'))
  await ready('i3')
  assert.equal(statusOf(await rows(), () => true)?.state, 'RUNNING')
  await clock.advance(61_000)
  await report(crashed('i3'))
  assert.equal((await rows()).app?.crashes, 1)
  assert.equal((await rows()).app?.restarts, 3)
  assert.equal(written.at(-1), 'ENDED: The app ended by itself (exit code 3).')
})

test('an instance that was to end has not crashed', async (t) => {
  const { records, rows, report } = await open(t)
  await report(seen('i1'))
  await report(seen('i1', { state: 'STOPPED' }))
  await report(crashed('i1', 137))
  await report(seen('i2'))
  await records.change((change) => records.setAsleep(change, 'one', 1))
  await report(crashed('i2', 143))
  assert.equal((await rows()).app?.crashes, 0)
})

test('the first report of a leader replaces what is on record, and instances that answered need not answer again', async (t) => {
  const { rows, report, ready, observe } = await open(t)
  await report(seen('i1'), seen('i2'))
  await ready('i2')
  await observe({ changed: [seen('i2')], gone: [], isWhole: true })
  const { instances } = await rows()
  assert.deepEqual(
    instances.map(({ instance, isReady }) => [instance, isReady]),
    [['i2', true]],
  )
  await observe({ changed: [], gone: [{ deployment: 'one', instance: 'i2' }], isWhole: false })
  assert.deepEqual((await rows()).instances, [])
})

test('a process that does not lead any more changes no row', async (t) => {
  const { records, rows, lines, clock } = await open(t)
  const term = { check: () => Promise.reject(new LeadershipLost()) }
  const late = createObserve({ clock, records, lines, term })
  await assert.rejects(late({ changed: [seen('i1')], gone: [], isWhole: true }), LeadershipLost)
  assert.deepEqual((await rows()).instances, [])
})
