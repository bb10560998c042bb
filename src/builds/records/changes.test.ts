import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type BuildFacts, changesSince, describeChanges } from './changes.ts'

const GOOD: BuildFacts = {
  archive: 'a1',
  node: '24.21.0',
  packageManager: 'npm 11.6.2',
  lockfile: 'l1',
  variables: { CMS_URL: 'u1', TOKEN: 't1' },
  rootDirectory: '',
  files: { 'package.json': 'p1', 'src/a.js': 'x1' },
  isClean: false,
}

const describe = (now: Partial<BuildFacts>, lastGood: Partial<BuildFacts> = {}): string[] =>
  describeChanges(changesSince({ ...GOOD, ...now }, { ...GOOD, ...lastGood }))

test('where nothing is different, the reader is sent to what the service cannot see', () => {
  assert.deepEqual(changesSince(GOOD, GOOD), [])
  assert.deepEqual(describe({}), [
    'No known input changed since the last good build: look at the CMS, the registry or other services that it uses.',
  ])
})

test('another Node.js is described with both versions', () => {
  assert.deepEqual(describe({ node: '26.1.0' }), ['Node.js changed from 24.21.0 to 26.1.0.'])
})

test('another package manager is described with both', () => {
  assert.deepEqual(describe({ packageManager: 'pnpm 10.34.9' }), [
    'The package manager changed from npm 11.6.2 to pnpm 10.34.9.',
  ])
})

test('another root directory is described, and the top of the archive is none', () => {
  assert.deepEqual(describe({ rootDirectory: 'web' }), ['The root directory changed from none to web.'])
})

test('new, removed and changed lockfiles are distinguished', () => {
  assert.deepEqual(describe({}, { lockfile: null }), ['The lockfile was added.'])
  assert.deepEqual(describe({ lockfile: null }), ['The lockfile was removed.'])
  assert.deepEqual(describe({ lockfile: 'l2' }), ['The lockfile was changed.'])
})

test('variables are described by name and never by value', () => {
  const now = { variables: { CMS_URL: 'u2-secret', PREVIEW: 'p-secret' } }
  assert.deepEqual(describe(now), ['Shell variables: added PREVIEW; removed TOKEN; changed CMS_URL.'])
})

test('source files are described as added, removed or changed', () => {
  const now = { archive: 'a2', files: { 'package.json': 'p2', 'src/b.js': 'y1' } }
  assert.deepEqual(describe(now), ['Source files: added 1 (src/b.js); removed 1 (src/a.js); changed 1 (package.json).'])
})

test('of many files all are counted and the first ten named', () => {
  const files = Object.fromEntries(Array.from({ length: 50_000 }, (_, number) => [`f${10_000 + number}`, 'x']))
  const [change] = changesSince({ ...GOOD, archive: 'a2', files }, { ...GOOD, files: {} })
  assert.ok(change?.what === 'files')
  assert.equal(change.added.count, 50_000)
  assert.equal(change.added.names.length, 10)
  assert.match(describeChanges([change])[0] ?? '', /^Source files: added 50000 \(f10000, .* and 49990 more\)\.$/)
})

test('the same files in another archive are no change', () => {
  assert.deepEqual(changesSince({ ...GOOD, archive: 'a2' }, GOOD), [])
})

test('another archive whose files were not kept is described as changed', () => {
  assert.deepEqual(describe({ archive: 'a2', files: null }), ['The archive changed.'])
})

test('a build without caches after one with them is described', () => {
  assert.deepEqual(describe({ isClean: true }), ['This build began without caches, the last good one with them.'])
})

test('a name that every object has is a name like any other', () => {
  assert.deepEqual(describe({ variables: { ...GOOD.variables, constructor: 'c' } }), [
    'Shell variables: added constructor.',
  ])
})

test('several changes come in one order, whatever they are', () => {
  const changes = changesSince({ ...GOOD, isClean: true, lockfile: 'l2', node: '26.1.0' }, GOOD)
  assert.deepEqual(
    changes.map(({ what }) => what),
    ['node', 'lockfile', 'caches'],
  )
})

test('of very many variables some are named, and the others counted', () => {
  const many = Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`V${at}`, '']))
  const [sentence = ''] = describe({ variables: { ...GOOD.variables, ...many } })
  assert.match(sentence, /and 4980 more\.$/)
  assert.ok(sentence.length < 500)
})
