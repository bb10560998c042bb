/** Decides what the response to a fetch means for the requests that wait for it and for what is stored. */
import { toClient } from '../../http/headers.ts'
import { toLower } from '../../http/remember.ts'
import type { Failure } from '../../proxy/upstream/instances.ts'
import type { Head } from '../../proxy/upstream/response-reader.ts'
import type { ServerTarget } from '../../routes.ts'
import type { FetchOutcome, LargeBody, Verdict } from '../fetch.ts'
import { fieldOf, type HeaderList, membersOf, type RequestHeaders, requestField } from '../fields/header-list.ts'
import { purgePathOf, TAG_FIELDS } from '../fields/tags.ts'
import type { Bodies } from '../store/bodies.ts'
import { headersOf, packed, type StoredResponse, toStored } from '../store/object.ts'
import type { Partition } from '../store/partition.ts'
import { mayBeCompressed } from '../store/representation.ts'
import type { Store } from '../store/store.ts'
import { CONTENT_FIELD, decideLearned, finalTags, type LearnedStorable } from './learned.ts'
import { decideStorage, type Storable, type Unstorable } from './storable.ts'
import { readRequestDirectives, type Validate } from './use.ts'
import { compareHead, freshen, isAbout } from './validation.ts'
import { normalizeAcceptEncoding, variantOf } from './vary.ts'

/** A stored response that must be validated before it is used again. */
export type Stale = { stored: StoredResponse; use: Validate }

export type Exchange = {
  target: ServerTarget
  partition: Partition
  key: string
  path: string
  method: 'GET' | 'HEAD'
  requestHeaders: RequestHeaders
  /** Whether the response may be stored, if it allows that itself. */
  mayStore: boolean
  /** The request was sent with the client's own conditions, so the response answers those. */
  isPassedThrough: boolean
  stale: Stale | undefined
  purgeNumber: number
  requestMs: number
  /** Set by `head` when the response will be stored. */
  draft?: Draft
}

type Draft = Pick<LearnedStorable, 'lifetime' | 'tags' | 'headers' | 'pending'> & {
  head: Head
  variant: string
  vary: readonly string[] | undefined
  responseMs: number
}

type Parts = { now(): number; store: Store; bodies: Bodies }

export function createJudge({ now, store, bodies }: Parts) {
  function head(exchange: Exchange, received: Head): Verdict {
    const { stale, partition, method } = exchange
    if (stale && method === 'HEAD') compareWithHead(exchange, stale, received)
    if (stale && received.status === 304 && !exchange.isPassedThrough) return validated(exchange, stale, received)
    if (stale?.use.mayServeOnError && FAILED.has(received.status)) {
      const outcome = { isStored: false, status: received.status, detail: 'stale-if-error' }
      return { kind: 'use', stored: stale.stored, outcome }
    }
    const decision = exchange.mayStore ? decide(exchange, received.status, received.headers) : undefined
    if (decision?.kind !== 'store') return pass(exchange, received, decision?.why ?? '')
    if (exchange.isPassedThrough && !isEncodedForMany(exchange, received)) return pass(exchange, received, 'encoding')
    const { vary, headers } = withEncodingIn(decision)
    const variant = vary ? variantOf(vary, exchange.requestHeaders) : ''
    if (stale && stale.stored.variant !== variant) store.remove(partition, stale.stored)
    const { lifetime, tags, pending } = decision
    exchange.draft = {
      lifetime,
      tags,
      ...(pending ? { pending } : {}),
      headers,
      head: received,
      variant,
      vary,
      responseMs: now(),
    }
    return {
      kind: 'store',
      outgoing: { status: received.status, reason: received.reason, headers: toFirst(received, headers) },
      forOthers: { status: received.status, reason: received.reason, headers },
      isFor: (others) => vary === undefined || variantOf(vary, others) === variant,
      isPending: pending !== undefined,
    }
  }

  /** `about` are the headers that say what it is made of: those of a 304 are not stored. */
  function decide(
    exchange: Exchange,
    status: number,
    headers: HeaderList,
    about = headers,
  ): LearnedStorable | Unstorable {
    const { method, requestHeaders, requestMs, path, target } = exchange
    if (readRequestDirectives(requestHeaders).noStore) return { kind: 'pass', why: 'request-no-store' }
    const asked = { method, requestHeaders, status, headers, requestMs, responseMs: now() }
    const found = decideStorage(asked)
    if (!target.learned) return found
    return decideLearned({ ...asked, ...target.learned, target: path, content: fieldOf(about, CONTENT_FIELD) }, found)
  }

  function pass({ stale, partition, method }: Exchange, received: Head, detail: string): Verdict {
    // The response is newer than the stored one and must not be stored, so the stored one is outdated.
    const isNewer = received.status < 400 || received.status === 404 || received.status === 410
    if (stale && method === 'GET' && isNewer && !OF_REQUEST.has(detail)) store.remove(partition, stale.stored)
    const { headers, isEventStream } = toClient(received.headers)
    return {
      kind: 'pass',
      outgoing: { status: received.status, reason: received.reason, headers },
      detail,
      isEventStream,
    }
  }

  /** The app has confirmed that the stored response is still valid (RFC 9111, section 4.3.4). */
  function validated(exchange: Exchange, { stored }: Stale, received: Head): Verdict {
    const before = headersOf(stored)
    if (!isAbout(before, received.headers)) return { kind: 'again' }
    const headers = freshen(before, received.headers)
    const decision = decide(exchange, stored.status, withTargeted(headers, stored.targeted), received.headers)
    const outcome = { isStored: decision.kind === 'store', status: 304 }
    if (decision.kind !== 'store') {
      if (!OF_REQUEST.has(decision.why)) store.remove(exchange.partition, stored)
      const once = { ...stored, ...packed(headers, { ...stored.lifetime, bornMs: now() }) }
      return { kind: 'use', stored: once, outcome, isForOne: true }
    }
    // The list would come in a trailer, which a 304 does not have.
    if (decision.pending) return { kind: 'again' }
    // The record on the disk lacks the new tag, so a purge by that tag would miss it.
    if (!decision.tags.every((tag) => stored.tags.includes(tag))) return { kind: 'again' }
    store.renew(exchange.partition, stored, withoutLength(decision.headers), decision.lifetime)
    return { kind: 'use', stored, outcome }
  }

  function compareWithHead(exchange: Exchange, { stored }: Stale, received: Head) {
    if (received.status !== stored.status) return
    const before = headersOf(stored)
    const found = compareHead(before, stored.size, received.headers)
    if (found === 'invalidate') return store.remove(exchange.partition, stored)
    // Whether it is made of the same content is not known from this.
    if (found !== 'freshen' || exchange.target.learned) return
    const asGet: Exchange = { ...exchange, method: 'GET' }
    const headers = withTargeted(freshen(before, received.headers), stored.targeted)
    const decision = decide(asGet, stored.status, headers)
    if (decision.kind !== 'store') return store.remove(exchange.partition, stored)
    store.renew(exchange.partition, stored, withoutLength(decision.headers), decision.lifetime)
  }

  function describe({ key, path, target, purgeNumber, draft }: Exchange, size: number, body?: Buffer): StoredResponse {
    const { lifetime, tags, head: received, variant, vary, responseMs } = draft as Draft
    const headers = withoutLength((draft as Draft).headers)
    const isCompressible = body !== undefined && mayBeCompressed(received.status, headers, size)
    if (isCompressible) addVary(headers, 'Accept-Encoding')
    return toStored({
      key,
      path: purgePathOf(path),
      variant,
      vary,
      status: received.status,
      reason: received.reason,
      headers,
      isCompressible,
      lifetime,
      deployment: target.deployment,
      tags,
      targeted: fieldOf(received.headers, 'cdn-cache-control'),
      purgeNumber,
      storeTime: responseMs,
      validateTime: responseMs,
      size,
      body,
      place: undefined,
    })
  }

  return {
    head,

    /** There is no response: a stale one is used, where that is allowed. */
    instead(
      { stale }: Exchange,
      why: Failure,
    ): { stored: StoredResponse; outcome: Omit<FetchOutcome, 'isCollapsed'> } | undefined {
      if (!stale?.use.mayServeOnError && !stale?.use.mayServeOnFault) return undefined
      return { stored: stale.stored, outcome: { isStored: false, detail: `stale-if-error-${why}` } }
    },

    keep(exchange: Exchange, body: Buffer, content?: string): { stored: StoredResponse; isStored: boolean } {
      const draft = exchange.draft as Draft
      const tags = finalTags(draft, content)
      if (tags) exchange.draft = { ...draft, tags }
      const stored = describe(exchange, body.length, body)
      if (!tags) return { stored, isStored: false }
      const isStored = store.put(exchange.partition, stored)
      if (isStored) bodies.write(exchange.target.environment, stored, body)
      return { stored, isStored }
    },

    /** One whose tags are not known before its end is not kept. */
    openLarge(exchange: Exchange): LargeBody | undefined {
      if (exchange.draft?.pending) return undefined
      let size = 0
      return bodies.openLarge(exchange.target.environment, {
        grew: (bytes) => {
          size += bytes
        },
        finish: () => describe(exchange, size),
        keep: (stored) => store.put(exchange.partition, stored),
      })
    },
  }
}

export type Judge = ReturnType<typeof createJudge>

/**
 * Reasons not to store that lie in the request: they do not affect what is stored, nor the responses to other requests.
 */
export const OF_REQUEST: ReadonlySet<string> = new Set(['request-no-store', 'authorization', 'cookie', 'encoding'])

/** Errors that a stale response may replace (RFC 5861, section 4). */
const FAILED: ReadonlySet<number> = new Set([500, 502, 503, 504])

/**
 * Variants are distinguished only by the encodings that we and most apps know. A request that is passed through may
 * accept others, and clients that do not accept them would get the stored response.
 */
function isEncodedForMany({ requestHeaders }: Exchange, { headers }: Head): boolean {
  const accepted = ['identity', ...membersOf(normalizeAcceptEncoding(requestField(requestHeaders, 'accept-encoding')))]
  return membersOf(fieldOf(headers, 'content-encoding') ?? '').every((name) => accepted.includes(name.toLowerCase()))
}

/** A compressed response varies by Accept-Encoding, even where its Vary omits that. */
function withEncodingIn({ vary, headers }: Storable): { vary: readonly string[] | undefined; headers: string[] } {
  const isEncoded = (fieldOf(headers, 'content-encoding') ?? 'identity') !== 'identity'
  if (!isEncoded || vary?.includes('accept-encoding')) return { vary, headers }
  const extended = [...headers]
  addVary(extended, 'Accept-Encoding')
  return { vary: [...(vary ?? []), 'accept-encoding'], headers: extended }
}

/**
 * The headers for the client whose request fetched the response: all that the app sent, except tags, which are for
 * caches. Date and Vary are those of the stored response, because we may have added what was missing there.
 */
function toFirst(received: Head, stored: HeaderList): string[] {
  const { headers } = toClient(received.headers)
  const sent: string[] = []
  for (let at = 0; at < headers.length; at += 2) {
    const lower = toLower(headers[at] as string)
    if (!OURS.has(lower)) sent.push(headers[at] as string, headers[at + 1] as string)
  }
  for (const name of ['Date', 'Vary']) {
    const value = fieldOf(stored, name.toLowerCase())
    if (value !== undefined) sent.push(name, value)
  }
  return sent
}

const OURS: ReadonlySet<string> = new Set([...TAG_FIELDS, 'date', 'vary'])

/** Fields that a 304 does not repeat still hold, including CDN-Cache-Control, which is not among the stored headers. */
const withTargeted = (headers: string[], targeted: string | undefined): string[] =>
  targeted === undefined || fieldOf(headers, 'cdn-cache-control') !== undefined
    ? headers
    : [...headers, 'CDN-Cache-Control', targeted]

function addVary(headers: string[], name: string) {
  const named = membersOf((fieldOf(headers, 'vary') ?? '').toLowerCase())
  if (!named.includes(name.toLowerCase())) headers.push('Vary', name)
}

function withoutLength(headers: HeaderList): string[] {
  const kept: string[] = []
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] as string
    if (toLower(name) !== 'content-length') kept.push(name, headers[at + 1] as string)
  }
  return kept
}
