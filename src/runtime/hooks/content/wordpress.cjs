'use strict'
// WordPress's REST API (wp/v2): posts of any type, media, terms and users. What an item refers to counts as used, since it shows
// through: the slug of a category is in links, the name of the author is in what SEO plugins add.

const ROUTE = /\/wp-json\/wp\/v2\/(.+)$/
const KINDS = { posts: 'post', pages: 'post', media: 'media', categories: 'term', tags: 'term', users: 'user' }
/** Users are listed once they have published something of any type. */
const TYPES = {
  ...{ posts: 'post', pages: 'page', media: 'attachment' },
  ...{ categories: 'category', tags: 'post_tag', users: '*' },
}
const EVERY_KIND = ['post', 'media', 'term', 'user']
/** Routes whose objects are no items. */
const NOT_ITEMS =
  /^(?:search|settings|menus|menu-.*|comments|block.*|template.*|global-styles|navigation|themes|plugins|sidebars|widget.*|types|statuses|taxonomies|pattern.*|font.*|url-details)$/
/** Fields of the items themselves, or made of what they refer to. */
const OWN_FIELDS = new Set(
  (
    'id date date_gmt guid modified modified_gmt password slug status type link title content excerpt author featured_media ' +
    'comment_status ping_status sticky template format categories tags class_list permalink_template generated_slug parent ' +
    'menu_order _links _embedded description caption alt_text media_type mime_type media_details post source_url filename ' +
    'filesize missing_image_sizes count name taxonomy url avatar_urls yoast_head yoast_head_json'
  ).split(' '),
)
/** Blocks that show nothing but what is written in them. Others may show any content. */
const STATIC_BLOCKS = new Set(
  (
    'paragraph heading image list list-item quote gallery columns column group button buttons cover separator spacer table code ' +
    'preformatted pullquote verse audio video file media-text details footnotes social-links social-link embed html freeform ' +
    'more nextpage text-columns subhead'
  ).split(' '),
)

/** @returns whether it is an answer of this API */
function readWordpress({ url, value }, tags) {
  const route = ROUTE.exec(url.pathname)?.[1] ?? /^\/wp\/v2\/(.+)$/.exec(url.searchParams.get('rest_route') ?? '')?.[1]
  if (route === undefined) return false
  const [base = '', id, ...more] = route.split('/').filter((part) => part !== '')
  if (NOT_ITEMS.test(base) || more.length > 0 || (id !== undefined && !/^\d+$/.test(id))) {
    tags.unknown()
    return true
  }
  if (!Array.isArray(value)) {
    if (id === undefined) tags.unknown()
    readItem(value, base, tags)
    return true
  }
  for (const item of value) readItem(item, base, tags)
  if (!isNarrow(url.searchParams, value.length)) readCollection(value, base, tags)
  return true
}

/** Whether items were named, and all of them were found: no other item can come in. */
function isNarrow(query, count) {
  for (const name of ['slug', 'include']) {
    const values = [...query].filter(([key]) => key.replace(/\[\d*\]$/, '') === name).map(([, text]) => text)
    const wanted = new Set(values.flatMap((text) => text.split(',')).filter((one) => one !== ''))
    if (wanted.size > 0 && wanted.size === count) return true
  }
  return false
}

function readCollection(items, base, tags) {
  const types = new Set(items.map((item) => item?.taxonomy ?? item?.type ?? TYPES[base]))
  if (items.length === 0) types.add(TYPES[base])
  for (const type of types) tags.collection('wp', type)
}

function readItem(item, base, tags) {
  if (item === null || typeof item !== 'object' || !Number.isInteger(item.id)) {
    tags.unknown()
    return
  }
  const kind = kindOf(item, base)
  for (const one of kind === undefined ? EVERY_KIND : [kind]) tags.item('wp', `${one}:${item.id}`)
  const refer = (to, id) => Number.isInteger(id) && id > 0 && tags.item('wp', `${to}:${id}`)
  refer('user', item.author)
  refer('media', item.featured_media)
  refer('post', item.post)
  if (item.parent > 0) {
    refer(kind === 'term' ? 'term' : 'post', item.parent)
    // The link has the slugs of all that are above.
    tags.collection('wp', item.taxonomy ?? item.type ?? TYPES[base])
  }
  // The number of posts with this term.
  if (item.count !== undefined) tags.collection('wp', '*')
  for (const [name, value] of Object.entries(item)) readField(name, value, tags)
  readEmbedded(item._embedded, tags)
}

function kindOf(item, base) {
  if (typeof item.taxonomy === 'string') return 'term'
  if (item.type === 'attachment' || item.media_type !== undefined) return 'media'
  if (typeof item.type === 'string') return 'post'
  return KINDS[base] ?? (item.avatar_urls === undefined ? undefined : 'user')
}

function readField(name, value, tags) {
  if (name === 'acf' || name === 'meta') readIds(value, tags)
  else if (Array.isArray(value) && name !== 'class_list' && value.every(Number.isInteger))
    for (const id of value) tags.item('wp', `term:${id}`)
  else if (!OWN_FIELDS.has(name)) tags.unknown()
  const text = typeof value === 'string' ? value : value?.rendered
  if (typeof text === 'string' && text.includes('wp-')) readHtml(text, tags)
}

/** Fields by plugins: every number under the name of an id is one of any kind. */
function readIds(value, tags) {
  if (value === null || typeof value !== 'object') return
  for (const [name, inner] of Object.entries(value)) {
    if (/^(?:id|.*_id)$/i.test(name) && Number.isInteger(inner))
      for (const kind of EVERY_KIND) tags.item('wp', `${kind}:${inner}`)
    else if (typeof inner === 'string' && inner.includes('wp-')) readHtml(inner, tags)
    else readIds(inner, tags)
  }
}

function readHtml(text, tags) {
  for (const [, id] of text.matchAll(/wp-image-(\d+)/g)) tags.item('wp', `media:${id}`)
  if (/wp-embedded-content|wp-playlist|wp-calendar/.test(text)) tags.collection('wp', '*')
  for (const [, name] of text.matchAll(/wp-block-([a-z0-9-]+)/g)) {
    const block = name.replace(/-is-.*$|-\d+$/, '').replace(/^embed-.*$/, 'embed')
    if (!STATIC_BLOCKS.has(block)) tags.collection('wp', '*')
  }
}

function readEmbedded(embedded, tags) {
  if (embedded === undefined || embedded === null) return
  const bases = { author: 'users', 'wp:featuredmedia': 'media', up: 'unknown', 'wp:term': 'unknown' }
  for (const [name, value] of Object.entries(embedded)) {
    const items = [value].flat(2)
    if (bases[name] === undefined) tags.unknown()
    else for (const item of items) readItem(item, bases[name], tags)
  }
}

module.exports = { readWordpress, readHtml }
