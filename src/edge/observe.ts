/**
 * What is counted and recorded of each visit. Requests to an unknown host name belong to no environment, and are neither; nor are
 * those of the service itself.
 */
import type { Socket } from 'node:net'
import { createCounts } from './counts.ts'
import type { PlainRequest } from './fast-path/request.ts'
import type { ObservedResponse } from './http/counted-response.ts'
import type { Forwarded } from './http/forwarded.ts'
import type { ReadVisit } from './http/visit.ts'
import { statusOf, type Wire } from './http/wire.ts'
import { createPaths, type Paths } from './paths.ts'
import type { Upgrade } from './proxy/upgrade.ts'
import type { RequestRecords } from './request-log/record.ts'
import { createRequestLog, type RequestLog } from './request-log/request-log.ts'
import type { Routed } from './routes.ts'
import { createFirstVisits, isPageIn, isPageWire } from './visits/first-visits.ts'

export function createObserver({ forwarded }: { forwarded: Forwarded }) {
  let paths: Paths | undefined
  let requestLog: RequestLog | undefined
  const counts = createCounts(
    () => paths,
    () => firstVisits,
  )
  const firstVisits = createFirstVisits({ expect: (environment) => counts.setAwaited(environment, true) })

  function pageAnswered({ kind, environment }: Routed, target: string, startMs: number, isHit: boolean) {
    const isStored = isHit && kind !== 'static'
    counts.setAwaited(environment, firstVisits.answered(environment, { target, startMs, isStored }))
  }

  return {
    countPaths() {
      paths = createPaths()
    },
    recordRequests() {
      requestLog = createRequestLog({ forwarded })
    },

    firstVisits,

    /** For the fast path, with the whole response. */
    quick(target: Routed, request: PlainRequest, socket: Socket, wire: Wire) {
      if (forwarded.isOurs(socket)) return
      const { kind, environment } = target
      const isAwaited = counts.quick(environment, request.target, wire)
      if (isAwaited && statusOf(wire) === 200 && isPageWire(wire) && forwarded.jobAddressOf(socket) === undefined)
        pageAnswered(target, request.target, performance.now(), true)
      requestLog?.quick(environment, request, { socket, wire, cache: kind === 'static' ? 'static' : 'hit' })
    },

    visit(target: Routed | undefined, visit: ReadVisit & { response: ObservedResponse }) {
      if (!target || forwarded.isOurs(visit.request.socket)) return
      const { environment } = target
      const counted = counts.begin(environment, visit.request.socket, visit.path)
      visit.response.onHead = (status, headers) => {
        if (!counts.answered(counted, status, visit.isHit) || status !== 200 || visit.request.method !== 'GET') return
        if (!isPageIn(headers) || forwarded.isJob(visit.request)) return
        pageAnswered(target, visit.path, counted.startMs, visit.isHit)
      }
      visit.response.once('close', () => counts.end(counted))
      requestLog?.visit(environment, visit)
    },

    /** Returns the function that gets the status of the answer. */
    upgrade(
      target: Routed | undefined,
      upgrade: Pick<Upgrade, 'request' | 'path' | 'socket'>,
    ): (status: number) => void {
      if (!target) return noop
      const { socket } = upgrade
      const counted = counts.begin(target.environment, socket)
      socket.once('close', () => counts.end(counted))
      const recordAnswer = requestLog?.upgrade(target.environment, upgrade)
      return (status) => {
        counts.answered(counted, status, false)
        recordAnswer?.(status)
      }
    },

    takeCounts: counts.take,
    takeRequests: (): RequestRecords | undefined => requestLog?.take(),
    giveBackRequests: (records: RequestRecords) => requestLog?.giveBack(records),
  }
}

export type Observer = ReturnType<typeof createObserver>

function noop() {
  // Nothing is counted.
}
