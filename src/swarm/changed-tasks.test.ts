import assert from 'node:assert/strict'
import { test } from 'node:test'
import { desiredApp } from '../../test/support/swarm/desired.ts'
import { createChangedTasks } from './changed-tasks.ts'
import type { Service, SwarmNode, Task } from './docker/types.ts'
import type { Seen } from './observe.ts'
import { specOf } from './service/spec.ts'

const serviceOf = (deployment: string): Service => ({
  ID: `service-${deployment}`,
  Version: { Index: 1 },
  UpdatedAt: '2026-01-01T00:00:00Z',
  Spec: specOf(desiredApp({ deployment }), { cluster: 'c', secrets: [] }),
})

const taskOf = (deployment: string, { id = 'first', state = 'running', wanted = 'running' } = {}): Task => ({
  ID: `${deployment}-${id}`,
  ServiceID: `service-${deployment}`,
  Slot: 1,
  CreatedAt: '2026-01-01T00:00:00Z',
  DesiredState: wanted,
  Status: { Timestamp: '2026-01-01T00:00:00Z', State: state },
})

const node = (state: string): SwarmNode => ({
  ID: 'n',
  Version: { Index: 1 },
  Spec: { Availability: 'active', Role: 'worker' },
  Description: { Hostname: 'n', Engine: { EngineVersion: '28.0' } },
  Status: { State: state },
})

const services = ['awake', 'other', 'asleep'].map(serviceOf)
const seen = (...tasks: Task[]): Seen => ({ services, tasks, nodes: [node('ready')] })
const settled = seen(taskOf('awake'), taskOf('other'))

function known(first: Seen = settled) {
  const changedTasks = createChangedTasks()
  changedTasks.use(first)
  return changedTasks
}

test('nothing is looked at while all tasks run as they did', () => {
  assert.deepEqual(known().in(seen(taskOf('other'), taskOf('awake'))), [])
})

test('a deployment is looked at when its task was replaced, is gone, or is its first one', () => {
  assert.deepEqual(known().in(seen(taskOf('awake', { id: 'second' }), taskOf('other'))), ['awake'])
  assert.deepEqual(known().in(seen(taskOf('awake'))), ['other'])
  assert.deepEqual(known().in({ ...settled, tasks: [...settled.tasks, taskOf('asleep')] }), ['asleep'])
})

test('a deployment is looked at for as long as a task is not as it should be: it may have to be started again', () => {
  const crashed = seen(taskOf('awake', { state: 'failed', wanted: 'shutdown' }), taskOf('other'))
  assert.deepEqual(known(crashed).in(crashed), ['awake'])
})

test('what was seen of some deployments is known of those alone', () => {
  const changedTasks = known()
  const now = seen(taskOf('awake', { id: 'second' }), taskOf('other', { id: 'second' }))
  changedTasks.use({ ...now, services: [serviceOf('awake')] }, ['awake'])
  assert.deepEqual(changedTasks.in(now), ['other'])
})

test('everything is looked at when a node has changed, and when a task is of a service that is not known', () => {
  assert.equal(known().in({ ...settled, nodes: [node('down')] }), undefined)
  assert.equal(known().in(seen(taskOf('awake'), taskOf('other'), taskOf('new'))), undefined)
})

test('everything is looked at before anything was reported', () => {
  assert.equal(createChangedTasks().in(settled), undefined)
})
