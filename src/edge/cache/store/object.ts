/**
 * A stored response. A million of them must fit, so it holds its headers as two strings: what many responses have in
 * common is held once for all of them.
 */
import { toLower } from '../../http/remember.ts'
import type { Place } from '../disk/index.ts'
import type { HeaderList } from '../fields/header-list.ts'
import type { Lifetime } from '../policy/freshness.ts'

export type StoredResponse = {
  /** What it is found by within its environment. */
  readonly key: string
  /** Its path as purges name it. */
  readonly path: string
  /** The values of the request headers that it varies by; '' where it varies by none. */
  readonly variant: string
  readonly vary: readonly string[] | undefined
  readonly status: number
  readonly reason: string
  /** Names and values with line feeds between them, which neither can have: those that others have as well … */
  sharedHead: string
  /** … and those that are its own. */
  ownHead: string
  /** The same object for all that live as long: when this one was born stands beside it. */
  lifetime: Lifetime
  bornMs: number
  /** The deployment that made it: with another one live, it is not used. */
  readonly deployment: string
  readonly tags: readonly string[]
  /** The CDN-Cache-Control that it came with, which is for us and is not sent on. */
  readonly targeted: string | undefined
  /** The number of the last purge when its fetch began: purges with a higher one take it away. */
  readonly purgeNumber: number
  storeTime: number
  validateTime: number
  size: number
  /** Undefined while it is on the disk alone. */
  body: Buffer | undefined
  /** Where it is on the disk, if it is. */
  place: Place | undefined
  /** Compressed forms, made once, when somebody wants one; `null` where it is not worth it. */
  br: Buffer | null | undefined
  gzip: Buffer | null | undefined
  hits: number
  /** Used since the last time that something had to go. */
  isUsed: boolean
}

/** What a response has to say, before it is packed. */
export type Draft = Omit<StoredResponse, 'sharedHead' | 'ownHead' | 'bornMs' | 'br' | 'gzip' | 'hits' | 'isUsed'> & {
  headers: HeaderList
  /** Whether we may make compressed forms of it. */
  isCompressible: boolean
}

/** Every field by its name: an object that is spread together takes more memory, and more time to make. */
export function toStored(draft: Draft): StoredResponse {
  const { key, path, tags, vary, targeted } = draft
  const encoding = draft.isCompressible ? undefined : null
  const { sharedHead, ownHead, lifetime, bornMs } = packed(draft.headers, draft.lifetime)
  return {
    key,
    // A part of the key takes no memory of its own, as long as it is the same letter by letter.
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

/** Beyond them one is forgotten with all the others: it is then held twice for a while, which is all. */
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

/** A part of a string holds all of it in memory: here, the whole head that a tag was read from. */
const copied = (text: string): string => Buffer.from(text, 'latin1').toString('latin1')

function sharedLifetime(lifetime: Lifetime): Lifetime {
  const { freshMs, whileRevalidatingMs, ifErrorMs, mayBeStale, mustValidate } = lifetime
  // It is for people, and an app may write a number of any length.
  const from = lifetime.from.slice(0, FROM_LENGTH)
  const name = `${freshMs} ${whileRevalidatingMs} ${ifErrorMs} ${mayBeStale} ${mustValidate} ${from}`
  const known = lifetimes.get(name)
  if (known) return known
  if (lifetimes.size >= MAX_SHARED) lifetimes.clear()
  const made = { ...lifetime, from: copied(from), bornMs: 0 }
  lifetimes.set(name, made)
  return made
}

/** What an object takes beside its bodies: strings, the object itself, and its place in maps. Measured, rounded up. */
const OVERHEAD_BYTES = 768
const TAG_BYTES = 32
const LONG = 512

/** What it counts in memory. */
export function weightOf(stored: StoredResponse): number {
  const { key, path, variant, sharedHead, ownHead, targeted = '', tags } = stored
  let weight = OVERHEAD_BYTES + key.length + variant.length + ownHead.length + bodyBytesOf(stored)
  weight += unshared(path) + unshared(sharedHead) + unshared(targeted)
  for (const tag of tags) weight += TAG_BYTES + unshared(tag)
  return weight
}

export const bodyBytesOf = ({ body, br, gzip }: StoredResponse): number =>
  (body?.length ?? 0) + (br?.length ?? 0) + (gzip?.length ?? 0)

/** What is long is hardly shared by many, and whoever sends it must not get it for nothing. */
const unshared = ({ length }: string): number => (length > LONG ? length : 0)

/** Rises when what is written down changes its meaning. */
const META_VERSION = 1

/** The object without its body, as it is written down beside it. */
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
  // The disk takes it for damaged, and forgets it with everything older.
  if (version !== META_VERSION) throw new Error(`an object of version ${version}`)
  const headers = headersOf({ sharedHead, ownHead })
  const unread = { size: place.bodyBytes, body: undefined, place }
  const draft = { vary: undefined, targeted: undefined, ...written, ...unread, headers }
  return { environment, stored: toStored({ ...draft, lifetime: { ...lifetime, bornMs } }) }
}
