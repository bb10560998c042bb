/**
 * The story of a request for something that may be stored (RFC 9111): what is fresh is sent; what is stale and may be sent
 * is sent and refreshed behind the reader's back; anything else is fetched, once for all who wait for it.
 */
import type { Forwarded } from '../http/forwarded.ts'
import { hidesHeaders, toUpstream } from '../http/headers.ts'
import { PAGES, sendPage } from '../http/pages.ts'
import type { Visit } from '../http/visit.ts'
import type { Limits } from '../limits.ts'
import type { Instances } from '../proxy/upstream/instances.ts'
import type { Head } from '../proxy/upstream/response-reader.ts'
import { createQuota } from '../quota.ts'
import type { ServerTarget } from '../routes.ts'
import { type Fetch, type Reader, startFetch, type Way } from './fetches.ts'
import { forwardStatus, hitStatus, NOT_STORED_STATUS } from './fields/cache-status.ts'
import { purgePathOf } from './fields/tags.ts'
import { type Exchange, type Judge, OF_REQUEST, type Stale } from './policy/judge.ts'
import { keyOf } from './policy/key.ts'
import { isPreview } from './policy/preview.ts'
import { NOT_IN_FETCHES, OVERRIDES, toConditions } from './policy/upstream-request.ts'
import { decideUse, readRequestWishes, type Use, type Validate } from './policy/use.ts'
import { normalizeAcceptEncoding } from './policy/vary.ts'
import { createReader } from './reader.ts'
import type { Remark } from './reply.ts'
import type { Bodies } from './store/bodies.ts'
import { createHitForPass } from './store/hit-for-pass.ts'
import type { StoredResponse } from './store/object.ts'
import type { Partition, Store } from './store/store.ts'

type Parts = {
  limits: Limits
  now(): number
  store: Store
  bodies: Bodies
  judge: Judge
  instances: Instances
  forwarded: Forwarded
}

/** A visit, and where in the cache it looks. */
type Question = {
  visit: Visit
  target: ServerTarget
  partition: Partition
  key: string
  /** Passed on with its own conditions and ranges. */
  isAsItCame: boolean
}

/** Who waits for a fetch, under which name others find it, and who wants to know when nothing of it is under way. */
type Sharing = { reader?: Reader; shared?: string; onEnd?(): void }

/** Why the app is asked (RFC 9211, section 2.2), and about what. */
type Cause = { why: Parameters<typeof forwardStatus>[0]['why']; detail?: string; stale?: Stale }

export function createCache({ limits, now, store, bodies, judge, instances, forwarded }: Parts) {
  const fetches = new Map<string, Fetch>()
  const hitForPass = createHitForPass({ now, maxBytes: limits.passBytes })
  /** How many fetches are under way that may be stored, by environment and path. */
  const paths = new Map<string, number>()
  const refreshes = createQuota({
    max: limits.refreshes,
    maxPerOwner: limits.refreshesPerEnvironment,
    reserved: limits.refreshesReserved,
  })
  const collecting = createQuota({
    max: limits.collectingBytes,
    maxPerOwner: limits.collectingBytesPerEnvironment,
    reserved: limits.heldBytes,
  })

  /** For GET and HEAD. */
  function answer(visit: Visit, target: ServerTarget) {
    const question = toQuestion(visit, target)
    const { headers, method } = visit.request
    const bypassed = whyBypassed(question)
    if (bypassed !== undefined) return passOn(question, { why: 'bypass', detail: bypassed })
    const { onlyIfCached } = readRequestWishes(headers)
    const found = find(question)
    if (found.kind !== 'found') {
      if (onlyIfCached) return sendPage(visit.response, PAGES.notStored, { 'cache-status': NOT_STORED_STATUS })
      if (method === 'HEAD') return passOn(question, { why: found.kind })
      if (asksForPart(visit)) return passOn(question, { why: 'partial' })
      return fetch(question, { why: found.kind })
    }
    const { stored } = found
    const use = decideUse(stored.lifetime, headers, now(), stored.bornMs)
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
        return method === 'HEAD' ? passOn(question, cause) : fetch(question, cause)
      }
    }
  }

  /** A body that was on the disk may have been dropped there: what is left of it is of no use. */
  function find({ partition, key, visit, target }: Question) {
    const found = store.find(partition, key, visit.request.headers, target.deployment)
    if (found.kind !== 'found' || bodies.isThere(found.stored)) return found
    store.remove(partition, found.stored)
    return { kind: 'uri-miss' as const }
  }

  /**
   * Whether what is stored was all that it took. An app that sleeps is not woken for what is fresh; in place of one that
   * is down, what is stale will do, unless that is forbidden.
   */
  function answerStored(
    visit: Visit,
    { kind, environment, deployment }: { kind: 'asleep' | 'down'; environment: string; deployment: string },
  ): boolean {
    const { request, response } = visit
    if (whyBypassed({ visit }) !== undefined) return false
    const partition = store.partitionOf(environment)
    const found = store.find(partition, keyFor(visit), request.headers, deployment)
    if (found.kind !== 'found' || !found.stored.body) return false
    const { stored } = found
    const use = decideUse(stored.lifetime, request.headers, now(), stored.bornMs)
    if (use.kind !== 'fresh' && (kind === 'asleep' || !isBetterThanNothing(use))) return false
    const detail = use.kind === 'fresh' ? undefined : 'stale-if-error'
    const remark = { ageSeconds: use.ageSeconds, cacheStatus: hitStatus(use.ttlSeconds, detail) }
    visit.isHit = true
    bodies.send(partition, visit, stored, remark, () => response.destroy())
    stored.hits++
    stored.isUsed = true
    return true
  }

  const keyFor = ({ authority, path, request }: Visit): string =>
    keyOf({ scheme: forwarded.visitorOf(request).protocol, authority, target: path, headers: request.headers })

  function toQuestion(visit: Visit, target: ServerTarget): Question {
    return { visit, target, partition: store.partitionOf(target.environment), key: keyFor(visit), isAsItCame: false }
  }

  function reply(question: Question, stored: StoredResponse, remark: Remark) {
    bodies.send(question.partition, question.visit, stored, remark, () => {
      question.visit.isHit = false
      fetchAlone(question, { why: 'uri-miss' })
    })
    stored.hits++
    stored.isUsed = true
  }

  /** Together with all who want the same. */
  function fetch(question: Question, cause: Cause) {
    const shared = sharedName(question)
    if (hitForPass.has(question.target.environment, shared) && !cause.stale) return passOn(question, cause)
    // What is not to be stored is for him alone: the others would have waited for nothing.
    if (readRequestWishes(question.visit.request.headers).noStore) return fetchAlone(question, cause)
    const reader = readerFor(question, cause)
    const underWay = fetches.get(shared)
    // One that began before a purge may bring what was purged.
    const isCurrent = underWay !== undefined && underWay.purgeNumber >= question.partition.lastPurge
    const joined = isCurrent && underWay.join(reader) ? underWay : start(question, cause, { reader, shared })
    question.visit.response.once('close', () => joined.leave(reader))
  }

  /** What comes may be stored all the same; but nobody waits for it, and nobody is waited for. */
  function fetchAlone(question: Question, cause: Cause) {
    const reader = readerFor(question, cause)
    const started = start(question, cause, { reader })
    question.visit.response.once('close', () => started.leave(reader))
  }

  const passOn = (question: Question, cause: Cause) => fetchAlone({ ...question, isAsItCame: true }, cause)

  /** Behind the reader's back, within bounds: beyond them the next reader tries again. */
  function refresh(question: Question, stored: StoredResponse) {
    const shared = sharedName(question)
    const { environment } = question.target
    if (fetches.has(shared) || readRequestWishes(question.visit.request.headers).noStore) return
    if (!refreshes.take(environment)) return
    const use: Validate = { kind: 'validate', why: 'stale', mayServeOnError: true, ageSeconds: 0, ttlSeconds: 0 }
    start(question, { why: 'stale', stale: { stored, use } }, { shared, onEnd: () => refreshes.giveBack(environment) })
  }

  /** What is asked for under somebody's name is mostly his alone, and nobody else waits for it. */
  const sharedName = ({ target, visit, key }: Question): string =>
    `${target.environment} ${visit.request.headers.authorization === undefined ? '' : 'authorized '}${normalizeAcceptEncoding(accepted(visit))} ${key}`

  function start(question: Question, cause: Cause, { reader, shared, onEnd }: Sharing): Fetch {
    const { visit, target, partition, key, isAsItCame } = question
    const { request, authority, path } = visit
    const method = request.method === 'HEAD' ? 'HEAD' : 'GET'
    const without = isAsItCame ? OVERRIDES : NOT_IN_FETCHES
    // Names of hosts have no case, and the key has none: what the app may write into its response must have none either.
    const sent = toUpstream(request, authority.toLowerCase(), forwarded.visitorOf(request), { without })
    const exchange: Exchange = {
      target,
      partition,
      key,
      path,
      method,
      requestHeaders: request.headers,
      mayStore: method === 'GET' && cause.why !== 'bypass',
      isAsItCame,
      stale: cause.stale,
      purgeNumber: store.purgeNumber(),
      requestMs: now(),
    }
    const name = `${target.environment} ${purgePathOf(path)}`
    if (exchange.mayStore) paths.set(name, (paths.get(name) ?? 0) + 1)
    let isOver = false
    const started: Fetch = startFetch(
      {
        ask(isUnconditional, listener) {
          const stale = isUnconditional ? undefined : cause.stale
          exchange.requestMs = now()
          const headers = isAsItCame ? sent : [...sent, ...toConditions(accepted(visit), stale)]
          return instances.ask(target, { method, path, headers }, listener)
        },
        judge(head) {
          const verdict = judge.head(exchange, head)
          if (verdict.kind === 'pass' && exchange.mayStore && isForOthersToo(exchange, head, verdict.detail))
            hitForPass.add(target.environment, sharedName(question))
          return verdict
        },
        instead: (why) => judge.instead(exchange, why),
        keep: (body) => judge.keep(exchange, body),
        mayHold: (bytes) => collecting.take(target.environment, bytes),
        letGo: (bytes) => collecting.giveBack(target.environment, bytes),
        openLarge: () => judge.openLarge(exchange),
        over() {
          if (isOver) return
          isOver = true
          if (shared !== undefined && fetches.get(shared) === started) fetches.delete(shared)
        },
        ended() {
          onEnd?.()
          const count = (paths.get(name) ?? 0) - 1
          if (!exchange.mayStore) return
          if (count > 0) paths.set(name, count)
          else paths.delete(name)
        },
      },
      limits,
      exchange.purgeNumber,
      reader,
    )
    if (shared !== undefined) fetches.set(shared, started)
    return started
  }

  function readerFor(question: Question, cause: Cause): Reader {
    const statusOf = ({ isStored, isCollapsed, status, detail = '' }: Way) =>
      forwardStatus({
        why: cause.why,
        status,
        stored: isStored,
        collapsed: isCollapsed,
        detail: detail || cause.detail,
      })
    return createReader(question.visit, {
      statusOf,
      isAsItCame: question.isAsItCame,
      whole(stored, way, first) {
        const { ageSeconds } = decideUse(stored.lifetime, NO_HEADERS, now(), stored.bornMs)
        reply(question, stored, {
          ageSeconds: ageSeconds > 0 ? ageSeconds : undefined,
          cacheStatus: statusOf(way),
          first,
        })
      },
      askAlone: () => fetchAlone(question, { why: cause.why === 'stale' ? 'vary-miss' : cause.why }),
    })
  }

  return {
    answer,
    answerStored,
    /** Whether something of this path may be on its way to be stored. */
    isFetching: (environment: string, path: string): boolean => paths.has(`${environment} ${purgePathOf(path)}`),
  }
}

export type Cache = ReturnType<typeof createCache>

const NO_HEADERS = {}

/** Whether others would not be given it to store either: it is not one reader's own wishes that kept it from being so. */
const isForOthersToo = ({ isAsItCame }: Exchange, { status }: Head, why: string): boolean =>
  (!isAsItCame || status === 200) && (why === 'authorization' || !OF_REQUEST.has(why))

const isBetterThanNothing = (use: Use): boolean =>
  use.kind !== 'validate' || use.mayServeOnError || use.mayServeOnFault === true

const accepted = ({ request }: Visit): string | undefined => request.headers['accept-encoding'] as string | undefined

/** What is asked for may not exist as a whole anywhere near: it is not fetched as a whole only to be cut. */
const asksForPart = ({ request: { headers } }: Visit): boolean =>
  headers.range !== undefined || headers['if-match'] !== undefined || headers['if-unmodified-since'] !== undefined

function whyBypassed({ visit: { request, path } }: Pick<Question, 'visit'>): string | undefined {
  if (request.headers.cookie !== undefined && isPreview(request.headers.cookie)) return 'preview'
  if (path === '*') return 'asterisk'
  // It would be stored as the answer to headers that the app was not told.
  if (hidesHeaders(request)) return 'connection'
  return undefined
}
