import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EXIT } from '../contract/index.ts'
import { CallFailed } from './connection/failures.ts'
import { changeWithEtag } from './etag-change.ts'

const outdated = () => new CallFailed({ status: 409, reason: 'ETAG_MISMATCH', message: 'changed' })

/** A set of words with a version; `others` change it between a read and the next write. */
function shared(words: string[], others: ((words: string[]) => string[])[] = []) {
  let state = { words, etag: 0 }
  const asked: number[] = []
  return {
    asked,
    now: () => state.words,
    read: async () => state,
    async write(next: string[], etag: number) {
      asked.push(etag)
      const other = others.shift()
      if (other) state = { words: other(state.words), etag: state.etag + 1 }
      if (etag !== state.etag) throw outdated()
      state = { words: next, etag: state.etag + 1 }
      return state.words
    },
  }
}

test('a change is made to what others left, and theirs stay', async () => {
  const list = shared(['a'], [(words) => [...words, 'b'], (words) => words.filter((word) => word !== 'a')])
  const after = await changeWithEtag({
    first: await list.read(),
    read: list.read,
    write: ({ words, etag }) => list.write([...words, 'mine'], etag),
    maxPauseMs: 0,
  })
  assert.deepEqual(after, ['b', 'mine'])
  assert.deepEqual(list.asked, [0, 1, 2], 'each time with the version that was read last')
})

test('where both changed the same field, nothing is written, and the error names the field', async () => {
  const list = shared(['a'], [(words) => [...words, 'b']])
  const change = changeWithEtag({
    first: await list.read(),
    read: list.read,
    write: ({ words, etag }) => list.write([...words, 'mine'], etag),
    clash: (first, now) => now.words.filter((word) => !first.words.includes(word)),
    maxPauseMs: 0,
  })
  await assert.rejects(change, {
    reason: 'ETAG_MISMATCH',
    exitCode: EXIT.caller,
    message: 'Another request changed b at the same moment. Nothing of yours was changed.',
  })
  assert.deepEqual(list.now(), ['a', 'b'])
})

test('a service that always says that others were faster is asked a bounded number of times', async () => {
  let asked = 0
  const change = changeWithEtag({
    first: {},
    read: async () => ({}),
    async write() {
      asked += 1
      throw outdated()
    },
    maxPauseMs: 0,
  })
  await assert.rejects(change, { reason: 'ETAG_MISMATCH', message: /^Others changed it 12 times meanwhile/ })
  assert.equal(asked, 12)
})

test('any other failure ends it at once', async () => {
  let asked = 0
  const change = changeWithEtag({
    first: {},
    read: async () => ({}),
    async write() {
      asked += 1
      throw new CallFailed({ status: 409, reason: 'DOMAIN_TAKEN', message: 'taken' })
    },
  })
  await assert.rejects(change, { reason: 'DOMAIN_TAKEN' })
  assert.equal(asked, 1)
})
