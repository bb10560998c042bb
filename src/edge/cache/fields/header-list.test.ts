import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fieldOf, firstOf, membersOf, requestField } from './header-list.ts'

const HEADERS = ['Vary', 'Accept', 'ETag', '"a"', 'VARY', 'Cookie', 'Empty', '']

test('all lines of a field are one list, whatever the case of its name', () => {
  assert.equal(fieldOf(HEADERS, 'vary'), 'Accept, Cookie')
  assert.equal(fieldOf(HEADERS, 'etag'), '"a"')
})

test('an absent field is something else than an empty one', () => {
  assert.equal(fieldOf(HEADERS, 'age'), undefined)
  assert.equal(fieldOf(HEADERS, 'empty'), '')
  assert.equal(fieldOf([], 'vary'), undefined)
})

test('a value is never taken for a name, nor a name of the same length for another', () => {
  assert.equal(fieldOf(['x', 'vary', 'vara', '1', '_ary', '2'], 'vary'), undefined)
  // Their codes differ by the same bit as those of letters in both cases do.
  assert.equal(fieldOf(['\x0Dtag', '1', '[tag', '2'], '-tag'), undefined)
})

test('of a field with one value by definition the first line counts', () => {
  assert.equal(firstOf(['Age', '1', 'age', '2'], 'age'), '1')
  assert.equal(firstOf(['Date', 'now'], 'age'), undefined)
})

test('a list has no empty members', () => {
  assert.deepEqual(membersOf(' a,, b ,\tc,'), ['a', 'b', 'c'])
  assert.deepEqual(membersOf(' , '), [])
})

test('lines of a request that node:http leaves apart are one list', () => {
  assert.equal(requestField({ a: ['1', '2'] }, 'a'), '1, 2')
  assert.equal(requestField({ a: '1' }, 'a'), '1')
  assert.equal(requestField({}, 'a'), undefined)
})
