import assert from 'node:assert/strict'
import { test } from 'node:test'
import { didYouMean, nearest } from './nearest.ts'

test('a typing mistake is recognized: a character wrong, missing, too many, or swapped with the next', () => {
  const there = ['production', 'staging', 'preview']
  for (const slip of ['prodction', 'prodduction', 'prodcution', 'pruduction', 'Production', 'PRODUCTION', 'prod'])
    assert.deepEqual(nearest(slip, there), ['production'], slip)
  assert.deepEqual(nearest('--environment', ['--env', '--app']), ['--env'])
  assert.deepEqual(nearest('delpoy', ['deploy', 'deployments', 'domains']), ['deploy'])
})

test('a different name is no mistake: other words, other numbers, a longer name with a part of its own', () => {
  assert.deepEqual(nearest('shop', ['blog', 'docs', 'api']), [])
  assert.deepEqual(nearest('preview-13', ['preview-12', 'preview']), [])
  assert.deepEqual(nearest('staging2', ['staging']), [])
  assert.deepEqual(nearest('preview-of-ann', ['preview']), [])
  assert.deepEqual(nearest('production', ['production']), [], 'what is there is not a suggestion')
  assert.deepEqual(nearest('', ['a', 'b']), [])
})

test('the nearest comes first, and there are three at most', () => {
  assert.deepEqual(nearest('stagin', ['staging', 'staling', 'stabling', 'saying']), ['staging', 'staling'])
  assert.equal(nearest('abcdef', ['abcdex', 'abcdey', 'abcdez', 'abcdev']).length, 3)
})

test('a suggestion is one line, whatever a service calls its things', () => {
  assert.equal(didYouMean('prod', ['zzz']), '')
  assert.equal(didYouMean('Prodction', ['Production']), " Did you mean 'Production'?")
  assert.equal(didYouMean('builds shwo', ['builds show']), " Did you mean 'builds show'?")
  const message = didYouMean('production', ['produc\x1b[2Jtion', 'product\nion', 'productio\u202en'])
  assert.doesNotMatch(message, /[[\p{Cc}\p{Cf}]--[ ]]/v)
})

test('names without end, and endless names, are not compared', () => {
  assert.deepEqual(nearest('x'.repeat(200), ['x'.repeat(199)]), [])
  assert.deepEqual(nearest('production', ['productio'.padEnd(100_000, 'n')]), [])
  const many = Array.from({ length: 1_000_000 }, (_, index) => (index === 999_999 ? 'production' : 'other'))
  assert.deepEqual(nearest('prodction', many), [])
})
