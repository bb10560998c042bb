import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withoutTrailingSlashes } from './slashes.ts'

test('slashes at the end of a path are taken off, and no others', () => {
  const paths = ['/news/', '/news///', '/news', '//a//b/', '/', '']
  assert.deepEqual(paths.map(withoutTrailingSlashes), ['/news', '/news', '/news', '//a//b', '', ''])
})

test('a path of a million slashes before another character is looked at once', () => {
  const path = `${'/'.repeat(1_000_000)}x`
  assert.equal(withoutTrailingSlashes(path), path)
})
