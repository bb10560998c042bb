/** What the hook of learned caching reads in answers of each system. */
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test } from 'node:test'

const load = createRequire(import.meta.url)
const { tagsOf } = load('./hooks/content/tags.cjs')
const bodies = load('./hooks/content/bodies.cjs')

type Given = { status?: number; type?: string; sent?: string | undefined }

function tags(url: string, value: unknown, { status = 200, type = 'application/json', sent }: Given = {}): string {
  const found = tagsOfPieces(url, [Buffer.from(JSON.stringify(value))], { status, type, sent })
  return found.map((tag) => tag.replace(/^u:.*/, 'u')).join(' ')
}

/** As exchanges.cjs calls them. */
function tagsOfPieces(url: string, pieces: Buffer[], { status = 200, type = '', sent }: Given = {}): string[] {
  const exchange = {
    ...{ method: sent === undefined ? 'GET' : 'POST', url, status, type, coding: '', chunks: [], bytes: 0 },
    ...{ sent: sent === undefined ? undefined : [Buffer.from(sent)], isTooLong: false },
  }
  bodies.begin(exchange)
  for (const piece of pieces) bodies.take(exchange, piece)
  return tagsOf(exchange)
}

const WP = 'https://cms.example.com/wp-json/wp/v2'
const post = { id: 1, type: 'post', slug: 'a', title: { rendered: 'A' }, author: 2, categories: [3], featured_media: 9 }

test('an item of WordPress comes with what it refers to', () => {
  assert.equal(tags(`${WP}/posts/1`, post), 'i:wp:post:1 i:wp:user:2 i:wp:media:9 i:wp:term:3')
  const genre = { ...post, type: 'book', genre: [8], parent: 4 }
  assert.match(tags(`${WP}/books/1`, genre), /^i:wp:post:1 .*i:wp:post:4 c:wp:book .*i:wp:term:8$/)
  assert.equal(tags(`${WP}/media/9`, { id: 9, type: 'attachment', post: 1 }), 'i:wp:media:9 i:wp:post:1')
  assert.equal(tags(`${WP}/books/5`, { id: 5 }), 'i:wp:post:5 i:wp:media:5 i:wp:term:5 i:wp:user:5', 'of no known kind')
})

test('a list of WordPress is a collection, unless it has all the items that were named', () => {
  const item = 'i:wp:post:1 i:wp:user:2 i:wp:media:9 i:wp:term:3'
  assert.equal(tags(`${WP}/posts?per_page=5`, [post]), `${item} c:wp:post`)
  assert.equal(tags(`${WP}/posts?slug=a`, [post]), item)
  assert.equal(tags(`${WP}/posts?slug=a,b`, [post]), `${item} c:wp:post`)
  assert.equal(tags(`${WP}/pages?slug=none`, []), 'c:wp:page')
  assert.equal(tags(`${WP}/books`, []), 'c:wp:*')
  assert.equal(tags(`${WP}/categories?_fields=id,name`, [{ id: 3, name: 'C' }]), 'i:wp:term:3 c:wp:category')
  assert.equal(
    tags(`${WP}/categories`, [{ id: 3, taxonomy: 'category', count: 2 }]),
    'i:wp:term:3 c:wp:* c:wp:category',
  )
})

test('what WordPress shows of other items counts: blocks, images, embedded items and fields of plugins', () => {
  const of = (more: object) => tags(`${WP}/posts/1`, { id: 1, type: 'post', ...more })
  const html = (text: string) => of({ content: { rendered: text } })
  assert.equal(html('<p class="wp-block-paragraph"><img class="wp-image-7">'), 'i:wp:post:1 i:wp:media:7')
  assert.equal(html('<ul class="wp-block-columns-is-layout-flex wp-block-embed-youtube">'), 'i:wp:post:1')
  assert.equal(html('<ul class="wp-block-latest-posts__list">'), 'i:wp:post:1 c:wp:*')
  assert.equal(html('<div class="wp-block-shop-offers">'), 'i:wp:post:1 c:wp:*')
  assert.equal(of({ _embedded: { author: [{ id: 2, name: 'N' }] } }), 'i:wp:post:1 i:wp:user:2')
  assert.match(
    of({ acf: { related: [{ ID: 5, post_title: 'T' }] } }),
    /i:wp:post:5 i:wp:media:5 i:wp:term:5 i:wp:user:5$/,
  )
  assert.equal(of({ acf: { text: '<img class="wp-image-7">' } }), 'i:wp:post:1 i:wp:media:7')
  assert.equal(tags(`${WP}/users`, [{ id: 2, name: 'N' }]), 'i:wp:user:2 c:wp:*')
  assert.equal(of({ yoast_head: 'head' }), 'i:wp:post:1')
  assert.equal(of({ made_by_a_plugin: 'text' }), 'i:wp:post:1 u')
  assert.equal(tags(`${WP}/search?search=a`, [{ id: 1, type: 'post' }]), 'u')
  assert.equal(tags(`${WP}/settings`, { title: 'Site' }), 'u')
})

test('GraphQL counts by ids, and by its URL where an object has none', () => {
  const id = (text: string) => Buffer.from(text).toString('base64')
  const ask = (data: unknown) => tags('https://cms.example.com/graphql', { data }, { sent: '{"query":"{ … }"}' })
  assert.equal(ask({ post: { id: id('post:1'), title: 'A' } }), 'i:wp:post:1 i:wp:media:1')
  assert.equal(ask({ post: { databaseId: 1 } }), 'i:wp:post:1 i:wp:media:1 i:wp:term:1 i:wp:user:1')
  const terms = { nodes: [{ id: id('term:3'), name: 'C' }] }
  assert.equal(ask({ post: { id: id('post:1'), categories: terms } }), 'i:wp:post:1 i:wp:media:1 i:wp:term:3')
  assert.match(ask({ posts: { nodes: [{ id: id('post:1') }] } }), /c:wp:\* /)
  assert.match(ask({ post: { id: id('post:1'), author: { node: { name: 'N' } } } }), / u$/)
  assert.equal(ask({ post: null }), 'u')
  const content = '<ul class="wp-block-latest-posts__list"><img class="wp-image-7">'
  assert.equal(
    ask({ post: { id: id('post:1'), content } }),
    'i:wp:post:1 i:wp:media:1 i:wp:media:7 c:wp:*',
    'the same blocks as in REST',
  )
  assert.match(
    ask({ pageCollection: { items: [{ sys: { id: 'x1' }, title: 'T' }] } }),
    /c:contentful:\* i:contentful:x1$/,
  )
})

test('Contentful, Sanity and Strapi count by their ids and types', () => {
  const entry = {
    sys: { id: 'e1', type: 'Entry' },
    fields: { hero: { sys: { type: 'Link', linkType: 'Asset', id: 'a1' } } },
  }
  const list = { sys: { type: 'Array' }, items: [entry], includes: { Entry: [{ sys: { id: 'e2', type: 'Entry' } }] } }
  const contentful = 'https://cdn.contentful.com/spaces/s/environments/master/entries'
  const all = 'i:contentful:e1 i:contentful:a1 i:contentful:e2'
  assert.equal(tags(`${contentful}?content_type=post`, list), `${all} c:contentful:post`)
  assert.equal(tags(`${contentful}?content_type=post&fields.slug=a`, list), all)
  assert.equal(
    tags(`${contentful}?content_type=post&fields.category.fields.slug=a`, { sys: { type: 'Array' }, items: [] }),
    'c:contentful:post c:contentful:*',
    'an entry of another type decides',
  )
  assert.equal(tags(`${contentful}/e1`, entry), 'i:contentful:e1 i:contentful:a1')

  const sanity = (query: string, result: unknown) =>
    tags(`https://p.apicdn.sanity.io/v1/data/query/production?query=${encodeURIComponent(query)}`, { result })
  assert.equal(sanity('*[_type == "post"]', [{ _id: 'drafts.p1' }]), 'i:sanity:p1 c:sanity:post')
  assert.equal(
    sanity('*[_type == "post" && slug.current == "a"][0]', { _id: 'p1', to: { _ref: 'p2' } }),
    'i:sanity:p1 i:sanity:p2',
  )
  for (const other of ['!(_id == "p2")', '(_id == "p2" || featured)'])
    assert.match(sanity(`*[${other}][0]`, { _id: 'p1' }), /^i:sanity:p1 c:sanity:/, other)
  assert.equal(sanity('*[_type == "post" || featured]', [{ _id: 'p1' }]), 'i:sanity:p1 c:sanity:*')
  assert.match(sanity('*[_type == "post"]{_id, "by": author->name}', [{ _id: 'p1', by: 'N' }]), / u$/)
  assert.match(sanity('*[_type == "post"]{title}', [{ title: 'A' }]), /u$/)

  const strapi = (path: string, data: unknown) =>
    tags(`https://cms.example.com/api/${path}`, { data, meta: { pagination: {} } })
  assert.equal(strapi('articles', [{ id: 1, documentId: 'd1' }]), 'i:strapi:d1 c:strapi:*')
  assert.equal(strapi('articles?filters[slug][$eq]=a', [{ documentId: 'd1', seo: { id: 4 } }]), 'i:strapi:d1')
  assert.equal(
    strapi('home', { documentId: 'd1', teasers: [{ documentId: 'd2' }] }),
    'i:strapi:d1 c:strapi:* i:strapi:d2',
  )
  assert.equal(strapi('articles?filters[slug][$ne]=b', [{ documentId: 'd1' }]), 'i:strapi:d1 c:strapi:*')
  assert.equal(strapi('home', { documentId: 'd1', teasers: [] }), 'i:strapi:d1 c:strapi:*')
  assert.equal(strapi('articles', []), 'c:strapi:*')
})

test('everything else counts by its URL, whatever the order of its query', () => {
  const raw = (url: string) => tagsOfPieces(url, [])
  assert.match(String(raw('https://example.com/a?x=1&y=2')), /^u:[0-9a-f]{16}$/)
  assert.deepEqual(raw('https://example.com/a?x=1&y=2'), raw('https://example.com/a?y=2&x=1'))
  assert.notDeepEqual(raw('https://example.com/a?x=1'), raw('https://example.com/b?x=1'))
  assert.equal(tags(`${WP}/posts/1`, { code: 'rest_post_invalid_id' }, { status: 404 }), 'u')
  assert.equal(tags('https://example.com/', [{ id: 1 }]), 'u')
  assert.equal(tags('https://example.com/', {}, { status: 304 }), 'all')
  assert.equal(tags('https://cdn.contentful.com/x', { sys: { id: 'with space', type: 'Entry' } }), 'u')
})

test('a body is read again when it differs from the last one, wherever and in whatever pieces', () => {
  const url = `${WP}/posts/1`
  const type = 'application/json'
  const bodyOf = (id: number, title = 'A') => JSON.stringify({ ...post, title: { rendered: title }, author: id })
  const inPieces = (text: string, size: number) =>
    Array.from({ length: Math.ceil(text.length / size) }, (_, at) =>
      Buffer.from(text.slice(at * size, (at + 1) * size)),
    )
  const texts = [bodyOf(2), bodyOf(3), bodyOf(3), bodyOf(3, 'Longer'), bodyOf(4), bodyOf(4, 'x'.repeat(50)), bodyOf(5)]
  for (const size of [1, 7, 1000])
    for (const body of texts) {
      const expected = `i:wp:user:${JSON.parse(body).author}`
      assert.ok(tagsOfPieces(url, inPieces(body, size), { type }).includes(expected), `${body} by ${size}`)
    }
  const shorter = Buffer.from(bodyOf(5).slice(0, -1))
  assert.match(tagsOfPieces(url, [shorter], { type }).join(' '), /^u:[0-9a-f]{16}$/, 'its beginning alone is no JSON')
})
