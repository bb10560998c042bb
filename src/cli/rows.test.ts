import assert from 'node:assert/strict'
import { test } from 'node:test'
import { factsOf, printList, when } from './rows.ts'
import type { Terminal } from './terminal.ts'

function recorded() {
  const [printed, said]: [string[], string[]] = [[], []]
  const terminal = { print: (text: string) => printed.push(text), say: (text: string) => said.push(text) }
  return { printed, said, terminal: terminal as unknown as Terminal }
}

const form = { row: ({ name }: { name: string }) => ({ name, kind: 'app' }), empty: 'None yet.' }

test('rows are columns under headings, and nobody else writes across a line', () => {
  const { printed, terminal } = recorded()
  printList({ terminal, options: {} }, [{ name: 'a\x1b[2J\nb' }, { name: 'shop' }], form)
  assert.deepEqual(printed, ['NAME  KIND\na b   app\nshop  app'])
})

test('with --json a list is an array, also an empty one; without, people are told what to do', () => {
  const { printed, said, terminal } = recorded()
  printList({ terminal, options: { json: true } }, [], form)
  printList({ terminal, options: {} }, [], form)
  assert.deepEqual([printed, said], [['[]'], ['None yet.']])
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
