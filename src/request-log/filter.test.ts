import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFilter } from './filter.ts'

const request = (status: number, path = '/', id?: string) => ({ status, path, ...(id ? { id } : {}) })

test('a status is one or a class', () => {
  const isWanted = (status: string, of: number) => createFilter({ status })(request(of))
  assert.deepEqual([isWanted('500', 500), isWanted('500', 503), isWanted('500', 200)], [true, false, false])
  assert.deepEqual([isWanted('5xx', 500), isWanted('5xx', 599), isWanted('5xx', 404)], [true, true, false])
  assert.deepEqual([isWanted('0', 0), isWanted('0', 200)], [true, false])
})

const PATHS: [pattern: string, wanted: string[], others: string[]][] = [
  ['/', ['/'], ['/a', '']],
  ['/blog', ['/blog'], ['/blog/', '/blogs']],
  ['/blog*', ['/blog', '/blog/', '/blog/a/b', '/blogs'], ['/', '/a/blog']],
  ['*.js', ['/a.js', '/x/y.js'], ['/a.js/b', '/js']],
  ['/*/comments', ['/a/comments', '/a/b/comments'], ['/comments', '/a/comments/1']],
  ['/a*b*c', ['/abc', '/a-b-c', '/a/b/b/c'], ['/acb', '/ac', '/ab']],
  ['*', ['', '/', '/anything'], []],
  ['/aa*aa', ['/aaaa', '/aa-aa'], ['/aaa']],
  ['/(a+)+$', ['/(a+)+$'], ['/aaaa']],
]

for (const [pattern, wanted, others] of PATHS) {
  test(`the path ${pattern}`, () => {
    const isWanted = createFilter({ path: pattern })
    for (const path of wanted) assert.ok(isWanted(request(200, path)), path)
    for (const path of others) assert.ok(!isWanted(request(200, path)), path)
  })
}

test('a pattern that makes regular expressions backtrack is one pass', () => {
  const isWanted = createFilter({ path: `/${'*a'.repeat(100)}*b` })
  assert.equal(isWanted(request(200, `/${'a'.repeat(512)}`)), false)
  assert.equal(isWanted(request(200, `/${'a'.repeat(512)}b`)), true)
})

test('all conditions hold together', () => {
  const isWanted = createFilter({ status: '5xx', path: '/a*', id: '1' })
  assert.equal(isWanted(request(500, '/ab', '1')), true)
  assert.equal(isWanted(request(500, '/ab', '2')), false)
  assert.equal(isWanted(request(500, '/ab')), false)
  assert.equal(isWanted(request(200, '/ab', '1')), false)
  assert.equal(createFilter({})(request(0)), true)
})
