/**
 * Records requests at the edge, until they are reported to the control process. A response of the fast path costs one look-up
 * and a few additions; what is kept of it is limited by `samples.ts`.
 */
import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import type { PlainRequest } from '../fast-path/request.ts'
import type { ObservedResponse } from '../http/counted-response.ts'
import type { Forwarded } from '../http/forwarded.ts'
import type { ReadVisit } from '../http/visit.ts'
import { lengthOf, statusOf, type Wire } from '../http/wire.ts'
import type { Upgrade } from '../proxy/upgrade.ts'
import {
  type CacheResult,
  cacheResultOf,
  copyOf,
  type KeptRequest,
  type Outcome,
  type RequestRecords,
  toRecord,
} from './record.ts'
import { createSamples } from './samples.ts'

type Parts = { forwarded: Forwarded; now?(): number }

/** What is known of a request before it is answered. */
type Begun = { environment: string; method: string; target: string; client: string | undefined; startMs: number }
type QuickAnswer = { socket: Socket; wire: Wire; cache: CacheResult }
type Answer = {
  status: number
  bytes: number
  cache: CacheResult
  outcome: Outcome
  id?: string | undefined
}

export function createRequestLog({ forwarded, now = Date.now }: Parts) {
  const samples = createSamples<KeptRequest>()
  /** Bytes of a connection up to the end of its last response: several may be pipelined. */
  const endedBytes = new WeakMap<Socket, number>()

  function begin(environment: string, { request, path }: Pick<ReadVisit, 'request' | 'path'>): Begun {
    const { method = '', socket } = request
    const client = forwarded.addressOf(socket, (name) => request.headers[name]?.toString())
    return { environment, method, target: path, client, startMs: performance.now() }
  }

  function end({ environment, method, target, client, startMs }: Begun, answer: Answer) {
    const { status, bytes, cache, outcome, id } = answer
    if (!samples.isKept(environment, status)) return
    const durationMs = Math.round((performance.now() - startMs) * 10) / 10
    samples.keep({ time: now(), method, target: copyOf(target), status, durationMs, bytes, cache, outcome, client, id })
  }

  return {
    /** For the fast path: the response was in memory, and is written in the same moment. */
    quick(environment: string, request: PlainRequest, { socket, wire, cache }: QuickAnswer) {
      const status = statusOf(wire)
      if (!samples.isKept(environment, status)) return
      const client = forwarded.addressOf(socket, (name) => request.header(name))
      samples.keep({
        time: now(),
        method: 'GET',
        target: copyOf(request.target),
        status,
        durationMs: 0,
        bytes: lengthOf(wire),
        cache,
        outcome: 'complete',
        client: client === undefined ? undefined : copyOf(client),
        id: undefined,
      })
    },

    /** Records the request when its response has ended. */
    visit(environment: string, visit: ReadVisit & { response: ObservedResponse }) {
      const { request, response } = visit
      const { socket } = request
      const begun = begin(environment, visit)
      const startBytes = socket.bytesWritten
      let status = 0
      let cacheStatus: string | undefined
      // A stored error is the same for all who get it, and by the fast path.
      response.identify = (headers) =>
        STORED.has(cacheResultOf(headerIn(headers, 'cache-status'))) ? undefined : newRequestId()
      response.onHeaders = (headers) => {
        status = response.statusCode
        cacheStatus = headerIn(headers, 'cache-status')
      }
      function record(outcome: Outcome) {
        // Of pipelined responses, this one began where the one before it ended.
        const bytes = socket.bytesWritten - Math.max(startBytes, endedBytes.get(socket) ?? 0)
        endedBytes.set(socket, socket.bytesWritten)
        end(begun, { status, bytes, cache: cacheResultOf(cacheStatus), outcome, id: response.id })
      }
      // First of all listeners: after node:http's own, the next pipelined response has begun.
      response.prependOnceListener('finish', () => record('complete'))
      response.once('close', () => {
        if (!response.writableFinished) record(response.isBroken ? 'broken' : 'aborted')
      })
    },

    /** The same for a connection that may change its protocol. Returns the function that gets the status of the answer. */
    upgrade(environment: string, { request, path, socket }: Pick<Upgrade, 'request' | 'path' | 'socket'>) {
      const begun = begin(environment, { request, path })
      const startBytes = socket.bytesWritten
      let status = 0
      socket.once('close', () => {
        const bytes = socket.bytesWritten - startBytes
        end(begun, { status, bytes, cache: 'bypass', outcome: status === 0 ? 'aborted' : 'complete' })
      })
      return (answered: number) => {
        status = answered
      }
    },

    /** The records since the last call; undefined when there are none. */
    take(): RequestRecords | undefined {
      const taken = samples.take().map(([environment, kept]) => [environment, kept.map(toRecord)])
      return taken.length > 0 ? Object.fromEntries(taken) : undefined
    },
    giveBack: samples.giveBack,
  }
}

export type RequestLog = ReturnType<typeof createRequestLog>

const STORED: ReadonlySet<CacheResult> = new Set(['hit', 'stale'])

/** Long enough that two of one environment are never the same, short enough to be read to someone. */
const newRequestId = (): string => randomBytes(8).toString('hex')

/** From the headers of `writeHead`: a list of names and values, or an object. Those of the cache are the last ones. */
function headerIn(headers: unknown, name: string): string | undefined {
  if (Array.isArray(headers)) {
    for (let at = headers.length - 2; at >= 0; at -= 2)
      if (String(headers[at]).toLowerCase() === name) return String(headers[at + 1])
    return undefined
  }
  const value = (headers as Record<string, unknown> | undefined)?.[name]
  return value === undefined ? undefined : String(value)
}
