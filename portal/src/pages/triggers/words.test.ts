import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PROBLEMS } from '../../../../src/contract/index.ts'
import { purgedInWords, REASONS, reasonInWords, sourceIn } from './words.ts'

test('every reason that has words is one of the contract', () => {
  assert.deepEqual(
    Object.keys(REASONS).filter((reason) => !Object.hasOwn(PROBLEMS, reason)),
    [],
  )
  assert.equal(reasonInWords('toString'), undefined)
})

test('an address that asks for a source there is not asks for all', () => {
  assert.equal(sourceIn('API'), 'API')
  for (const given of [null, '', 'api', 'constructor', '<script>']) assert.equal(sourceIn(given), undefined)
})

test('a purge is told by its first paths and tags, and how many more there were', () => {
  assert.deepEqual(purgedInWords({ count: 0 }), { all: 'everything' })
  assert.deepEqual(purgedInWords({ paths: ['/a'], tags: ['posts'], count: 2 }), { first: ['/a', 'tag posts'], rest: 0 })
  assert.deepEqual(purgedInWords({ paths: ['/a', '/b', '/c', '/d'], count: 40 }), {
    first: ['/a', '/b', '/c'],
    rest: 37,
  })
})
