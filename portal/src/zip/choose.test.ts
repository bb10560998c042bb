import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commonFolder, isArchive, isLeftOut, isPacked } from './choose.ts'

test('packages, history and the notes of file managers are left out, at any depth', () => {
  for (const path of ['node_modules/a/index.js', 'apps/web/node_modules/b.js', '.git/HEAD', 'src/.DS_Store'])
    assert.ok(isLeftOut(path), path)
  for (const path of ['src/node_modules.ts', '.github/ci.yml', '.gitignore', '.env', 'my.git/x', 'src/index.js'])
    assert.ok(!isLeftOut(path), path)
})

test('one folder around everything is taken off, and only that one', () => {
  assert.equal(commonFolder(['app/package.json', 'app/src/index.js']), 'app/')
  assert.equal(commonFolder(['app/package.json', 'apps/index.js']), '')
  assert.equal(commonFolder(['index.html', 'style.css']), '')
  assert.equal(commonFolder(['app/src/only.js']), 'app/')
  assert.equal(commonFolder([]), '')
})

test('what is compressed already is not compressed again', () => {
  assert.ok(isPacked('a/photo.JPG') && isPacked('font.woff2'))
  assert.ok(!isPacked('index.js') && !isPacked('zip'))
})

test('a zip is an archive, whatever its case', () => {
  assert.deepEqual(['a.zip', 'B.ZIP', 'a.zip.txt', 'zip'].map(isArchive), [true, true, false, false])
})
