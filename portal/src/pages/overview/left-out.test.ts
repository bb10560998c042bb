import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inWords } from './left-out.ts'

test('the first few are named, and the others counted', () => {
  assert.equal(inWords({ names: [], count: 0 }), '')
  assert.equal(inWords({ names: ['.git/', '.env'], count: 2 }), '.git/, .env')
  assert.equal(inWords({ names: ['a', 'b', 'c', 'd', 'e', 'f', 'g'], count: 2007 }), 'a, b, c, d, e, f and 2,001 more')
})
