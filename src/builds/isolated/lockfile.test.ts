import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { holds } from '../../../test/support/fuzz.ts'
import { parseLockfile } from './lockfile.ts'

const PLATFORM = { os: 'linux', cpu: 'arm64', libc: 'glibc' } as const

const parse = (value: unknown) => parseLockfile(JSON.stringify(value), PLATFORM)

test('a lockfile with a checksum for all that comes from elsewhere is pinned', () => {
  const packages = {
    '': {},
    'packages/a': {},
    'node_modules/a': { link: true },
    'node_modules/b': { integrity: 'sha512-x' },
    'node_modules/b/node_modules/c': { inBundle: true },
  }
  assert.equal(parse({ packages }).isPinned, true)
  assert.equal(parse({ packages: { ...packages, 'node_modules/d': {} } }).isPinned, false)
})

test('entries of a lockfile that are none pin nothing', () => {
  for (const entry of [null, 1, 'a', [], true])
    assert.equal(parse({ packages: { 'node_modules/a': entry } }).isPinned, false)
})

test('a lockfile that says nothing pins nothing and asks for nothing', () => {
  for (const text of [
    '',
    'null',
    '[]',
    '{"lockfileVersion":1,"dependencies":{}}',
    '{"packages":{"":null,"a":{"os":7}}}',
  ])
    assert.deepEqual(parseLockfile(text, PLATFORM), { isPinned: false, natives: [], tarballs: [] }, text)
})

test('a package counts once by its SHA-512, which may be one of several checksums', () => {
  const digest = 'ab'.repeat(64)
  const sha512 = `sha512-${Buffer.from(digest, 'hex').toString('base64')}`
  const tarballsOf = (...checksums: unknown[]) =>
    parse({ packages: Object.fromEntries(checksums.map((integrity, at) => [`node_modules/${at}`, { integrity }])) })
      .tarballs
  assert.deepEqual(tarballsOf(sha512, `sha1-x ${sha512}?a`, sha512), [digest])
  for (const none of [sha512.slice(0, -1), `x${sha512}`, `${sha512}x`, 'sha512-../../x', 'sha1-x', 7, null])
    assert.deepEqual(tarballsOf(none), [], String(none))
})

const path = fc.oneof(
  fc.constantFrom('', 'node_modules/a', 'node_modules/a/node_modules/b', '../../etc/shadow', 'packages/a', '__proto__'),
  fc.string(),
)
const anything = fc.oneof(fc.jsonValue({ maxDepth: 3 }), fc.constant(null))
const names = fc.oneof(anything, fc.dictionary(fc.oneof(path, fc.constant('x-linux-arm64-gnu')), anything))
const field = fc.oneof(anything, fc.array(fc.constantFrom('linux', '!linux', 'arm64', 'musl')))
const entry = fc.oneof(
  anything,
  fc.record(
    {
      os: field,
      cpu: field,
      libc: field,
      optionalDependencies: names,
      integrity: anything,
      link: anything,
      inBundle: anything,
    },
    { requiredKeys: [] },
  ),
)
const lockfile = fc.oneof(anything, fc.record({ packages: fc.oneof(anything, fc.dictionary(path, entry)) }))

test('whatever stands in a lockfile, it is read, and what it asks for is inside', async () => {
  const property = fc.property(lockfile, (value) => {
    const { isPinned, natives } = parse(value)
    assert.equal(typeof isPinned, 'boolean')
    for (const place of natives.flatMap(({ parent, folder }) => [parent, folder]))
      assert.ok(place === null || !/^\/|(^|\/)\.{0,2}(\/|$)/.test(place), String(place))
  })
  await holds(property, 1000)
})
