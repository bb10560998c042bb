/** What is counted and recorded of each visit. Requests to an unknown host name belong to no environment, and are neither. */
import type { Socket } from 'node:net'
import { createCounts } from './counts.ts'
import type { PlainRequest } from './fast-path/request.ts'
import type { CountedResponse } from './http/counted-response.ts'
import type { Forwarded } from './http/forwarded.ts'
import type { Visit } from './http/visit.ts'
import type { Wire } from './http/wire.ts'
import { createPaths, type Paths } from './paths.ts'
import type { Upgrade } from './proxy/upgrade.ts'
import type { RequestRecords } from './request-log/record.ts'
import { createRequestLog, type RequestLog } from './request-log/request-log.ts'
import type { Routed } from './routes.ts'

export function createObserver({ forwarded }: { forwarded: Forwarded }) {
  let paths: Paths | undefined
  let requestLog: RequestLog | undefined
  const counts = createCounts(() => paths)

  return {
    countPaths() {
      paths = createPaths()
    },
    recordRequests() {
      requestLog = createRequestLog({ forwarded })
    },

    /** For the fast path, with the whole response. */
    quick({ kind, environment }: Routed, request: PlainRequest, socket: Socket, wire: Wire) {
      counts.quick(environment, request.target, wire)
      requestLog?.quick(environment, request, { socket, wire, cache: kind === 'static' ? 'static' : 'hit' })
    },

    visit(target: Routed | undefined, visit: Visit & { response: CountedResponse }) {
      if (!target) return
      const { environment } = target
      const counted = counts.begin(environment, visit.request.socket, visit.path)
      visit.response.onHead = (status) => counts.answered(counted, status, visit.isHit)
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

function noop() {
  // Nothing is counted.
}
