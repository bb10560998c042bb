/**
 * What the call of a CMS says that changed: its body as WordPress with the plugin of Headland, Contentful, Sanity and Strapi
 * send it, or a list in the URL. Anything that is not understood is a change of everything. Pure.
 */
import { LIMITS } from '../contract/index.ts'
import { type Changed, type ChangedItem, SYSTEMS, type System, united, WP_KINDS, type WpKind } from './changed.ts'

/** Ids and types that pages are tagged with as they are. Others are tagged with a hash, so a change of one is one of everything. */
const ID = /^[\w.~-]{1,40}$/
const TYPE = /^[\w.~-]{1,40}$/
const NUMBER = /^[1-9]\d{0,18}$/

const EVERYTHING: Changed = 'everything'

/** Of the URL: `wp:post:12@page,contentful:5KsDBW@article`. The part behind the at sign is the content type, and may be absent. */
export function readNamed(list: string): Changed {
  const names = list.split(',', LIMITS.contentItems + 1)
  if (names.length > LIMITS.contentItems) return EVERYTHING
  const items = names.map(readName)
  return items.every((item) => item !== undefined) ? united([items]) : EVERYTHING
}

function readName(name: string): ChangedItem | undefined {
  const [place = '', type, ...more] = name.trim().split('@')
  const parts = place.split(':')
  const system = parts.shift()
  if (more.length > 0 || !isSystem(system) || (type !== undefined && !TYPE.test(type))) return undefined
  const kind = system === 'wp' ? parts.shift() : undefined
  const [id = '', ...rest] = parts
  if (rest.length > 0) return undefined
  const typed = type === undefined ? {} : { type }
  if (system !== 'wp') return ID.test(id) ? { system, id: plainId(system, id), ...typed } : undefined
  return isWpKind(kind) && NUMBER.test(id) ? { system, kind, id, ...typed } : undefined
}

/** The draft of a document of Sanity is the same content. */
const plainId = (system: System, id: string): string => (system === 'sanity' ? id.replace(/^drafts\./, '') : id)

const isSystem = (text: string | undefined): text is System => SYSTEMS.some((system) => system === text)
const isWpKind = (text: string | undefined): text is WpKind => WP_KINDS.some((kind) => kind === text)

/** Of the body of a call. */
export function readPayload(body: Uint8Array): Changed {
  if (body.length > LIMITS.contentBodyBytes) return EVERYTHING
  const payload = parsed(body)
  if (!isObject(payload)) return EVERYTHING
  const found = ofPlugin(payload) ?? ofContentful(payload) ?? ofSanity(payload) ?? ofStrapi(payload)
  return found ?? EVERYTHING
}

/** `{ "headland": 1, "content": ["wp:post:12@page"] }`, with the names that a URL may have. */
function ofPlugin(payload: Payload): Changed | undefined {
  if (own(payload, 'headland') !== 1) return undefined
  const names = own(payload, 'content')
  if (!Array.isArray(names) || names.length > LIMITS.contentItems) return EVERYTHING
  const items = names.map((name) => (typeof name === 'string' ? readName(name) : undefined))
  return items.every((item) => item !== undefined) ? united([items]) : EVERYTHING
}

/** An entry, an asset, or one that was deleted. Other changes, as of a content type, may affect every page. */
function ofContentful(payload: Payload): Changed | undefined {
  const sys = own(payload, 'sys')
  if (!isObject(sys)) return undefined
  const kind = own(sys, 'type')
  const isEntry = kind === 'Entry' || kind === 'DeletedEntry'
  if (!isEntry && kind !== 'Asset' && kind !== 'DeletedAsset') return undefined
  const type = isEntry ? linkedId(own(sys, 'contentType')) : undefined
  return one('contentful', own(sys, 'id'), type)
}

function linkedId(link: unknown): unknown {
  const sys = isObject(link) ? own(link, 'sys') : undefined
  return isObject(sys) ? own(sys, 'id') : undefined
}

/** Which fields a call of Sanity has is the choice of its author: `_id` is needed, `_type` is there mostly. */
function ofSanity(payload: Payload): Changed | undefined {
  const id = own(payload, '_id')
  return typeof id === 'string' ? one('sanity', id, own(payload, '_type')) : undefined
}

/** Of an entry. Documents have an id of their own since version 5; without it, pages do not tell them apart. */
function ofStrapi(payload: Payload): Changed | undefined {
  const [event, entry] = [own(payload, 'event'), own(payload, 'entry')]
  if (typeof event !== 'string' || !event.startsWith('entry.') || !isObject(entry)) return undefined
  return one('strapi', own(entry, 'documentId'), own(payload, 'model'))
}

function one(system: Exclude<System, 'wp'>, id: unknown, type: unknown): Changed {
  if (typeof id !== 'string') return EVERYTHING
  const plain = plainId(system, id)
  if (!ID.test(plain)) return EVERYTHING
  const isTyped = typeof type === 'string' && TYPE.test(type)
  return [{ system, id: plain, ...(isTyped ? { type } : {}) }]
}

type Payload = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Payload =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Never of the prototype. */
const own = (payload: Payload, name: string): unknown => (Object.hasOwn(payload, name) ? payload[name] : undefined)

function parsed(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch {
    return undefined
  }
}
