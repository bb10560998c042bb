import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  countsOf,
  hasChanges,
  listOf,
  NOTHING,
  rowsOf,
  withAdded,
  withAddedChanged,
  withImported,
  withKind,
  withoutAdded,
  withoutChange,
  withRemoved,
  withValue,
} from './draft.ts'

const KEYS = ['A', 'B', 'C']
const entry = (key: string, value: string) => ({ line: 1, key, value })

test('what is sent is the whole list, and a value only where it is new', () => {
  let draft = withValue(NOTHING, 'A', '1')
  draft = withRemoved(draft, 'B')
  draft = withAdded(draft, { id: 'n', key: 'D', value: '' })
  assert.deepEqual(listOf(KEYS, draft), {
    variables: [{ key: 'A', value: '1' }, { key: 'C' }, { key: 'D', value: '' }],
    ids: ['key:A', 'key:C', 'n'],
  })
  assert.deepEqual(countsOf(KEYS, draft), { added: 1, changed: 1, removed: 1 })
})

test('a change can be taken back, whichever it was', () => {
  const changed = withRemoved(withValue(NOTHING, 'A', '1'), 'A')
  assert.deepEqual(rowsOf(KEYS, changed)[0], { id: 'key:A', key: 'A', state: 'removed' })
  assert.deepEqual(withoutChange(changed, 'A'), NOTHING)
  assert.equal(rowsOf(KEYS, withValue(changed, 'A', '2'))[0]?.state, 'changed')
  assert.ok(!hasChanges(withoutAdded(withAdded(NOTHING, { id: 'n', key: '', value: '' }), 'n')))
})

test('the value that it has already is no change, where it is known', () => {
  assert.ok(!hasChanges(withValue(NOTHING, 'A', 'same', 'same')))
  assert.ok(hasChanges(withValue(NOTHING, 'A', '', undefined)), 'an empty value is a value')
})

test('what others save meanwhile is kept, and what they remove comes back only if it was changed here', () => {
  const draft = withRemoved(withValue(NOTHING, 'A', '1'), 'B')
  assert.deepEqual(listOf(['C', 'NEW'], draft).variables, [{ key: 'C' }, { key: 'NEW' }, { key: 'A', value: '1' }])
  assert.deepEqual(countsOf(['C', 'NEW'], draft), { added: 0, changed: 1, removed: 0 })
})

test('a row that is still empty is not sent, and one without a name is', () => {
  let draft = withAdded(NOTHING, { id: 'n', key: '', value: '' })
  assert.deepEqual(listOf([], draft).variables, [])
  draft = withAddedChanged(draft, 'n', { value: 'x' })
  assert.deepEqual(listOf([], draft).variables, [{ key: '', value: 'x' }])
})

test('an import changes what is there, adds what is new, and fills rows that were begun', () => {
  const before = new Map<string, string | undefined>([
    ['A', 'one'],
    ['B', undefined],
  ])
  let draft = withRemoved(NOTHING, 'A')
  draft = withAdded(withAdded(draft, { id: 'x', key: 'NEW', value: '' }), { id: 'y', key: '', value: '' })
  const imported = withImported(
    draft,
    before,
    [entry('A', 'one'), entry('B', 'two'), entry('NEW', 'n'), entry('D', 'd')],
    () => 'z',
  )
  assert.deepEqual(imported, {
    values: { B: 'two' },
    kinds: {},
    removed: [],
    added: [
      { id: 'x', key: 'NEW', value: 'n' },
      { id: 'z', key: 'D', value: 'd' },
    ],
  })
})

test('a kind is sent where it is new or chosen, with a value or without', () => {
  let draft = withKind(NOTHING, 'A', 'SECRET', 'PLAIN')
  draft = withKind(withValue(draft, 'B', '2'), 'B', 'PLAIN', 'SECRET')
  draft = withAdded(draft, { id: 'n', key: 'D', value: 'd', kind: 'PLAIN' })
  assert.deepEqual(listOf(KEYS, draft).variables, [
    { key: 'A', kind: 'SECRET' },
    { key: 'B', kind: 'PLAIN', value: '2' },
    { key: 'C' },
    { key: 'D', kind: 'PLAIN', value: 'd' },
  ])
  assert.deepEqual(countsOf(KEYS, draft), { added: 1, changed: 2, removed: 0 })
  assert.equal(rowsOf(KEYS, withValue(draft, 'B', '3'))[1]?.kind, 'PLAIN', 'what is typed then leaves the kind')
})

test('the kind that it has already is no change, and a removed one has none', () => {
  const draft = withKind(NOTHING, 'A', 'SECRET', 'PLAIN')
  assert.ok(!hasChanges(withKind(draft, 'A', 'PLAIN', 'PLAIN')))
  assert.deepEqual(withoutChange(withRemoved(draft, 'A'), 'A'), NOTHING)
})

test('a kind alone does not bring back what another user removed', () => {
  const draft = withKind(NOTHING, 'A', 'SECRET', 'PLAIN')
  assert.deepEqual(listOf(['B'], draft).variables, [{ key: 'B' }])
})

test('names that objects have by themselves are not taken for changes', () => {
  assert.deepEqual(
    rowsOf(['constructor', 'toString'], NOTHING).map(({ state }) => state),
    ['kept', 'kept'],
  )
})
