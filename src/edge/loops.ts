/**
 * Cuts loops: requests that an app can answer only after another request to it.
 *
 * An app that forwards headers, as a proxy does, forwards CDN-Loop, which says how often a request was here.
 *
 * A page that is rendered by fetching itself sends new requests, without a mark that the edge could read. But the requests of such
 * a loop end one after the other, from the last on. So only some requests of apps to a site are in progress at a time, and the
 * others wait until one of those ends:
 *
 *   in progress   asked of the app
 *   waiting       as many are in progress as may be
 *   refused       it waited, and none of those in progress has ended for `appRequestsStalledMs`: they wait for each other
 *
 * A page that fetches a hundred others at a time, or a hundred visitors of a page that fetches one, is no loop: their requests
 * end, and those that wait go on. Of requests of an app to itself there are more with each visit that is in progress, so that
 * visits do not wait for each other. Those of other apps and of builds are counted apart: they are visits to the app.
 */
import type { Forwarded } from './http/forwarded.ts'
import { hopsOf } from './http/hops.ts'
import { PAGES, sendPage } from './http/pages.ts'
import type { ReadRequest, ReadResponse, ReadVisit } from './http/visit.ts'
import type { Limits } from './limits.ts'
import type { InFlight } from './proxy/in-flight.ts'
import type { Routed, ServerTarget } from './routes.ts'

type Parts = {
  limits: Limits
  inFlight: Pick<InFlight, 'countOf'>
  forwarded: Pick<Forwarded, 'isJob' | 'clientOf'>
  /** A request to this deployment was refused. */
  onLoop(deployment: string): void
}

/** Who has sent a request: the app that is to answer, another app or a build, or a visitor. */
type Sender = 'self' | 'job' | 'visitor'

type Waiting = { goOn(): void; refuse(): void }

/** The requests of one kind of sender to one environment. */
type Queue = {
  name: string
  sender: Sender
  inProgress: number
  waiting: Set<Waiting>
  /** Runs while some wait. */
  stall: NodeJS.Timeout | undefined
}

export function createLoops({ limits, inFlight, forwarded, onLoop }: Parts) {
  const queues = new Map<string, Queue>()

  /** Without networks of their own, apps have the address of others, and are visitors. */
  function senderOf(request: ReadRequest, target: ServerTarget): Sender {
    if (!forwarded.isJob(request)) return 'visitor'
    const client = forwarded.clientOf(request)
    return (target.peers ?? [target]).some(({ host }) => host === client) ? 'self' : 'job'
  }

  function queueOf({ environment }: ServerTarget, sender: Sender): Queue {
    const name = `${sender} ${environment}`
    const queue = queues.get(name) ?? { name, sender, inProgress: 0, waiting: new Set(), stall: undefined }
    queues.set(name, queue)
    return queue
  }

  function isFull({ sender, inProgress }: Queue, target: ServerTarget): boolean {
    if (inProgress >= limits.appRequests) return true
    if (sender !== 'self') return false
    const visits = Math.max(0, inFlight.countOf(target.peers ?? [target]) - inProgress)
    return inProgress >= limits.ownRequestsPerVisit * (visits + 1)
  }

  function refuseWaiting(queue: Queue, { deployment }: ServerTarget) {
    const all = [...queue.waiting]
    queue.waiting.clear()
    queue.stall = undefined
    if (all.length > 0) onLoop(deployment)
    for (const { refuse } of all) refuse()
  }

  function end(queue: Queue, target: ServerTarget) {
    queue.inProgress--
    queue.stall?.refresh()
    for (const next of queue.waiting) {
      if (isFull(queue, target)) break
      queue.waiting.delete(next)
      next.goOn()
    }
    if (queue.waiting.size > 0) return
    clearTimeout(queue.stall)
    queue.stall = undefined
    if (queue.inProgress === 0) queues.delete(queue.name)
  }

  /** Calls one of the two, now or later; neither once the response is closed. */
  function enter(queue: Queue, target: ServerTarget, response: ReadResponse, { goOn, refuse }: Waiting) {
    const start = () => {
      queue.inProgress++
      response.once('close', () => end(queue, target))
      goOn()
    }
    if (!isFull(queue, target)) return start()
    if (queue.waiting.size >= limits.appRequestsWaiting) return refuse()
    const waiting = { goOn: start, refuse }
    queue.waiting.add(waiting)
    response.once('close', () => queue.waiting.delete(waiting))
    queue.stall ??= setTimeout(refuseWaiting, limits.appRequestsStalledMs, queue, target)
  }

  return {
    /** Calls back, now or later, unless the request is part of a loop: that is refused. */
    pass(visit: ReadVisit, target: Routed | undefined, goOn: () => void) {
      if (target?.kind !== 'server') return goOn()
      const { request, response } = visit
      const refuse = () => sendPage(response, PAGES.loop)
      if (hopsOf(request.headers['cdn-loop']) >= limits.hops) {
        onLoop(target.deployment)
        return refuse()
      }
      const sender = senderOf(request, target)
      if (sender === 'visitor') return goOn()
      visit.isFromJob = true
      enter(queueOf(target, sender), target, response, { goOn, refuse })
    },
  }
}

export type Loops = ReturnType<typeof createLoops>
