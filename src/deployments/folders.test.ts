import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFolders } from './folders.ts'

const folders = createFolders('/data', { canChooseUsers: true })

test('an environment whose user is no tenant, or who has none, is given nothing', () => {
  for (const uid of [0, 1000, 65_534, -1])
    assert.throws(() => folders.userOf({ uid }), /is not the user of an environment/)
  assert.throws(() => folders.userOf({ uid: null }), /has no user/)
  assert.deepEqual(folders.userOf({ uid: 200_001 }), { uid: 200_001, gid: 200_001 })
})

test('an id that leads elsewhere is the name of no folder', () => {
  for (const id of ['..', '.', '', '../outputs', 'a/../..', '/etc', 'a\0b']) {
    for (const path of [folders.work, folders.run]) {
      assert.throws(() => path(id, 'build'), /an id must be/)
      assert.throws(() => path('environment', id), /an id must be/)
    }
    for (const path of [folders.values, folders.runs, folders.cacheOf]) assert.throws(() => path(id), /an id must be/)
  }
  assert.equal(folders.work('environment', 'build'), '/data/environments/environment/work/build')
})
