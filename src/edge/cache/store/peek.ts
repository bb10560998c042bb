/**
 * Cache hits as bytes, for requests that the fast path has read: responses that are fresh, in memory and already in the
 * right encoding. Anything else goes through node:http. Both give the client the same answer.
 */
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { PlainRequest } from '../../fast-path/request.ts'
import type { Forwarded } from '../../http/forwarded.ts'
import { toParts, toWire, type Wire } from '../../http/wire.ts'
import { withNoindex } from '../../protection/outward.ts'
import type { Access } from '../../routes.ts'
import { hitStatus } from '../fields/cache-status.ts'
import type { RequestHeaders } from '../fields/header-list.ts'
import { FRAMEWORK_LETTERS, isForFramework, keyOf } from '../policy/key.ts'
import { isPreview } from '../policy/preview.ts'
import { decideUse, type Use } from '../policy/use.ts'
import { headersOfRepresentation } from '../reply.ts'
import type { StoredResponse } from './object.ts'
import { chooseRepresentation, missingEncoding, type Representation } from './representation.ts'
import type { Store } from './store.ts'

type Parts = { now(): number; mayUseStored(): boolean; store: Store; forwarded: Forwarded }

/** Of responses that were serialized within the current second and are sent again while their Age is the same. */
const READY_BYTES = 16 * 1024 * 1024
const MAX_READY = 10_000
/** A longer body is not copied next to its head. */
const READY_BODY_BYTES = 64 * 1024

type Ready = { ageSeconds: number; ttlSeconds: number; isHidden: boolean; body: Buffer; wire: Wire }

export function createPeek({ now, mayUseStored, store, forwarded }: Parts) {
  const ready = new Map<StoredResponse, Ready>()
  let readyBytes = 0
  let readySecond = 0

  function forgetReady(nowMs: number) {
    const second = Math.floor(nowMs / 1000)
    if (second === readySecond && ready.size < MAX_READY) return
    readySecond = second
    readyBytes = 0
    ready.clear()
  }

  /** As head and body for the first request of a second, in one buffer for the others. */
  function wireOf(stored: StoredResponse, representation: Representation, use: Use, isHidden: boolean): Wire {
    const { ageSeconds, ttlSeconds } = use
    const { body } = representation
    const known = ready.get(stored)
    const isSameTime = known?.ageSeconds === ageSeconds && known.ttlSeconds === ttlSeconds
    const isCurrent = isSameTime && known.body === body && known.isHidden === isHidden
    if (isCurrent && known.wire instanceof Uint8Array) return known.wire
    const remark = { ageSeconds, cacheStatus: hitStatus(ttlSeconds) }
    const isWorthIt = isCurrent && body.length <= READY_BODY_BYTES && readyBytes < READY_BYTES
    if (isCurrent && !isWorthIt) return known.wire
    const make = isWorthIt ? toWire : toParts
    const headers = headersOfRepresentation(stored, representation, remark)
    const wire = make(stored.status, isHidden ? withNoindex(headers) : headers, body)
    if (isWorthIt) readyBytes += body.length
    ready.set(stored, { ageSeconds, ttlSeconds, isHidden, body, wire })
    return wire
  }

  return function peek(
    { environment, deployment, access }: { environment: string; deployment: string; access?: Access },
    request: PlainRequest,
    socket: Socket,
  ): Wire | undefined {
    const { authority, target } = request
    for (const name of NEEDS_FULL_PATH) if (request.header(name) !== undefined) return undefined
    const cookie = request.header('cookie')
    if (cookie !== undefined && isPreview(cookie)) return undefined
    const scheme = forwarded.protocolOf(socket, (name) => request.header(name))
    const partition = store.partitionOf(environment)
    // Reading all headers would double the cost of a hit, and most requests are answered by few of them.
    const isFramed = request.namesFrom(FRAMEWORK_LETTERS).some(isForFramework)
    const key = keyOf({ scheme, authority, target, headers: isFramed ? request.headers : NO_HEADERS })
    const headers = isFramed ? request.headers : some(request, store.varyOf(partition, key) ?? NO_NAMES)
    const found = store.find(partition, key, headers, deployment)
    if (found.kind !== 'found') return undefined
    const { stored } = found
    const { body, status, reason } = stored
    // Only node:http writes a reason phrase other than the standard one.
    if (!body || reason !== STATUS_CODES[status]) return undefined
    if (!mayUseStored()) return undefined
    const nowMs = now()
    const use = decideUse(stored.lifetime, headers, nowMs, stored.bornMs)
    if (use.kind !== 'fresh') return undefined
    const accepted = request.header('accept-encoding')
    if (missingEncoding(stored, accepted) !== undefined) return undefined
    stored.hits++
    stored.isUsed = true
    forgetReady(nowMs)
    const representation = chooseRepresentation(stored, body, accepted)
    return wireOf(stored, representation, use, access?.isHidden === true)
  }
}

/** Conditions and cache directives are rare, and only the full path evaluates them. */
const NEEDS_FULL_PATH = ['cache-control', 'pragma', 'if-none-match', 'if-modified-since', 'range']
const NO_HEADERS: RequestHeaders = {}
const NO_NAMES: readonly string[] = []

function some(request: PlainRequest, names: readonly string[]): RequestHeaders {
  if (names.length === 0) return NO_HEADERS
  const headers: Record<string, string | undefined> = {}
  for (const name of names) headers[name] = request.header(name)
  return headers
}
