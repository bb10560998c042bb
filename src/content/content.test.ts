import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { holds } from '../../test/support/fuzz.ts'
import { LIMITS } from '../contract/index.ts'
import { type Changed, type ChangedItem, inWords, purgeTagsOf, readNamed, readPayload, united } from './index.ts'

const bytes = (payload: unknown): Uint8Array =>
  Buffer.from(typeof payload === 'string' ? payload : JSON.stringify(payload))

/** As Contentful documents the body of a call. */
const ENTRY = {
  sys: {
    type: 'Entry',
    id: '5KsDBWseXY6QegucYAoacS',
    space: { sys: { type: 'Link', linkType: 'Space', id: 'cfexampleapi' } },
    contentType: { sys: { type: 'Link', linkType: 'ContentType', id: 'article' } },
    revision: 2,
  },
  fields: { title: { 'en-US': 'Hello' } },
}
const STRAPI = {
  event: 'entry.publish',
  createdAt: '2026-07-01T12:00:00.000Z',
  model: 'article',
  uid: 'api::article.article',
  entry: { id: 3, documentId: 'j964b5qgs5r9lhbmr9mumv2f', title: 'Hello' },
}

const PAYLOADS: [what: string, payload: unknown, expected: Changed][] = [
  [
    'WordPress with the plugin',
    { headland: 1, content: ['wp:post:12@page', 'wp:term:7@category', 'wp:user:2'] },
    [
      { system: 'wp', kind: 'post', id: '12', type: 'page' },
      { system: 'wp', kind: 'term', id: '7', type: 'category' },
      { system: 'wp', kind: 'user', id: '2' },
    ],
  ],
  ['an entry of Contentful', ENTRY, [{ system: 'contentful', id: ENTRY.sys.id, type: 'article' }]],
  [
    'a deleted entry',
    { sys: { ...ENTRY.sys, type: 'DeletedEntry' } },
    [{ system: 'contentful', id: ENTRY.sys.id, type: 'article' }],
  ],
  ['an asset', { sys: { type: 'Asset', id: 'a1' } }, [{ system: 'contentful', id: 'a1' }]],
  [
    'a document of Sanity',
    { _id: 'abc-1', _type: 'post', title: 'x' },
    [{ system: 'sanity', id: 'abc-1', type: 'post' }],
  ],
  ['its draft', { _id: 'drafts.abc-1', _type: 'post' }, [{ system: 'sanity', id: 'abc-1', type: 'post' }]],
  ['an entry of Strapi', STRAPI, [{ system: 'strapi', id: STRAPI.entry.documentId, type: 'article' }]],

  ['no body, as earlier plugins call', '', 'everything'],
  ['the plugin, where it does not know', { headland: 1, content: [] }, 'everything'],
  ['the plugin, with a name of later', { headland: 1, content: ['wp:post:12@page', 'wp:widget:1'] }, 'everything'],
  ['a content type of Contentful', { sys: { type: 'ContentType', id: 'article' } }, 'everything'],
  ['an entry of Strapi 4', { ...STRAPI, entry: { id: 3 } }, 'everything'],
  ['a file of Strapi', { event: 'media.update', media: { id: 1 } }, 'everything'],
  ['another CMS', { kind: 'published', slug: 'a' }, 'everything'],
  ['an id that pages are tagged with a hash of', { _id: 'a b', _type: 'post' }, 'everything'],
  ['an id that is too long', { _id: 'a'.repeat(41) }, 'everything'],
  ['an id that is no text', { sys: { type: 'Entry', id: { a: 1 } } }, 'everything'],
  ['JSON that is cut off', '{"headland":1,"content":["wp:post:1', 'everything'],
  ['bytes that are no text', Buffer.from([0xff, 0xfe, 0x7b]).toString('latin1'), 'everything'],
  ['a deep body', `${'['.repeat(100_000)}${']'.repeat(100_000)}`, 'everything'],
  [
    'a body that is too large',
    `{"headland":1,"content":["wp:post:1"],"x":"${'x'.repeat(LIMITS.contentBodyBytes)}"}`,
    'everything',
  ],
  [
    'names of the prototype',
    '{"__proto__":{"headland":1,"content":["wp:post:1"]},"constructor":{"_id":"a"}}',
    'everything',
  ],
  ['an id of the prototype', '{"sys":{"__proto__":{"type":"Entry","id":"a"}}}', 'everything'],
  [
    'too many names',
    { headland: 1, content: Array.from({ length: LIMITS.contentItems + 1 }, (_, id) => `wp:post:${id + 1}`) },
    'everything',
  ],
]

for (const [what, payload, expected] of PAYLOADS)
  test(`a call of ${what}`, () => assert.deepEqual(readPayload(bytes(payload)), expected))

test('names in a URL', () => {
  assert.deepEqual(readNamed('wp:post:12@page, sanity:drafts.a,contentful:x@y'), [
    { system: 'wp', kind: 'post', id: '12', type: 'page' },
    { system: 'sanity', id: 'a' },
    { system: 'contentful', id: 'x', type: 'y' },
  ])
  for (const wrong of [
    '',
    ',',
    'wp:post:',
    'wp:post:0',
    'wp:post:12:3',
    'wp:12',
    'drupal:1',
    'wp:post:1@',
    'wp:post:1@a@b',
    'sanity:a b',
    'wp:post:1,',
  ])
    assert.equal(readNamed(wrong), 'everything', wrong)
})

test('what is purged: the item, lists that may contain it, and what is made of anything', () => {
  const tagsOf = (name: string) => {
    const changed = readNamed(name)
    return purgeTagsOf(changed === 'everything' ? [] : changed).map((tag) => tag.replace('content:', ''))
  }
  const always = ['all', 'u']
  assert.deepEqual(tagsOf('wp:post:12@page'), [...always, 'i:wp:post:12', 'i:wp:media:12', 'c:wp:page', 'c:wp:*'])
  assert.deepEqual(tagsOf('wp:post:12'), [...always, 'i:wp:post:12', 'i:wp:media:12', 'c:wp'])
  assert.deepEqual(tagsOf('wp:term:7@category'), [...always, 'i:wp:term:7', 'c:wp'])
  assert.deepEqual(tagsOf('contentful:x@article'), [
    ...always,
    'i:contentful:x',
    'c:contentful:article',
    'c:contentful:*',
  ])
  assert.deepEqual(tagsOf('sanity:x@post'), [...always, 'i:sanity:x', 'c:sanity'])
  assert.deepEqual(inWords([...(readNamed('wp:post:12@page,wp:user:2,sanity:x') as ChangedItem[])]), [
    'WordPress page 12',
    'WordPress user 2',
    'Sanity item x',
  ])
})

test('changes that are purged together are united, and everything wins', () => {
  const [a, b] = ['wp:post:1@post', 'wp:post:2@post'].map(readNamed) as [Changed, Changed]
  assert.deepEqual(united([a, b, a]), [...(a as ChangedItem[]), ...(b as ChangedItem[])])
  assert.equal(united([a, 'everything', b]), 'everything')
  assert.equal(united([]), 'everything')
  const many = Array.from({ length: LIMITS.contentItems + 1 }, (_, id) => readNamed(`wp:post:${id + 1}`))
  assert.equal(united(many), 'everything')
})

test('whatever a body is, it names items with plain ids or everything, and their tags are valid', async () => {
  const name = fc.constantFrom(
    'sys',
    '_id',
    '_type',
    'headland',
    'content',
    'entry',
    'event',
    'model',
    '__proto__',
    'id',
    'type',
    'documentId',
  )
  const leaf = fc.oneof(fc.string(), fc.integer(), fc.constantFrom('Entry', 'entry.update', 'wp:post:1', 1, null))
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof({ depthSize: 'small' }, leaf, fc.dictionary(name, tie('tree')), fc.array(tie('tree'))),
  }))
  await holds(
    fc.property(
      fc.oneof(
        tree.map((value) => JSON.stringify(value)),
        fc.string(),
      ),
      (body) => {
        const changed = readPayload(bytes(body))
        if (changed === 'everything') return
        assert.ok(changed.length > 0 && changed.length <= LIMITS.contentItems)
        for (const tag of purgeTagsOf(changed)) assert.match(tag, /^content:[\w:./~*-]{1,70}$/)
        for (const { id } of changed) assert.match(id, /^[\w.~-]{1,40}$/)
      },
    ),
    500,
  )
})
