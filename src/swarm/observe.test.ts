import assert from 'node:assert/strict'
import { test } from 'node:test'
import { handClock } from '../../test/support/clock.ts'
import { desiredApp } from '../../test/support/swarm/desired.ts'
import type { Observation } from './desired.ts'
import type { Service, SwarmNode, Task } from './docker/types.ts'
import { observedOf } from './observe.ts'
import { createReports } from './reports.ts'
import { createRestarts } from './restarts.ts'
import { specOf } from './service/spec.ts'

const service = (forceUpdate = 0, replicas = 1): Service => {
  const spec = specOf(desiredApp({ deployment: 'one', replicas }), { cluster: 'c', secrets: [] })
  const template = { ...spec.TaskTemplate, ForceUpdate: forceUpdate }
  return {
    ID: 's',
    Version: { Index: 1 },
    UpdatedAt: '2026-01-01T00:00:00Z',
    Spec: { ...spec, TaskTemplate: template },
  }
}

const node = (state = 'ready', change: Partial<SwarmNode> = {}): SwarmNode => ({
  ID: 'n1',
  Version: { Index: 1 },
  Spec: { Availability: 'active', Role: 'worker', Labels: { region: 'EU-W' } },
  Description: { Hostname: 'node', Engine: { EngineVersion: '28.5.2' } },
  Status: { State: state, Addr: '10.0.0.1' },
  ...change,
})

const task = (state: string, change: Partial<Task> & { status?: Partial<Task['Status']> } = {}): Task => {
  const { status, ...rest } = change
  const ports = state === 'running' ? { PortStatus: { Ports: [{ TargetPort: 3000, PublishedPort: 32_768 }] } } : {}
  return {
    ID: 't1',
    ServiceID: 's',
    Slot: 1,
    NodeID: 'n1',
    CreatedAt: '2026-01-01T00:00:00Z',
    DesiredState: 'running',
    Status: { Timestamp: '2026-01-01T00:00:00Z', State: state, ...ports, ...status },
    ...rest,
  }
}

const see = (tasks: Task[], nodes = [node()], services = [service()]) =>
  observedOf({ services, tasks, nodes }, createRestarts().count)

test('a running task is an instance at the address of its node', () => {
  assert.deepEqual(see([task('running')]), [
    {
      deployment: 'one',
      instance: 't1',
      node: 'n1',
      address: '10.0.0.1',
      port: 32_768,
      state: 'RUNNING',
      exitCode: undefined,
      reason: undefined,
      message: '',
      restarts: 0,
    },
  ])
})

test('the address of a manager without one is that of its peers', () => {
  const manager = node('ready', {
    Status: { State: 'ready', Addr: '0.0.0.0' },
    ManagerStatus: { Addr: '10.0.0.9:2377' },
  })
  assert.equal(see([task('running')], [manager])[0]?.address, '10.0.0.9')
})

for (const [state, wanted, expected] of [
  ['new', 'running', 'STARTING'],
  ['preparing', 'running', 'STARTING'],
  ['ready', 'ready', 'STARTING'],
  ['running', 'running', 'RUNNING'],
  ['running', 'shutdown', 'STOPPED'],
  ['failed', 'shutdown', 'CRASHED'],
  ['complete', 'shutdown', 'CRASHED'],
  ['rejected', 'shutdown', 'CRASHED'],
] as const)
  test(`a task that is ${state} and should be ${wanted} is ${expected}`, () => {
    assert.equal(see([task(state, { DesiredState: wanted })])[0]?.state, expected)
  })

test('tasks that have ended as they should are not seen', () => {
  assert.deepEqual(
    see([task('shutdown', { DesiredState: 'shutdown' }), task('running', { DesiredState: 'remove' })]),
    [],
  )
})

test('a task without its port does not run yet', () => {
  assert.equal(see([task('running', { status: { PortStatus: { Ports: null } } })])[0]?.state, 'STARTING')
})

test('an instance of a node that is away is stopped, whatever was last known of it', () => {
  const [row] = see([task('running')], [node('down')])
  assert.deepEqual([row?.state, row?.reason], ['STOPPED', 'NODE_AWAY'])
})

test('reasons tell a missing region from missing memory, and name a missing image', () => {
  const reasonOf = (state: string, err: string, nodes = [node()]) =>
    see([task(state, { NodeID: '', status: { Err: err } })], nodes)[0]?.reason
  const words = 'no suitable node (scheduling constraints not satisfied on 1 node)'
  const elsewhere = node('ready', { Spec: { ...node().Spec, Labels: { region: 'US-C' } } })
  assert.equal(reasonOf('pending', words, [elsewhere]), 'REGION_MISSING')
  assert.equal(reasonOf('pending', 'no suitable node (insufficient resources on 1 node)'), 'NO_NODE')
  assert.equal(reasonOf('rejected', 'No such image: registry/app@sha256:0'), 'IMAGE_MISSING')
  assert.equal(reasonOf('failed', 'task: non-zero exit (1)'), undefined)
})

test('crashes are counted as they are seen, and what Swarm gave up is counted from the service', () => {
  const { count } = createRestarts()
  const crash = (id: string) => task('failed', { ID: id })
  assert.equal(count(service(), 1, []), 0)
  assert.equal(count(service(), 1, [crash('a')]), 1)
  assert.equal(count(service(), 1, [crash('a')]), 1)
  assert.equal(count(service(), 1, [crash('c'), crash('b')]), 3)
  assert.equal(count(service(), 1, [crash('d')]), 4)
  assert.equal(count(service(), 2, []), 0)
  assert.equal(createRestarts().count(service(2), 1, [crash('z')]), 9)
})

test('changes alone are reported, and again where the report failed', async () => {
  const seen: Observation[] = []
  let fails = false
  const reports = createReports({
    clock: handClock(),
    async observe(observation) {
      if (fails) throw new Error('no')
      seen.push(observation)
    },
  })
  const look = (...tasks: Task[]) => ({ services: [service()], tasks, nodes: [node()] })
  await reports.report(look(task('starting')))
  await reports.report(look(task('starting')))
  assert.deepEqual(reports.inTransition(1000), ['one'])
  fails = true
  await assert.rejects(reports.report(look(task('running'))), /no/)
  fails = false
  await reports.report(look(task('running')))
  await reports.report(look(task('running')), ['one'])
  await reports.report({ ...look(), services: [] }, ['another'])
  assert.deepEqual(reports.inTransition(1000), [])
  await reports.report(look(), ['one'])
  assert.deepEqual(
    seen.map(({ changed, gone, isWhole }) => [changed.map(({ state }) => state), gone.length, isWhole]),
    [
      [['STARTING'], 0, true],
      [['RUNNING'], 0, false],
      [[], 1, false],
    ],
  )
})

test('the first report about everything has instances that were reported before it', async () => {
  const seen: Observation[] = []
  const reports = createReports({
    clock: handClock(),
    async observe(observation) {
      seen.push(observation)
    },
  })
  const all = { services: [service()], tasks: [task('running')], nodes: [node()] }
  // The first look at everything failed, and meanwhile this one was deployed.
  await reports.report(all, ['one'])
  await reports.report(all)
  await reports.report(all)
  assert.deepEqual(
    seen.map(({ changed, isWhole }) => [changed.map(({ instance }) => instance), isWhole]),
    [
      [['t1'], false],
      [['t1'], true],
    ],
  )
})
