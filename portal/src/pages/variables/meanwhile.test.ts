import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listOf, NOTHING, withAdded, withRemoved, withValue } from './draft.ts'
import { type Base, changesBetween, onTopOf } from './meanwhile.ts'

const base = (etags: Record<string, string>): Base => ({ etag: '', keys: Object.keys(etags), etags })

test('what was added, changed and deleted meanwhile is listed, and what both changed is marked', () => {
  let draft = withValue(NOTHING, 'CHANGED', 'mine')
  draft = withRemoved(draft, 'DELETED')
  draft = withAdded(draft, { id: 'n', key: 'ADDED', value: 'mine' })
  const before = base({ KEPT: '1', CHANGED: '1', DELETED: '1', OTHER: '1' })
  const now = base({ KEPT: '1', CHANGED: '2', OTHER: '2', ADDED: '1', NEW: '1' })
  assert.deepEqual(changesBetween(before, now, draft), [
    { key: 'ADDED', what: 'added', isMine: true },
    { key: 'CHANGED', what: 'changed', isMine: true },
    { key: 'DELETED', what: 'deleted', isMine: true },
    { key: 'NEW', what: 'added', isMine: false },
    { key: 'OTHER', what: 'changed', isMine: false },
  ])
  assert.deepEqual(changesBetween(before, before, draft), [])
})

test('names that every object has, such as constructor, are listed as well', () => {
  assert.deepEqual(changesBetween(base({}), base({ constructor: '1' }), NOTHING), [
    { key: 'constructor', what: 'added', isMine: false },
  ])
  assert.deepEqual(changesBetween(base({ toString: '1' }), base({}), NOTHING), [
    { key: 'toString', what: 'deleted', isMine: false },
  ])
})

test('changes are laid over what is there now: mine win where both changed the same, and theirs stay elsewhere', () => {
  let draft = withValue(NOTHING, 'A', 'mine')
  draft = withRemoved(draft, 'GONE')
  draft = withAdded(draft, { id: 'n', key: 'BOTH', value: 'mine', kind: 'PLAIN' })
  draft = withAdded(draft, { id: 'm', key: 'NEW', value: 'mine' })
  const now = base({ THEIRS: '1', BOTH: '1' })
  assert.deepEqual(listOf(now.keys, onTopOf(now, draft)).variables, [
    { key: 'THEIRS' },
    { key: 'BOTH', kind: 'PLAIN', value: 'mine' },
    { key: 'A', value: 'mine' },
    { key: 'NEW', value: 'mine' },
  ])
})
