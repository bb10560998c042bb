import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Counted, shownOf } from './ceilings.ts'

const counted = (kind: Counted['kind'], used: number, limit: number): Counted => ({ kind, used, limit })

test('what an account has is shown beside what it may have', () => {
  const { word, figure, share, state } = shownOf(counted('ENVIRONMENTS', 12, 1500))
  assert.deepEqual([word, figure, share, state], ['Environments', '12 of 1,500', 0.008, 'well'])
  assert.equal(shownOf(counted('FILES', 40_000, 2_000_000)).figure, '40,000 of 2,000,000')
  assert.equal(shownOf(counted('APP_MEMORY', 1024 ** 3 / 2, 8 * 1024 ** 3)).figure, '512 MB of 8 GB')
})

test('an account is warned before it is full, and when it is', () => {
  assert.equal(shownOf(counted('DOMAINS', 85, 100)).state, 'near')
  assert.equal(shownOf(counted('DOMAINS', 100, 100)).state, 'full')
  assert.equal(shownOf(counted('DOMAINS', 120, 100)).share, 1)
})

test('what comes and goes by itself is no warning, and without a limit nothing is near it', () => {
  assert.equal(shownOf(counted('RUNNING_BUILDS', 1, 1)).state, 'well')
  const { figure, share, state } = shownOf(counted('APPS', 3, 0))
  assert.deepEqual([figure, share, state], ['3, no limit', 0, 'well'])
})
