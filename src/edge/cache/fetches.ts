/**
 * The fetches in progress: what the app is asked, what its response means, and under which name other requests join.
 */

import type { Forwarded } from '../http/forwarded.ts'
import { toUpstream } from '../http/headers.ts'
import type { ReadVisit } from '../http/visit.ts'
import type { Limits } from '../limits.ts'
import type { Instances } from '../proxy/upstream/instances.ts'
import type { Head } from '../proxy/upstream/response-reader.ts'
import { createQuota } from '../quota.ts'
import type { ServerTarget } from '../routes.ts'
import { type Fetch, type Reader, startFetch } from './fetch.ts'
import type { ForwardReason } from './fields/cache-status.ts'
import { purgePathOf } from './fields/tags.ts'
import type { NewestPurges } from './newest-purges.ts'
import { type Exchange, type Judge, OF_REQUEST, type Stale } from './policy/judge.ts'
import { isPersonal } from './policy/learned.ts'
import { NOT_IN_FETCHES, OVERRIDES, toConditions } from './policy/upstream-request.ts'
import { normalizeAcceptEncoding } from './policy/vary.ts'
import { createHitForPass } from './store/hit-for-pass.ts'
import type { Partition } from './store/partition.ts'
import type { Store } from './store/store.ts'

/** A request, and where in the cache its response is looked up. */
export type Question = {
  visit: ReadVisit
  target: ServerTarget
  partition: Partition
  key: string
  /** The request is forwarded with its own conditions and ranges. */
  isPassedThrough: boolean
}

/** Why the app is asked (RFC 9211, section 2.2), and which stored response is validated. */
export type Cause = { why: ForwardReason; detail?: string; stale?: Stale }

/** Who waits for a fetch, under which name other requests join it, and what is called when it is over. */
type Sharing = { reader?: Reader; shared?: string; onEnd?(): void }

type Parts = {
  limits: Limits
  now(): number
  store: Store
  judge: Judge
  instances: Instances
  forwarded: Forwarded
  newestPurges: NewestPurges
}

export function createFetches({ limits, now, store, judge, instances, forwarded, newestPurges }: Parts) {
  const fetches = new Map<string, Fetch>()
  const hitForPass = createHitForPass({ now, maxBytes: limits.hitForPassBytes })
  /** How many fetches are in progress whose response may be stored, by environment and path. */
  const paths = new Map<string, number>()
  const collecting = createQuota({
    max: limits.collectingBytes,
    maxPerOwner: limits.collectingBytesPerEnvironment,
    reserved: limits.bufferedBytes,
  })

  function toExchange({ visit, target, partition, key, isPassedThrough }: Question, { why, stale }: Cause): Exchange {
    const { request, path } = visit
    const method = request.method === 'HEAD' ? 'HEAD' : 'GET'
    return {
      target,
      partition,
      key,
      path,
      method,
      requestHeaders: request.headers,
      mayStore: method === 'GET' && why !== 'bypass',
      isPassedThrough,
      stale,
      purgeNumber: store.purgeNumber(),
      requestMs: now(),
    }
  }

  function beginPath(name: string) {
    paths.set(name, (paths.get(name) ?? 0) + 1)
  }

  function endPath(name: string) {
    const count = (paths.get(name) ?? 0) - 1
    if (count > 0) paths.set(name, count)
    else paths.delete(name)
  }

  return {
    start(question: Question, cause: Cause, { reader, shared, onEnd }: Sharing): Fetch {
      const { visit, target, isPassedThrough } = question
      const { request, authority, path, isFromJob } = visit
      const without = isPassedThrough ? OVERRIDES : NOT_IN_FETCHES
      // Host names are case-insensitive, and the key has them in lower case. The app may write its host into the
      // response, so it gets the same spelling for all clients.
      const purge = newestPurges.of(target)
      const sent = toUpstream(request, authority.toLowerCase(), forwarded.visitorOf(request), { without, purge })
      const exchange = toExchange(question, cause)
      const { method, mayStore } = exchange
      const pathName = pathNameOf(target.environment, path)
      if (mayStore) beginPath(pathName)
      let isClosed = false
      const started: Fetch = startFetch(
        {
          ask(isUnconditional, listener) {
            const stale = isUnconditional ? undefined : cause.stale
            exchange.requestMs = now()
            const headers = isPassedThrough ? sent : sent.concat(toConditions(acceptedBy(visit), stale))
            return instances.ask(target, { method, path, headers, isFromJob }, listener)
          },
          judge(head) {
            const verdict = judge.head(exchange, head)
            if (verdict.kind === 'pass' && mayStore && isUnstorableForAll(exchange, head, verdict.detail))
              hitForPass.add(target.environment, shared ?? sharedName(question))
            return verdict
          },
          instead: (why) => judge.instead(exchange, why),
          keep: (body, content) => judge.keep(exchange, body, content),
          reserve: (bytes) => collecting.take(target.environment, bytes),
          release: (bytes) => collecting.giveBack(target.environment, bytes),
          openLarge: () => judge.openLarge(exchange),
          onClosed() {
            if (isClosed) return
            isClosed = true
            if (shared !== undefined && fetches.get(shared) === started) fetches.delete(shared)
          },
          onEnd() {
            onEnd?.()
            if (mayStore) endPath(pathName)
          },
        },
        limits,
        exchange.purgeNumber,
        reader,
      )
      if (shared !== undefined) fetches.set(shared, started)
      return started
    },

    /** The fetch that other requests may join under this name. */
    find: (shared: string): Fetch | undefined => fetches.get(shared),

    /** Whether responses under this name could recently not be stored, so that waiting for one is of no use. */
    isHitForPass: (environment: string, shared: string): boolean => hitForPass.has(environment, shared),

    /** Whether a response for this path may be about to be stored. */
    isFetching: (environment: string, path: string): boolean => paths.has(pathNameOf(environment, path)),
  }
}

/**
 * Requests with credentials, and with cookies where those matter, have names of their own: their responses are mostly personal, so others do not wait for
 * them.
 */
export const sharedName = ({ target, visit, key }: Question): string =>
  `${target.environment} ${visit.request.headers.authorization === undefined ? '' : 'authorized '}${isRecognized(target, visit) ? 'recognized ' : ''}${normalizeAcceptEncoding(acceptedBy(visit))} ${key}`

/** Where pages are kept by their content, those that are made for a known visitor are for one client. */
const isRecognized = ({ learned }: ServerTarget, { request }: ReadVisit): boolean =>
  learned !== undefined && isPersonal(request.headers)

const pathNameOf = (environment: string, path: string): string => `${environment} ${purgePathOf(path)}`

/** Whether it could not be stored for any client: the reason is not in this one request. */
const isUnstorableForAll = ({ isPassedThrough }: Exchange, { status }: Head, why: string): boolean =>
  (!isPassedThrough || status === 200) && (why === 'authorization' || why === 'cookie' || !OF_REQUEST.has(why))

const acceptedBy = ({ request }: ReadVisit): string | undefined =>
  request.headers['accept-encoding'] as string | undefined
