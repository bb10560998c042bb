import assert from 'node:assert/strict'
import { test } from 'node:test'
import { usedBytes } from './memory.ts'

test('what an app uses are its own pages and what it keeps in memory folders, without copies of files', () => {
  assert.equal(usedBytes({ stats: { anon: 30, shmem: 5, file: 700, inactive_file: 600 } }), 35)
})

test('it is the same with the first version of control groups', () => {
  assert.equal(usedBytes({ stats: { rss: 1, total_rss: 30, total_shmem: 5, total_cache: 700 } }), 35)
})

test('what the engine does not tell is not known', () => {
  assert.equal(usedBytes({}), undefined)
})
