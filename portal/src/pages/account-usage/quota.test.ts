import assert from 'node:assert/strict'
import { test } from 'node:test'
import { quotaOf } from './quota.ts'

const GIB = 1024 ** 3

test('an account sees how much of its disk quota is used', () => {
  assert.deepEqual(quotaOf({ bytes: 5 * GIB, limitBytes: 20 * GIB }), {
    share: 0.25,
    state: 'well',
    words: '5.0 GB of 20 GB, 25.0%',
  })
})

test('it is warned before it is full, and when it is', () => {
  assert.equal(quotaOf({ bytes: 17 * GIB, limitBytes: 20 * GIB }).state, 'near')
  const full = quotaOf({ bytes: 21 * GIB, limitBytes: 20 * GIB })
  assert.deepEqual([full.state, full.share, full.words], ['over', 1, '21.0 GB of 20 GB, 100%'])
})

test('without a limit nothing is near it', () => {
  assert.deepEqual(quotaOf({ bytes: 5 * GIB, limitBytes: 0 }), {
    share: 0,
    state: 'none',
    words: '5.0 GB, without a limit',
  })
})
