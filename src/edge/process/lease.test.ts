import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLease } from './lease.ts'

test('a lease lasts as long as its renewal says, from the sending of that on', () => {
  let now = 1000
  const lease = createLease(() => now)
  assert.equal(lease.isCurrent(), false)
  lease.renewed(900, 500)
  now = 1399
  assert.equal(lease.isCurrent(), true)
  now = 1400
  assert.equal(lease.isCurrent(), false)
})

test('a renewal that was sent earlier, or is for a shorter time, does not shorten it', () => {
  let now = 1000
  const lease = createLease(() => now)
  lease.renewed(1000, 500)
  lease.renewed(1100, 100)
  now = 1499
  assert.equal(lease.isCurrent(), true)
})
