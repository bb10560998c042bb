import assert from 'node:assert/strict'
import { test } from 'node:test'
import { handClock } from '../../test/support/clock.ts'
import { desiredApp } from '../../test/support/swarm/desired.ts'
import { createLog } from '../base/index.ts'
import { createDocker } from './docker/client.ts'
import type { Service } from './docker/types.ts'
import { createReconciler } from './reconciler.ts'
import { specOf } from './service/spec.ts'

const CLUSTER = 'c'
const APP = desiredApp({ deployment: 'asleep', replicas: 0 })
const SERVICE: Service = {
  ID: 'service',
  Version: { Index: 1 },
  UpdatedAt: '2026-01-01T00:00:00Z',
  Spec: specOf(APP, { cluster: CLUSTER, secrets: [] }),
}

/** Runs for so many seconds on a swarm whose one app sleeps. Returns how often each list was asked for. */
async function runFor(seconds: number, desired = async () => [APP]) {
  const asked = { services: 0, tasks: 0 }
  const clock = handClock()
  const stopping = new AbortController()
  const reconciler = createReconciler({
    docker: {
      ...createDocker({ address: { socketPath: '/nowhere' } }),
      services: async () => {
        asked.services += 1
        return [SERVICE]
      },
      tasks: async () => {
        asked.tasks += 1
        return []
      },
      nodes: async () => [],
      secrets: async () => [],
    },
    cluster: CLUSTER,
    clock,
    log: createLog('silent'),
    desired,
    variables: async () => ({}),
    observe: async () => undefined,
    mayWrite: async () => true,
  })
  const running = reconciler.run(stopping.signal)
  for (let second = 0; second < seconds; second++) await clock.advance(1000)
  stopping.abort()
  await running
  return asked
}

test('tasks are listed every five seconds, and services, of which there are many, every thirty', async () => {
  assert.deepEqual(await runFor(59), { services: 2, tasks: 12 })
})

test('a round that failed is made again after five seconds, not with the next one about everything', async () => {
  let calls = 0
  const failingFirst = async () => {
    if (++calls === 1) throw new Error('the database is away')
    return [APP]
  }
  assert.deepEqual(await runFor(9, failingFirst), { services: 2, tasks: 2 })
})
