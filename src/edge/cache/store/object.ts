/**
 * A stored response. A million of them must fit into memory, so the headers are two strings: the one that many
 * responses have in common exists once.
 */
import { toLower } from '../../http/remember.ts'
import type { Place } from '../disk/index.ts'
import type { HeaderList } from '../fields/header-list.ts'
import type { Lifetime } from '../policy/freshness.ts'

export type StoredResponse = {
  /** Its cache key within the environment. */
  readonly key: string
  /** Its path in the normalized spelling that purges use. */
  readonly path: string
  /** The values of the request headers that it varies by; '' where it varies by none. */
  readonly variant: string
  readonly vary: readonly string[] | undefined
  readonly status: number
  readonly reason: string
  /** Names and values, separated by line feeds, which neither can contain: headers that many responses share … */
  sharedHead: string
  /** … and the others. */
  ownHead: string
  /** One object for all responses with the same lifetime; its `bornMs` is unused, the field below applies. */
  lifetime: Lifetime
  bornMs: number
  /** The deployment that made it. It is not used when another deployment is live. */
  readonly deployment: string
  readonly tags: readonly string[]
  /** The CDN-Cache-Control of the response, which is for us and is not forwarded. */
  readonly targeted: string | undefined
  /** The number of the last purge when its fetch began: purges with a higher number remove it. */
  readonly purgeNumber: number
  storeTime: number
  validateTime: number
  size: number
  /** Undefined while it is only on the disk. */
  body: Buffer | undefined
  /** Its place on the disk, if it is there. */
  place: Place | undefined
  /** The compressed encodings, each made when the first client accepts it; `null` where it is never made. */
  br: Buffer | null | undefined
  gzip: Buffer | null | undefined
  hits: number
  /** Used since the last eviction. */
  isUsed: boolean
}

/** A response before it is packed. */
export type Draft = Omit<StoredResponse, 'sharedHead' | 'ownHead' | 'bornMs' | 'br' | 'gzip' | 'hits' | 'isUsed'> & {
  headers: HeaderList
  /** Whether we may compress it. */
  isCompressible: boolean
}

/** Every field is listed: an object made by spreading takes more memory and more time. */
export function toStored(draft: Draft): StoredResponse {
  const { key, path, tags, vary, targeted } = draft
  const encoding = draft.isCompressible ? undefined : null
  const { sharedHead, ownHead, lifetime, bornMs } = packed(draft.headers, draft.lifetime)
  return {
    key,
    // A slice of the key takes no memory of its own.
    path: key.endsWith(path) ? key.slice(key.length - path.length) : path,
    variant: draft.variant,
    vary: vary?.map(shared),
    status: draft.status,
    reason: shared(draft.reason),
    sharedHead,
    ownHead,
    lifetime,
    bornMs,
    deployment: draft.deployment,
    tags: tags.length === 0 ? NO_TAGS : tags.map(shared),
    targeted: targeted === undefined ? undefined : shared(targeted),
    purgeNumber: draft.purgeNumber,
    storeTime: draft.storeTime,
    validateTime: draft.validateTime,
    size: draft.size,
    body: draft.body,
    place: draft.place,
    br: encoding,
    gzip: encoding,
    hits: 0,
    isUsed: false,
  }
}

const NO_TAGS: readonly string[] = []

type Packed = Pick<StoredResponse, 'sharedHead' | 'ownHead' | 'lifetime' | 'bornMs'>

export function packed(headers: HeaderList, lifetime: Lifetime): Packed {
  const common: string[] = []
  const own: string[] = []
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] as string
    const list = OFTEN_THE_SAME.has(toLower(name)) ? common : own
    list.push(name, headers[at + 1] as string)
  }
  return {
    sharedHead: shared(common.join('\n')),
    ownHead: own.join('\n'),
    lifetime: sharedLifetime(lifetime),
    bornMs: lifetime.bornMs,
  }
}

export function headersOf({ sharedHead, ownHead }: Pick<StoredResponse, 'sharedHead' | 'ownHead'>): string[] {
  const own = ownHead === '' ? [] : ownHead.split('\n')
  return sharedHead === '' ? own : sharedHead.split('\n').concat(own)
}

const OFTEN_THE_SAME: ReadonlySet<string> = new Set([
  'accept-ranges',
  'access-control-allow-origin',
  'cache-control',
  'content-encoding',
  'content-language',
  'content-security-policy',
  'content-type',
  'permissions-policy',
  'referrer-policy',
  'server',
  'strict-transport-security',
  'vary',
  'x-content-type-options',
  'x-frame-options',
  'x-nextjs-cache',
  'x-nextjs-prerender',
  'x-nextjs-stale-time',
  'x-powered-by',
])

/** Beyond this number all are forgotten; some strings are then in memory twice for a while, which does no harm. */
const MAX_SHARED = 20_000
const SHARED_LENGTH = 2048
const FROM_LENGTH = 80
const strings = new Map<string, string>()
const lifetimes = new Map<string, Lifetime>()

function shared(text: string): string {
  if (text.length > SHARED_LENGTH) return copied(text)
  const known = strings.get(text)
  if (known !== undefined) return known
  if (strings.size >= MAX_SHARED) strings.clear()
  const own = copied(text)
  strings.set(own, own)
  return own
}

/** A slice keeps the whole string in memory: here, the head that a tag was read from. */
const copied = (text: string): string => Buffer.from(text, 'latin1').toString('latin1')

function sharedLifetime(lifetime: Lifetime): Lifetime {
  const { freshMs, whileRevalidatingMs, ifErrorMs, mayBeStale, mustValidate } = lifetime
  // It is only displayed, and an app may send a number of any length.
  const from = lifetime.from.slice(0, FROM_LENGTH)
  const name = `${freshMs} ${whileRevalidatingMs} ${ifErrorMs} ${mayBeStale} ${mustValidate} ${from}`
  const known = lifetimes.get(name)
  if (known) return known
  if (lifetimes.size >= MAX_SHARED) lifetimes.clear()
  const made = { ...lifetime, from: copied(from), bornMs: 0 }
  lifetimes.set(name, made)
  return made
}

/**
 * Memory of an object beside its strings and bodies: the object itself, and its entries in maps. Measured, rounded up.
 */
const OVERHEAD_BYTES = 768
const TAG_BYTES = 32
const LONG = 512

/** The memory that it counts for. */
export function weightOf(stored: StoredResponse): number {
  const { key, path, variant, sharedHead, ownHead, targeted = '', tags } = stored
  let weight = OVERHEAD_BYTES + key.length + variant.length + ownHead.length + bodyBytesOf(stored)
  weight += unshared(path) + unshared(sharedHead) + unshared(targeted)
  for (const tag of tags) weight += TAG_BYTES + unshared(tag)
  return weight
}

export const bodyBytesOf = ({ body, br, gzip }: StoredResponse): number =>
  (body?.length ?? 0) + (br?.length ?? 0) + (gzip?.length ?? 0)

/** A long string is hardly shared, so it counts in full: an app must not be able to store it for free. */
const unshared = ({ length }: string): number => (length > LONG ? length : 0)

/** Incremented when the format on the disk changes. */
const META_VERSION = 1

/** The object without its body, as it is written to the disk. */
export function toMeta(environment: string, stored: StoredResponse): string {
  return JSON.stringify({
    version: META_VERSION,
    environment,
    key: stored.key,
    path: stored.path,
    variant: stored.variant,
    vary: stored.vary,
    status: stored.status,
    reason: stored.reason,
    sharedHead: stored.sharedHead,
    ownHead: stored.ownHead,
    lifetime: stored.lifetime,
    bornMs: stored.bornMs,
    deployment: stored.deployment,
    tags: stored.tags,
    targeted: stored.targeted,
    purgeNumber: stored.purgeNumber,
    storeTime: stored.storeTime,
    validateTime: stored.validateTime,
    isCompressible: stored.br !== null || stored.gzip !== null,
  })
}

export function fromMeta(meta: string, place: Place): { environment: string; stored: StoredResponse } {
  const { version, environment, sharedHead, ownHead, bornMs, lifetime, ...written } = JSON.parse(meta)
  // The disk treats this as damage, and discards it with everything older.
  if (version !== META_VERSION)
    throw new Error(`the cache's disk has an object of format version ${version}, not ${META_VERSION}`)
  const headers = headersOf({ sharedHead, ownHead })
  const unread = { size: place.bodyBytes, body: undefined, place }
  const draft = { vary: undefined, targeted: undefined, ...written, ...unread, headers }
  return { environment, stored: toStored({ ...draft, lifetime: { ...lifetime, bornMs } }) }
}
