import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as service from '../../../../src/base/index.ts'
import { PROBLEMS } from '../../../../src/contract/index.ts'
import type { RecordedTrigger } from '../../api/types.ts'
import { purgedInWords, REASONS, reasonInWords, sourceIn, tagInWords } from './words.ts'

test('every reason that has words is one of the contract', () => {
  assert.deepEqual(
    Object.keys(REASONS).filter((reason) => !Object.hasOwn(PROBLEMS, reason)),
    [],
  )
  assert.equal(reasonInWords('toString'), undefined)
})

test('an address that asks for a source there is not asks for all', () => {
  assert.equal(sourceIn('API'), 'API')
  for (const given of [null, '', 'api', 'constructor', '<script>']) assert.equal(sourceIn(given), undefined)
})

const purge = (purged: NonNullable<RecordedTrigger['purged']>, source: RecordedTrigger['source'] = 'API') =>
  purgedInWords({ purged, source })

test('a purge is shown by its first paths and tags, and how many more there were', () => {
  assert.equal(purge({ count: 0 }), 'the whole site')
  assert.equal(purge({ paths: ['/a'], tags: ['posts'], count: 2 }), '/a, tag posts')
  assert.equal(purge({ paths: ['/a', '/b', '/c', '/d'], count: 40 }), '/a, /b, /c and 37 more')
  const content = ['WordPress page 1', 'WordPress page 2', 'WordPress post 3', 'WordPress post 4']
  assert.equal(
    purge({ tags: ['content:all'], content: content.slice(0, 1), count: 9 }),
    'pages that show WordPress page 1',
  )
  assert.equal(
    purge({ content, count: 9 }),
    'pages that show WordPress page 1, WordPress page 2, WordPress post 3 and 1 more',
  )
})

test('tags that Next.js derives from paths are shown as the pages that they mean', () => {
  assert.equal(purge({ tags: ['_N_T_/layout'], count: 1 }, 'APP'), 'the whole site, by the app')
  assert.equal(
    purge({ paths: ['/blog'], tags: ['_N_T_/blog', 'posts'], count: 3 }, 'APP'),
    '/blog, tag posts, by the app',
  )
  assert.equal(
    purge({ tags: ['_N_T_/blog/layout', '_N_T_/blog/[slug]/page'], count: 2 }),
    'all pages under /blog, /blog/[slug]',
  )
  for (const tag of ['_N_T_/', '_N_T_/index', '_N_T_/page', '_N_T_/(site)/page']) assert.equal(tagInWords(tag), '/')
  assert.equal(tagInWords('_N_T_/(site)/layout'), 'the whole site')
  assert.equal(tagInWords('_N_T_'), 'tag _N_T_')
})

test('the service describes tags in the same words', () => {
  for (const tag of [
    'posts',
    '_N_T_/',
    '_N_T_/layout',
    '_N_T_/a/(b)/[c]/layout',
    '_N_T_/a/page',
    '_N_T_',
    '',
    '_N_T_//',
    '_N_T_/page/layout',
  ])
    assert.equal(tagInWords(tag), service.tagInWords(tag), tag)
})
