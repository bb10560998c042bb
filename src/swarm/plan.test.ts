import assert from 'node:assert/strict'
import { test } from 'node:test'
import { desiredApp } from '../../test/support/swarm/desired.ts'
import type { DesiredApp } from './desired.ts'
import type { Service, SwarmSecret, Task } from './docker/types.ts'
import { labelsOf, secretName } from './names.ts'
import { PAUSE_MS, planOf } from './plan.ts'
import { specOf } from './service/spec.ts'

const CLUSTER = 'c'
const START = Date.UTC(2026, 0, 1)
const at = (ms: number): string => new Date(START + ms).toISOString()
const app = (deployment: string, change: Partial<DesiredApp> = {}) => desiredApp({ deployment, ...change })

const serviceOf = (desired: DesiredApp, labels: Record<string, string> = {}): Service => {
  const spec = specOf(desired, { cluster: CLUSTER, secrets: [] })
  return {
    ID: `service-${desired.deployment}`,
    Version: { Index: 1 },
    UpdatedAt: at(0),
    Spec: { ...spec, Labels: { ...spec.Labels, ...labels } },
  }
}

const secretOf = (desired: DesiredApp): SwarmSecret => ({
  ID: `secret-${desired.deployment}-${desired.generation}`,
  Spec: { Name: secretName(CLUSTER, desired, 0), Labels: labelsOf(CLUSTER, desired) },
})

const taskOf = (desired: DesiredApp, state: string, wanted: string, ms = 0): Task => ({
  ID: `task-${ms}`,
  ServiceID: `service-${desired.deployment}`,
  Slot: 1,
  CreatedAt: at(ms),
  DesiredState: wanted,
  Status: { Timestamp: at(ms), State: state },
})

type Given = Partial<Parameters<typeof planOf>[0]>
const changesOf = (given: Given) =>
  planOf({ cluster: CLUSTER, desired: [], services: [], secrets: [], tasks: [], now: START, ...given }).map(
    ({ deployment, changes }) => [deployment, ...changes.map(({ kind }) => kind)],
  )

test('nothing is done where all is as it should be', () => {
  const one = app('one', { replicas: 0 })
  assert.deepEqual(changesOf({ desired: [one], services: [serviceOf(one)], secrets: [secretOf(one)] }), [])
})

test('what is missing is created, what sleeps is scaled, and what another generation has is replaced', () => {
  const [fresh, awake, changed] = [app('new'), app('awake'), app('changed', { generation: 2 })]
  const before = { ...changed, generation: 1 }
  assert.deepEqual(
    changesOf({
      desired: [fresh, awake, changed],
      services: [serviceOf({ ...awake, replicas: 0 }), serviceOf(before)],
      secrets: [secretOf(awake), secretOf(before)],
    }),
    [
      ['new', 'create'],
      ['awake', 'scale'],
      ['changed', 'replace', 'removeSecret'],
    ],
  )
})

test('a record with a wrong id is planned like any other, and fails alone when it is made', () => {
  assert.deepEqual(changesOf({ desired: [app('../x'), app('one')] }), [
    ['../x', 'create'],
    ['one', 'create'],
  ])
})

test('what belongs to no app is removed: the service first, then its secrets', () => {
  const gone = app('gone')
  assert.deepEqual(changesOf({ services: [serviceOf(gone)], secrets: [secretOf(gone), secretOf(app('lost'))] }), [
    ['gone', 'remove', 'removeSecret'],
    ['lost', 'removeSecret'],
  ])
})

test('a service under another name with the labels of an app is removed', () => {
  const one = app('one', { replicas: 0 })
  const copy = serviceOf(one)
  const services = [serviceOf(one), { ...copy, ID: 'copy', Spec: { ...copy.Spec, Name: 'copy' } }]
  assert.deepEqual(changesOf({ desired: [one], services, secrets: [secretOf(one)] }), [['one', 'remove']])
})

test('where Swarm has given up, it is told to begin anew after a pause that grows', () => {
  const one = app('one')
  const given = { desired: [one], secrets: [secretOf(one)] }
  const crashed = [taskOf(one, 'failed', 'shutdown', 4000)]
  const retried = (retries: number, afterMs: number) =>
    changesOf({
      ...given,
      tasks: crashed,
      services: [serviceOf(one, { 'headland.retries': String(retries) })],
      now: START + 4000 + afterMs,
    }).length === 1
  for (const [retries, pause] of [5000, 10_000, 20_000, 40_000, 80_000, 160_000, PAUSE_MS.max].entries()) {
    assert.equal(retried(retries, pause - 1), false, `${retries}`)
    assert.equal(retried(retries, pause), true, `${retries}`)
  }
  assert.equal(retried(1000, PAUSE_MS.max), true)
})

test('a start that held for long begins the pauses anew', () => {
  const one = app('one')
  const [work] = planOf({
    cluster: CLUSTER,
    desired: [one],
    secrets: [secretOf(one)],
    services: [serviceOf(one, { 'headland.retries': '7' })],
    tasks: [taskOf(one, 'failed', 'shutdown', 3_600_000)],
    now: START + 3_600_000 + PAUSE_MS.first,
  })
  assert.deepEqual(work?.changes, [{ kind: 'retry', service: 'service-one', retries: 1 }])
})

test('while Swarm starts instances itself, nothing is done', () => {
  const one = app('one')
  const tasks = [taskOf(one, 'failed', 'shutdown'), taskOf(one, 'ready', 'ready', 1000)]
  const now = START + 3_600_000
  assert.deepEqual(changesOf({ desired: [one], services: [serviceOf(one)], secrets: [secretOf(one)], tasks, now }), [])
})
