import assert from 'node:assert/strict'
import { test } from 'node:test'
import { collectTags, purgePathOf, readTags } from './tags.ts'

const TAGS: [what: string, headers: string[], tags: string[]][] = [
  ['none', ['Content-Type', 'a'], []],
  ['commas between them', ['Cache-Tag', 'a,b, c ,,d'], ['a', 'b', 'c', 'd']],
  ['spaces between them', ['Cache-Tag', ' a b\tc '], ['a', 'b', 'c']],
  [
    'bytes of UTF-8 that only JavaScript takes for blanks',
    ['Cache-Tag', 'voil\u00c3\u00a0 b'],
    ['voil\u00c3\u00a0', 'b'],
  ],
  ['several lines', ['Cache-Tag', 'a', 'cache-tag', 'b'], ['a', 'b']],
  ['none twice, case counts', ['Cache-Tag', 'a, A, a'], ['a', 'A']],
  ['those for Fastly', ['Surrogate-Key', 'post-1 post-2'], ['post-1', 'post-2']],
  ['those for Akamai', ['Edge-Cache-Tag', 'casual, knits'], ['casual', 'knits']],
  [
    'those of Next.js, which may have spaces',
    ['x-next-cache-tags', '_N_T_/layout, my tag,'],
    ['_N_T_/layout', 'my tag'],
  ],
  ['all of them together', ['x-next-cache-tags', 'n', 'Cache-Tag', 'c,n', 'Surrogate-Key', 's'], ['c', 'n', 's']],
]

for (const [what, headers, tags] of TAGS) {
  test(`tags are read: ${what}`, () => assert.deepEqual(readTags(headers), tags))
}

test('no more tags than allowed, and none that is too long, and it is known that some are missing', () => {
  const limits = { tags: 2, bytes: 3 }
  assert.deepEqual(readTags(['Cache-Tag', 'a, bcde, f, g'], limits), ['a', 'f'])
  assert.equal(collectTags(['Cache-Tag', 'a, bcde'], limits).isComplete, false)
  assert.equal(collectTags(['Cache-Tag', 'a, b, c'], limits).isComplete, false)
  assert.equal(collectTags(['Cache-Tag', 'a, bcd, a'], limits).isComplete, true)
  assert.equal(readTags(['Cache-Tag', 'x'.repeat(1024)]).length, 1)
  assert.equal(readTags(['Cache-Tag', 'x'.repeat(1025)]).length, 0)
})

const PATHS: [target: string, path: string][] = [
  ['/', '/'],
  ['', '/'],
  ['//', '/'],
  ['/blog', '/blog'],
  ['/blog/', '/blog'],
  ['/blog//', '/blog'],
  ['/blog/?a=/b/', '/blog'],
  ['/blog#part', '/blog'],
  ['/?a', '/'],
  ['/Blog', '/Blog'],
  ['/a%20b', '/a b'],
  ['/caf%C3%A9/', '/café'],
  ['/caf%c3%a9', '/café'],
  ['/café', '/café'],
  ['/caf\xc3\xa9', '/café'],
  ['/caf%E9', '/caf%E9'],
  ['/caf%e9', '/caf%E9'],
  ['/日本', '/日本'],
  ['/%E6%97%A5%E6%9C%AC', '/日本'],
  ['/a%2520b', '/a%20b'],
  ['/a%2Fb%2F', '/a/b'],
  ['/a%3Fb', '/a?b'],
  ['/100%', '/100%'],
  ['/%zz', '/%zz'],
  ['https://example.com', '/'],
  ['https://example.com/blog/?a', '/blog'],
  ['HTTP://example.com?a', '/'],
]

for (const [target, path] of PATHS) {
  test(`a purge knows ${JSON.stringify(target)} as ${path}`, () => assert.equal(purgePathOf(target), path))
}
