/** The words of the field instead of words of our own. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isMigration } from '../support/architecture/tables.ts'
import { sourcesIn } from '../support/architecture/tree.ts'
import { RETIRED, retiredWords } from '../support/architecture/words.ts'

test('no file of src/ and portal/src/ has a retired word, in its text or its name', async () => {
  const sources = await sourcesIn('src', 'portal/src')
  // Migrations are recorded as they were run.
  assert.deepEqual(retiredWords(sources.filter(({ path }) => !isMigration(path))), [])
})

const BROKEN = [
  'const bytesMost = 1',
  'const KEYS_MOST = 1',
  '// whoever asks first',
  "throw new Error('There is no room on the disk')",
  'type Room = {}',
  'const shelfOf = 1',
  'function makeCage() {}',
  '/** Nobody waits. */',
  'const patienceMs = 5',
  'const buildLane = 1',
  '// His cookie',
]

for (const text of BROKEN) {
  test(`the rules refuse: ${text}`, () => {
    assert.equal(retiredWords([{ path: 'src/a.ts', text }]).length, 1)
  })
}

test('the rules refuse a retired word in the name of a file', () => {
  assert.equal(retiredWords([{ path: 'src/edge/lane-request.ts', text: '' }]).length, 1)
})

test('the rules allow ordinary words that look like retired ones', () => {
  const text = `const a = Math.floor(1)\nconst atMost = 2 // at most, almost\nlet plane = 'history'\nconst warehouse = 'broom'`
  assert.deepEqual(retiredWords([{ path: 'src/a.ts', text }]), [])
})

test('every retired word names the word to use instead', () => {
  for (const { word, instead } of RETIRED) assert.ok(instead.length > 0, word)
})
