/**
 * Hits as bytes, for requests that the fast lane has read: what is fresh, in memory and in the right form already. Anything
 * else is for the story. Whoever reads it cannot tell which of the two has answered.
 */
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Forwarded } from '../forwarded.ts'
import type { PlainRequest } from '../lane-request.ts'
import { toWire } from '../wire.ts'
import { hitStatus } from './cache-status.ts'
import { chooseForm, missingForm } from './form.ts'
import { keyOf } from './key.ts'
import type { StoredResponse } from './object.ts'
import { isPreview } from './preview.ts'
import { headersInForm } from './reply.ts'
import type { Store } from './store.ts'
import { decideUse } from './use.ts'

type Parts = { now(): number; store: Store; forwarded: Forwarded }

/** Longer ones are not copied into one piece. */
const BODY_BYTES = 256 * 1024
/** Of bytes that were put together within the present second, and can be sent again while the age is the same. */
const READY_BYTES = 16 * 1024 * 1024

type Ready = { ageSeconds: number; ttlSeconds: number; body: Buffer; bytes: Buffer }

export function createPeek({ now, store, forwarded }: Parts) {
  let ready = new Map<StoredResponse, Ready>()
  let readyBytes = 0
  let readySecond = 0

  function forgetReady(nowMs: number) {
    const second = Math.floor(nowMs / 1000)
    if (second === readySecond) return
    readySecond = second
    if (ready.size > 0) ready = new Map()
    readyBytes = 0
  }

  return function peek(
    { environment, deployment }: { environment: string; deployment: string },
    request: PlainRequest,
    socket: Socket,
  ): Buffer | undefined {
    const { headers, authority, target } = request
    if (headers.range !== undefined || headers['if-none-match'] !== undefined) return undefined
    if (headers['if-modified-since'] !== undefined) return undefined
    if (headers.cookie !== undefined && isPreview(headers.cookie)) return undefined
    const { protocol } = forwarded.visitorOf({ socket, headers })
    const shelf = store.shelfOf(environment)
    const found = store.find(shelf, keyOf({ scheme: protocol, authority, target, headers }), headers, deployment)
    if (found.kind !== 'found') return undefined
    const { stored } = found
    const { body, status, reason } = stored
    // An unusual reason is written by node:http as it came.
    if (!body || body.length > BODY_BYTES || reason !== STATUS_CODES[status]) return undefined
    const nowMs = now()
    const use = decideUse(stored.lifetime, headers, nowMs, stored.bornMs)
    if (use.kind !== 'fresh') return undefined
    const accepted = headers['accept-encoding']
    if (missingForm(stored, accepted) !== undefined) return undefined
    stored.hits++
    stored.isUsed = true
    forgetReady(nowMs)
    const form = chooseForm(stored, body, accepted)
    const { ageSeconds, ttlSeconds } = use
    const known = ready.get(stored)
    if (known && known.body === form.body && known.ageSeconds === ageSeconds && known.ttlSeconds === ttlSeconds) {
      return known.bytes
    }
    const bytes = toWire(
      status,
      headersInForm(stored, form, { ageSeconds, cacheStatus: hitStatus(ttlSeconds) }),
      form.body,
    )
    readyBytes += bytes.length
    if (readyBytes <= READY_BYTES) ready.set(stored, { ageSeconds, ttlSeconds, body: form.body, bytes })
    return bytes
  }
}
