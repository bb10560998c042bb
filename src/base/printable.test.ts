import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { printable } from './printable.ts'

test('text of others has nothing left that a terminal acts upon', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
      assert.doesNotMatch(printable(text), /[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2028\u2029\u2066-\u2069]/)
    }),
  )
  assert.equal(printable('\x1b[2J\u009b1m\u202e'), '\\u{1b}[2J\\u{9b}1m\\u{202e}')
  assert.equal(printable('Grüße, 名前 🎉'), 'Grüße, 名前 🎉')
})
