import assert from 'node:assert/strict'
import { test } from 'node:test'
import { currentBoot, isSameBoot } from './marker.ts'

test('the boot is the same as long as the machine runs', () => {
  assert.ok(isSameBoot(currentBoot(), currentBoot()))
  assert.ok(currentBoot().length > 8)
})

test('where a boot has no name its time counts, and a little inaccuracy does not', () => {
  assert.ok(isSameBoot('since 1700000000000', 'since 1700000002000'))
  assert.ok(!isSameBoot('since 1700000000000', 'since 1700000060000'))
  assert.ok(!isSameBoot('since 1700000000000', 'since '))
  assert.ok(!isSameBoot('since x', 'since x'))
  assert.ok(!isSameBoot('since 1700000000000', '1700000000000'))
  assert.ok(!isSameBoot('boot-1', 'boot-2'))
})
