import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { holds } from '../../../test/support/fuzz.ts'
import { printable, printableLine } from './terminal-text.ts'

const SEEN: [text: string, seen: string][] = [
  ['plain, é, 日本, 👍️', 'plain, é, 日本, 👍️'],
  ['\x1b[1;31mred\x1b[0m\x1b[2K', 'red'],
  ['\x1b]0;title\x07rest', '\\u001b]0;title\\u0007rest'],
  ['\u009b31m\u0085\x7f\0', '\\u009b31m\\u0085\\u007f\\u0000'],
  ['exe.\u202egpj\u2066', 'exe.\\u202egpj\\u2066'],
  ['a\u200bb\ufeff\u{e0041}', 'a\\u200bb\\ufeff\\udb40\\udc41'],
  ['one\r\ntwo\tthree\r', 'one\ntwo    three'],
  ['10%\r20%', '10%\\u000d20%'],
  ['half \ud800', 'half \\ud800'],
]

test('what a terminal would obey, turn round or not show is shown as an escape, and colours are taken out', () => {
  for (const [text, seen] of SEEN) assert.equal(printable(text), seen)
})

test('a text of one line has no other line in it', () => {
  assert.equal(printableLine('  a\n\nheadland: all is well\u2028x\x0by\r\n'), '  a headland: all is well x y')
})

/** Control characters except the line feed, and characters without width or that change the direction. */
const HIDDEN = /[[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]--\n]/v

test('whatever comes in, nothing hidden comes out, a second time changes nothing, and JSON stays the same value', () =>
  holds(
    fc.property(fc.oneof(fc.string({ unit: 'binary' }), terminalText), (text) => {
      const seen = printable(text)
      assert.doesNotMatch(seen, HIDDEN)
      assert.doesNotMatch(printableLine(text), /\n/)
      assert.equal(printable(seen), seen)
      assert.equal(JSON.parse(printable(JSON.stringify(text))), text)
    }),
    500,
  ))

const terminalText = fc
  .array(
    fc.oneof(fc.constantFrom('\x1b', '[', ']', '\x07', '\\', ';', 'm', 'J', '\u009b', '\u009d', '\u202e'), fc.string()),
  )
  .map((pieces) => pieces.join(''))
