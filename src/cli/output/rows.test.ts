import assert from 'node:assert/strict'
import { test } from 'node:test'
import { widthOf } from '../../contract/index.ts'
import { factsOf, printList, tableFor, when } from './rows.ts'
import type { Terminal } from './terminal.ts'

function recorded() {
  const [printed, messages]: [string[], string[]] = [[], []]
  const terminal = { print: (text: string) => printed.push(text), say: (text: string) => messages.push(text) }
  return { printed, messages, terminal: terminal as unknown as Terminal }
}

const form = { row: ({ name }: { name: string }) => ({ name, kind: 'app' }), empty: 'None yet.' }

test('rows are columns under headings, and no value breaks out of its line', () => {
  const { printed, terminal } = recorded()
  printList({ terminal, options: {} }, [{ name: 'a\x1b[2J\nb' }, { name: 'shop' }], form)
  assert.deepEqual(printed, ['NAME  KIND\na b   app\nshop  app'])
})

test('with --json a list is an array, also an empty one; without, an empty list is a hint on what to do', () => {
  const { printed, messages, terminal } = recorded()
  printList({ terminal, options: { json: true } }, [], form)
  printList({ terminal, options: {} }, [], form)
  assert.deepEqual([printed, messages], [['[]'], ['None yet.']])
})

test('facts that are not known are left out', () => {
  assert.equal(factsOf({ build: 'x', finished: undefined, tags: '', state: 'FAILED' }), 'build  x\nstate  FAILED')
})

const NOW = Date.parse('2025-06-01T12:00:00.000Z')
const AGO: [seconds: number, words: string][] = [
  [-3, 'just now'],
  [4, 'just now'],
  [42, '42 s ago'],
  [180, '3 min ago'],
  [5 * 3600, '5 h ago'],
  [3 * 86_400, '3 days ago'],
  [100 * 86_400, '2025-02-21'],
]

test('a time is for people how long ago it was', () => {
  for (const [seconds, words] of AGO) {
    assert.equal(when({ isShown: true }, new Date(NOW - seconds * 1000).toISOString(), NOW), words)
  }
})

test('a time is for programs the time itself, and nothing where there is none', () => {
  assert.equal(when({ isShown: false }, '2025-06-01T11:00:00.000Z', NOW), '2025-06-01T11:00:00.000Z')
  assert.equal(when({ isShown: true }, undefined, NOW), '')
})

const WIDE = [
  { build: 'b0d8d4ff', state: 'SUCCEEDED', reason: '', by: 'ada@example.com', message: 'Fix the header of all pages' },
  { build: '1a2b3c4d', state: 'FAILED', reason: '', by: 'webhook WordPress/6.9', message: '字字字' },
]

const NARROW = { shortened: ['message', 'by'], leftOut: ['state', 'message', 'by'] }

test('a person gets no empty column, and columns that fit: left out where it must be, and else shortened', () => {
  const at = (columns: number) => tableFor({ isShown: true, columns: () => columns }, WIDE, NARROW).split('\n')
  assert.deepEqual(at(100), [
    'BUILD     STATE      BY                     MESSAGE',
    'b0d8d4ff  SUCCEEDED  ada@example.com        Fix the header of all pages',
    '1a2b3c4d  FAILED     webhook WordPress/6.9  字字字',
  ])
  assert.equal(at(60)[1], 'b0d8d4ff  SUCCEEDED  ada@example.com        Fix the header…')
  assert.equal(at(49)[2], '1a2b3c4d  FAILED     webhook WordP…  字字字')
  assert.deepEqual(at(40), [
    'BUILD     BY                MESSAGE',
    'b0d8d4ff  ada@example.com   Fix the hea…',
    '1a2b3c4d  webhook WordPre…  字字字',
  ])
  assert.deepEqual(at(30), ['BUILD     BY', 'b0d8d4ff  ada@example.com', '1a2b3c4d  webhook WordPress/6…'])
  assert.equal(at(10)[1], 'b0d8d4ff')
})

test('a program gets every column as it is', () => {
  const text = tableFor({ isShown: false, columns: () => 20 }, WIDE, NARROW)
  assert.match(text, /^BUILD +STATE +REASON +BY +MESSAGE\n.*Fix the header of all pages\n/)
})

test('a wide character takes two columns, and one that joins takes none', () => {
  assert.deepEqual(['abc', '字a', '\u{1F600}', 'e\u0301', 'ﬀ'].map(widthOf), [3, 3, 2, 1, 1])
  // The text and the picture of a heart; a flag is two letters; half-width Katakana; a syllable in three parts; a full-width sign.
  assert.deepEqual(['❤', '❤\ufe0f', '🇫🇷', 'ｶ', '\u1112\u1161\u11ab', '￥'].map(widthOf), [1, 2, 2, 1, 2, 2])
})
