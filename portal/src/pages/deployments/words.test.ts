import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Deployment } from '../../api/types.ts'
import { activationWord, deploymentState, whyNot } from './words.ts'

const deployment = (given: Partial<Deployment>) =>
  ({ state: 'RETIRED', activatable: true, createTime: '2026-01-02T00:00:00Z', ...given }) as Deployment

test('an older deployment is rolled back to, a newer one is made live', () => {
  const live = deployment({ state: 'LIVE' })
  assert.equal(activationWord(deployment({ createTime: '2026-01-01T00:00:00Z' }), live), 'Roll back to this')
  assert.equal(activationWord(deployment({ createTime: '2026-01-03T00:00:00Z' }), live), 'Make live')
  assert.equal(activationWord(deployment({}), undefined), 'Make live')
})

test('whatever cannot be made live says why, and what can says nothing', () => {
  assert.equal(whyNot(deployment({})), '')
  const others = (['STARTING', 'FAILED', 'RETIRED'] as const).map((state) =>
    whyNot(deployment({ state, activatable: false })),
  )
  assert.equal(new Set(others).size, 3)
  assert.ok(others.every((words) => words !== ''))
})

test('an app that keeps crashing is not called well because it is live', () => {
  const shown = deploymentState(
    deployment({ state: 'LIVE', instance: { state: 'CRASH_LOOP', running: 0, restarts: 9 } }),
  )
  assert.equal(shown.tone, 'bad')
})
