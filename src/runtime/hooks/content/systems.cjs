'use strict'
// Answers of Contentful, Sanity and Strapi, and of GraphQL as WordPress (WPGraphQL) and Contentful have it. Each reader returns
// whether the answer is of its system. Where an object in it could be an item but has no id, the URL counts as well.
const { readHtml } = require('./wordpress.cjs')

const isObject = (value) => value !== null && typeof value === 'object'

/** Calls back with every object in it, outer ones first. */
function eachObject(value, act) {
  if (!isObject(value)) return
  if (!Array.isArray(value)) act(value)
  for (const inner of Array.isArray(value) ? value : Object.values(value)) eachObject(inner, act)
}

/** The REST API of Contentful. Links count as well: what they lead to may be published later. */
function readContentful({ url, value }, tags) {
  const type = value?.sys?.type
  if (type !== 'Array' && type !== 'Entry' && type !== 'Asset') return false
  eachObject(value, ({ sys }) => {
    if (!isObject(sys)) return
    const kind = sys.type === 'Link' ? sys.linkType : sys.type
    if (kind === 'Entry' || kind === 'Asset') tags.item('contentful', sys.id)
  })
  if (type !== 'Array') return true
  const query = url.searchParams
  const isNarrow = value.items?.length === 1 && (query.has('sys.id') || query.has('fields.slug'))
  if (isNarrow) return true
  tags.collection('contentful', query.get('content_type') ?? (/\/assets$/.test(url.pathname) ? 'Asset' : '*'))
  // A field of what the entries link to decides: they may come in when that changes, which is of another type.
  if ([...query.keys()].some((name) => /^fields\.[^.]+\.fields\./.test(name))) tags.collection('contentful', '*')
  return true
}

/** Sanity by GROQ. What a query joins or computes does not show in its result, so such a query counts by its URL. */
function readSanity({ url, value, sent }, tags) {
  if (!/\.(?:api|apicdn)\.sanity\.io$/.test(url.hostname) || !isObject(value)) return false
  const result = value.result ?? value.documents ?? null
  const query = url.searchParams.get('query') ?? queryIn(sent)
  if (query === undefined ? value.documents === undefined : /->|\*[\s\S]*\*\s*\[|\bcount\(|references\(/.test(query))
    tags.unknown()
  for (const one of [result].flat()) if (one !== null && typeof one?._id !== 'string') tags.unknown()
  eachObject(result, ({ _id, _ref }) => {
    for (const id of [_id, _ref]) if (typeof id === 'string') tags.item('sanity', id.replace(/^drafts\./, ''))
  })
  const isOne = isObject(result) && !Array.isArray(result)
  // With "or" and "not" other documents are asked for as well.
  const isNarrow = isOne && /(?:\bslug\.current|\b_id)\s*==/.test(query ?? '') && !/\|\||!/.test(query ?? '')
  if (query !== undefined && !isNarrow) tags.collection('sanity', typeIn(query))
  return true
}

/** The one type that a query asks for. */
function typeIn(query) {
  const [one, ...more] = [...query.matchAll(/\b_type\s*==\s*["']([^"']+)["']/g)]
  return more.length > 0 || /\|\||!\s*\(|\b_type\s*(?:in|!=|match)/.test(query) ? '*' : one?.[1]
}

function queryIn(sent) {
  try {
    return JSON.parse(sent).query
  } catch {
    return undefined
  }
}

/** Strapi 5. Lists in an item are lists of other items, which change with those. An empty one may be such a list. */
function readStrapi({ url, value }, tags) {
  const data = value?.data
  if (!isObject(data)) return false
  const items = [data].flat()
  if (items.length > 0 ? typeof items[0]?.documentId !== 'string' : !isObject(value.meta?.pagination)) return false
  for (const item of items) if (typeof item?.documentId !== 'string') tags.unknown()
  eachObject(data, (object) => {
    if (typeof object.documentId === 'string') tags.item('strapi', object.documentId)
    for (const inner of Object.values(object))
      if (Array.isArray(inner) && (inner.length === 0 || inner.some((one) => typeof one?.documentId === 'string')))
        tags.collection('strapi', '*')
  })
  const isNarrow = items.length === 1 && [...url.searchParams.keys()].some((name) => NAMED.test(name))
  if (Array.isArray(data) && !isNarrow) tags.collection('strapi', '*')
  return true
}

/** Other operators than that of equality find other items. */
const NAMED = /^filters\[(?:slug|documentId)\](?:\[\$eq\])?$/

/** Fields of a connection, beside what it connects to. */
const CONNECTION = new Set([
  'nodes',
  'edges',
  'pageInfo',
  'node',
  'cursor',
  'items',
  'total',
  'skip',
  'limit',
  '__typename',
])
/** Objects that belong to the item which they are in. */
const PARTS = new Set(['mediaDetails', 'pageInfo', 'sys'])
const WP_ID = /^(post|term|user):(\d+)$/

function readGraphql({ value, sent }, tags) {
  if (!isObject(value?.data) || Array.isArray(value.data)) return false
  const isAsked = /graphql/i.test(sent) || queryIn(sent) !== undefined
  if (!isAsked && !Object.values(value.data).some((inner) => isObject(inner) && idsOf(inner) !== undefined))
    return false
  // Errors stand for what is missing.
  if (value.errors !== undefined) tags.unknown()
  for (const inner of Object.values(value.data)) {
    if (isObject(inner)) readNode(inner, tags, undefined)
    else tags.unknown()
  }
  return true
}

/**
 * @param {object} node
 * @param {object} tags
 * @param {{isPost: boolean} | undefined} owner the item that it is in
 */
function readNode(node, tags, owner) {
  if (Array.isArray(node)) {
    for (const inner of node) if (isObject(inner)) readNode(inner, tags, owner)
    return
  }
  const ids = idsOf(node)
  for (const { system, id } of ids ?? []) tags.item(system, id)
  for (const text of Object.values(node)) if (typeof text === 'string' && text.includes('wp-')) readHtml(text, tags)
  const isConnection = ids === undefined && Object.keys(node).every((name) => CONNECTION.has(name))
  const list = isConnection ? (node.nodes ?? node.items ?? node.edges?.map((edge) => edge?.node)) : undefined
  if (list !== undefined && !areTermsOf(owner, list)) {
    tags.collection('wp', '*')
    tags.collection('contentful', '*')
  }
  const isPart = ids === undefined && !isConnection
  if (
    isPart &&
    Object.entries(node).some(([name, inner]) => name !== '__typename' && inner !== null && !isObject(inner))
  )
    tags.unknown()
  const inside = ids === undefined ? owner : { isPost: ids.some(({ id }) => id.startsWith('post:')) }
  for (const [name, inner] of Object.entries(node))
    if (isObject(inner) && !PARTS.has(name)) readNode(inner, tags, isPart ? undefined : inside)
}

/** Which terms a post has changes only with the post. */
function areTermsOf(owner, list) {
  if (!owner?.isPost || list.length === 0) return false
  return list.every((one) => isObject(one) && idsOf(one)?.every(({ id }) => id.startsWith('term:')))
}

/** The names of an item, of which one is its own. */
function idsOf(node) {
  if (typeof node.sys?.id === 'string') return [{ system: 'contentful', id: node.sys.id }]
  const decoded = typeof node.id === 'string' ? Buffer.from(node.id, 'base64').toString('latin1') : ''
  const [, kind, number] = WP_ID.exec(decoded) ?? []
  const wp = (...kinds) => kinds.map((one) => ({ system: 'wp', id: `${one}:${number ?? node.databaseId}` }))
  // The id of a file is that of a post.
  if (kind === 'post') return node.__typename === 'MediaItem' ? wp('media') : wp('post', 'media')
  if (kind !== undefined) return wp(kind)
  if (Number.isInteger(node.databaseId)) return wp('post', 'media', 'term', 'user')
  return undefined
}

module.exports = { readContentful, readSanity, readStrapi, readGraphql }
