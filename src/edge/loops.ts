/**
 * Cuts loops: requests that an app can answer only after another request to it.
 *
 * An app that forwards headers, as a proxy does, forwards CDN-Loop, which says how often a request was here.
 *
 * A page that is rendered by fetching itself sends new requests, without a mark that the edge could read. But the requests of such
 * a loop end one after the other, from the last on. So only some requests of an app to its own site are in progress at a time,
 * and the others wait until one of those ends:
 *
 *   in progress   asked of the app
 *   waiting       as many are in progress as may be
 *   refused       it waited, and none of those in progress has ended for `ownRequestsStalledMs`: they wait for each other
 *
 * A page that fetches a hundred others at a time, or a hundred visitors of a page that fetches one, is no loop: their requests
 * end, and those that wait go on. The number grows with the visits that are in progress, so that visits do not wait for each other.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Forwarded } from './http/forwarded.ts'
import { hopsOf } from './http/hops.ts'
import { PAGES, sendPage } from './http/pages.ts'
import type { Visit } from './http/visit.ts'
import type { Limits } from './limits.ts'
import type { InFlight } from './proxy/in-flight.ts'
import type { Routed, ServerTarget } from './routes.ts'

type Parts = {
  limits: Limits
  inFlight: Pick<InFlight, 'countOf'>
  forwarded: Pick<Forwarded, 'mayBeJob' | 'clientOf'>
  /** A request of this deployment was refused. */
  onLoop(deployment: string): void
}

type Waiting = { goOn(): void; refuse(): void }

type Own = {
  inProgress: number
  waiting: Set<Waiting>
  /** Runs while some wait. */
  stall: NodeJS.Timeout | undefined
}

export function createLoops({ limits, inFlight, forwarded, onLoop }: Parts) {
  const environments = new Map<string, Own>()

  /** Visits are the requests in flight that are not the app's own. */
  function max(target: ServerTarget, { inProgress }: Own): number {
    const visits = Math.max(0, inFlight.countOf(target.peers ?? [target]) - inProgress)
    return Math.min(limits.ownRequests, limits.ownRequestsPerVisit * (visits + 1))
  }

  function refuseWaiting(own: Own, { deployment }: ServerTarget) {
    const all = [...own.waiting]
    own.waiting.clear()
    own.stall = undefined
    if (all.length > 0) onLoop(deployment)
    for (const { refuse } of all) refuse()
  }

  function end(environment: string, own: Own, target: ServerTarget) {
    own.inProgress--
    own.stall?.refresh()
    for (const next of own.waiting) {
      if (own.inProgress >= max(target, own)) break
      own.waiting.delete(next)
      next.goOn()
    }
    if (own.waiting.size > 0) return
    clearTimeout(own.stall)
    own.stall = undefined
    if (own.inProgress === 0) environments.delete(environment)
  }

  /** Whether the app that is to answer has sent the request. Without networks of their own, apps have the address of others. */
  function isOwn({ peers, ...target }: ServerTarget, request: IncomingMessage): boolean {
    if (!forwarded.mayBeJob(request)) return false
    const client = forwarded.clientOf(request)
    return client !== LOOPBACK && (peers ?? [target]).some(({ host }) => host === client)
  }

  /** Calls one of the two, now or later; neither once the response is closed. */
  function wait(response: ServerResponse, target: ServerTarget, { goOn, refuse }: Waiting) {
    const { environment } = target
    const own = environments.get(environment) ?? { inProgress: 0, waiting: new Set(), stall: undefined }
    environments.set(environment, own)
    const start = () => {
      own.inProgress++
      response.once('close', () => end(environment, own, target))
      goOn()
    }
    if (own.inProgress < max(target, own)) return start()
    if (own.waiting.size >= limits.ownRequestsWaiting) return refuse()
    const waiting = { goOn: start, refuse }
    own.waiting.add(waiting)
    response.once('close', () => own.waiting.delete(waiting))
    own.stall ??= setTimeout(refuseWaiting, limits.ownRequestsStalledMs, own, target)
  }

  return {
    /** Calls back, now or later, unless the request is part of a loop: that is refused. */
    pass(visit: Visit, target: Routed | undefined, goOn: () => void) {
      if (target?.kind !== 'server') return goOn()
      const { request, response } = visit
      const refuse = () => sendPage(response, PAGES.loop)
      if (hopsOf(request.headers['cdn-loop']) >= limits.hops) {
        onLoop(target.deployment)
        return refuse()
      }
      visit.isOwn = isOwn(target, request)
      if (visit.isOwn) wait(response, target, { goOn, refuse })
      else goOn()
    },
  }
}

const LOOPBACK = '127.0.0.1'
