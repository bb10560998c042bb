/**
 * Answers a request whose response may be stored (RFC 9111): a fresh response is sent; a stale one that may be sent is
 * sent and refreshed in the background; anything else is fetched, once for all requests that wait for it.
 */

import type { Forwarded } from '../http/forwarded.ts'
import { hidesHeaders } from '../http/headers.ts'
import { PAGES, sendPage } from '../http/pages.ts'
import type { ReadVisit } from '../http/visit.ts'
import type { Limits } from '../limits.ts'
import type { Instances } from '../proxy/upstream/instances.ts'
import { createQuota } from '../quota.ts'
import type { ServerTarget } from '../routes.ts'
import type { FetchOutcome, Reader } from './fetch.ts'
import { type Cause, createFetches, type Question, sharedName } from './fetches.ts'
import { forwardStatus, hitStatus, NOT_STORED_STATUS } from './fields/cache-status.ts'
import type { RequestHeaders } from './fields/header-list.ts'
import type { NewestPurges } from './newest-purges.ts'
import type { Judge } from './policy/judge.ts'
import { keyOf } from './policy/key.ts'
import { isPreview } from './policy/preview.ts'
import { decideUse, readRequestDirectives, type Use, type Validate } from './policy/use.ts'
import { createReader } from './reader.ts'
import type { Remark } from './reply.ts'
import type { Bodies } from './store/bodies.ts'
import type { StoredResponse } from './store/object.ts'
import type { Store } from './store/store.ts'

type Parts = {
  limits: Limits
  now(): number
  mayUseStored(): boolean
  store: Store
  bodies: Bodies
  judge: Judge
  instances: Instances
  forwarded: Forwarded
  newestPurges: NewestPurges
}

export function createCache(parts: Parts) {
  const { limits, now, mayUseStored, store, bodies, judge, instances, forwarded, newestPurges } = parts
  const fetches = createFetches({ limits, now, store, judge, instances, forwarded, newestPurges })
  const refreshes = createQuota({
    max: limits.refreshes,
    maxPerOwner: limits.refreshesPerEnvironment,
    reserved: limits.refreshesReserved,
  })

  /** A response that may have been purged in the meantime is used only after the app was asked, and never in place of an error. */
  function useOf({ lifetime, bornMs }: StoredResponse, headers: RequestHeaders): Use {
    const use = decideUse(lifetime, headers, now(), bornMs)
    if (mayUseStored()) return use
    const { ageSeconds, ttlSeconds } = use
    return { kind: 'validate', why: 'cut-off', mayServeOnError: false, mayServeOnFault: false, ageSeconds, ttlSeconds }
  }

  /** For GET and HEAD. */
  function answer(visit: ReadVisit, target: ServerTarget) {
    const question = toQuestion(visit, target)
    const { headers, method } = visit.request
    const bypassed = whyBypassed(visit)
    if (bypassed !== undefined) return passThrough(question, { why: 'bypass', detail: bypassed })
    const { onlyIfCached } = readRequestDirectives(headers)
    const found = find(question)
    if (found.kind !== 'found') {
      if (onlyIfCached) return sendPage(visit.response, PAGES.notStored, { 'cache-status': NOT_STORED_STATUS })
      if (method === 'HEAD') return passThrough(question, { why: found.kind })
      if (asksForPart(visit)) return passThrough(question, { why: 'partial' })
      return fetch(question, { why: found.kind })
    }
    const { stored } = found
    const use = useOf(stored, headers)
    const { ageSeconds, ttlSeconds } = use
    switch (use.kind) {
      case 'stale-while-revalidate':
        visit.isHit = true
        refresh(question, stored)
        return reply(question, stored, { ageSeconds, cacheStatus: hitStatus(ttlSeconds, 'stale-while-revalidate') })
      case 'fresh':
      case 'stale-taken':
        visit.isHit = true
        return reply(question, stored, { ageSeconds, cacheStatus: hitStatus(ttlSeconds) })
      case 'validate': {
        if (onlyIfCached) return sendPage(visit.response, PAGES.notStored, { 'cache-status': NOT_STORED_STATUS })
        const cause: Cause = { why: use.why === 'request' ? 'request' : 'stale', stale: { stored, use } }
        return method === 'HEAD' ? passThrough(question, cause) : fetch(question, cause)
      }
    }
  }

  /** Removes an object whose body was dropped from the disk: the rest of it is of no use. */
  function find({ partition, key, visit, target }: Question) {
    const found = store.find(partition, key, visit.request.headers, target.deployment)
    if (found.kind !== 'found' || bodies.isThere(found.stored)) return found
    store.remove(partition, found.stored)
    return { kind: 'uri-miss' as const }
  }

  /**
   * Whether a stored response could answer the request. A sleeping app is not woken while its response is fresh, and one
   * that was not reported yet is not waited for; for an app that is down, a stale response is sent as well, unless that is forbidden.
   */
  function answerStored(
    visit: ReadVisit,
    { kind, environment, deployment }: { kind: 'asleep' | 'awaited' | 'down'; environment: string; deployment: string },
  ): boolean {
    const { request, response } = visit
    if (whyBypassed(visit) !== undefined) return false
    const partition = store.partitionOf(environment)
    const found = store.find(partition, keyFor(visit), request.headers, deployment)
    if (found.kind !== 'found' || !found.stored.body) return false
    const { stored } = found
    const use = useOf(stored, request.headers)
    if (use.kind !== 'fresh' && (kind !== 'down' || !mayReplaceError(use))) return false
    const detail = use.kind === 'fresh' ? undefined : 'stale-if-error'
    const remark = { ageSeconds: use.ageSeconds, cacheStatus: hitStatus(use.ttlSeconds, detail) }
    visit.isHit = true
    bodies.send({ partition, visit }, stored, remark, () => response.destroy())
    stored.hits++
    stored.isUsed = true
    return true
  }

  const keyFor = ({ authority, path, request }: ReadVisit): string =>
    keyOf({ scheme: forwarded.visitorOf(request).protocol, authority, target: path, headers: request.headers })

  const toQuestion = (visit: ReadVisit, target: ServerTarget): Question => ({
    visit,
    target,
    partition: store.partitionOf(target.environment),
    key: keyFor(visit),
    isPassedThrough: false,
  })

  function reply(question: Question, stored: StoredResponse, remark: Remark) {
    bodies.send(question, stored, remark, () => {
      question.visit.isHit = false
      fetchAlone(question, { why: 'uri-miss' })
    })
    stored.hits++
    stored.isUsed = true
  }

  /** Together with all requests for the same response. */
  function fetch(question: Question, cause: Cause) {
    const shared = sharedName(question)
    if (fetches.isHitForPass(question.target.environment, shared) && !cause.stale) return passThrough(question, cause)
    // Another request's fetch may have begun before a purge of which this edge does not know.
    if (!mayUseStored()) return fetchAlone(question, cause)
    // The response that it would wait for may itself wait for this one.
    if (question.visit.isFromJob) return fetchAlone(question, cause)
    // A response to `no-store` is for this client only: other requests would wait for it in vain.
    if (readRequestDirectives(question.visit.request.headers).noStore) return fetchAlone(question, cause)
    const reader = readerFor(question, cause)
    const inProgress = fetches.find(shared)
    // A fetch that began before a purge may return what was purged.
    const isCurrent = inProgress !== undefined && inProgress.purgeNumber >= question.partition.lastPurge
    const joined =
      isCurrent && inProgress.join(reader) ? inProgress : fetches.start(question, cause, { reader, shared })
    question.visit.response.once('close', () => joined.leave(reader))
  }

  /** The response may still be stored, but no other request joins this fetch, and it joins no other. */
  function fetchAlone(question: Question, cause: Cause) {
    const reader = readerFor(question, cause)
    const started = fetches.start(question, cause, { reader })
    question.visit.response.once('close', () => started.leave(reader))
  }

  const passThrough = (question: Question, cause: Cause) => fetchAlone({ ...question, isPassedThrough: true }, cause)

  /** In the background, within bounds: beyond them the next request tries again. */
  function refresh(question: Question, stored: StoredResponse) {
    const shared = sharedName(question)
    const { environment } = question.target
    if (fetches.find(shared) || readRequestDirectives(question.visit.request.headers).noStore) return
    if (!refreshes.take(environment)) return
    const use: Validate = { kind: 'validate', why: 'stale', mayServeOnError: true, ageSeconds: 0, ttlSeconds: 0 }
    const cause: Cause = { why: 'stale', stale: { stored, use } }
    fetches.start(question, cause, { shared, onEnd: () => refreshes.giveBack(environment) })
  }

  function readerFor(question: Question, cause: Cause): Reader {
    const statusOf = (outcome: FetchOutcome) => statusFor(cause, outcome)
    return createReader(question.visit, {
      statusOf,
      isPassedThrough: question.isPassedThrough,
      whole(stored, outcome, first) {
        const { ageSeconds } = decideUse(stored.lifetime, NO_HEADERS, now(), stored.bornMs)
        reply(question, stored, {
          ageSeconds: ageSeconds > 0 ? ageSeconds : undefined,
          cacheStatus: statusOf(outcome),
          first,
        })
      },
      askAlone: () => fetchAlone(question, { why: cause.why === 'stale' ? 'vary-miss' : cause.why }),
    })
  }

  return { answer, answerStored, isFetching: fetches.isFetching }
}

export type Cache = ReturnType<typeof createCache>

const NO_HEADERS = {}

const statusFor = (cause: Cause, { isStored, isCollapsed, status, detail = '' }: FetchOutcome): string =>
  forwardStatus({
    why: cause.why,
    status,
    stored: isStored,
    collapsed: isCollapsed,
    detail: detail || cause.detail,
  })

const mayReplaceError = (use: Use): boolean =>
  use.kind !== 'validate' || use.mayServeOnError || use.mayServeOnFault === true

/** A request for a part is forwarded: the whole is not fetched only to send a part of it. */
const asksForPart = ({ request: { headers } }: ReadVisit): boolean =>
  headers.range !== undefined || headers['if-match'] !== undefined || headers['if-unmodified-since'] !== undefined

function whyBypassed({ request, path }: ReadVisit): string | undefined {
  if (request.headers.cookie !== undefined && isPreview(request.headers.cookie)) return 'preview'
  if (path === '*') return 'asterisk'
  // The response would be stored as the answer to headers that the app never received.
  if (hidesHeaders(request)) return 'connection'
  return undefined
}
