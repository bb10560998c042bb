import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isArchive, isPacked } from './choose.ts'

test('what is compressed already is not compressed again', () => {
  assert.ok(isPacked('a/photo.JPG') && isPacked('font.woff2'))
  assert.ok(!isPacked('index.js') && !isPacked('zip'))
})

test('a zip is an archive, whatever its case', () => {
  assert.deepEqual(['a.zip', 'B.ZIP', 'a.zip.txt', 'zip'].map(isArchive), [true, true, false, false])
})
