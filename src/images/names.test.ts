import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkRepository, repositoryOf, tagOf } from './names.ts'

for (const [app, expected] of [
  ['shop', 'prefix/acme/shop'],
  ['Shop', 'prefix/acme/shop'],
  ['my-shop_2', 'prefix/acme/my-shop_2'],
] as const)
  test(`the repository of the app ${app} is ${expected}`, () => {
    assert.equal(repositoryOf('prefix', 'acme', app), expected)
  })

test('names that a registry does not allow get a digest, and stay apart', () => {
  const names = ['a___b', 'a-_b', 'a_-b', 'ab-', 'ab_'].map((app) => repositoryOf('', 'acme', app))
  for (const name of names) assert.equal(checkRepository(name), name)
  assert.equal(new Set(names).size, names.length)
})

for (const name of ['', '..', 'a/../b', 'a//b', '/a', 'a/', 'A', 'a?b', 'a b', 'a/b:c'])
  test(`${JSON.stringify(name)} is not taken for a repository`, () => {
    assert.throws(() => checkRepository(name), /not a repository/)
  })

test('the tag of an output is one that registries allow', () => {
  assert.match(tagOf(`sha256:${'a'.repeat(64)}`), /^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$/)
})
