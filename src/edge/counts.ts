/**
 * Counts the traffic of each environment: every request once, when its response begins; bytes as they are sent, so that
 * a connection that stays open for a day is counted on that day. A response of the fast path costs two look-ups and six
 * additions.
 */
import type { Socket } from 'node:net'
import { lengthOf, statusOf, type Wire } from './http/wire.ts'
import type { PathCounts, Paths } from './paths.ts'
import type { FirstVisit, FirstVisits } from './visits/first-visits.ts'

export type Counts = {
  requests: number
  /** Answered without asking the app. */
  hits: number
  /** Written to the connections of visitors, headers included. */
  bytes: number
  /** With a status of 500 and above. */
  errors: number
  /** With a status of 2xx, 3xx and 4xx. */
  statuses: number[]
  /** How many responses began within each of the times of `LATENCY_BOUNDS_MS`, and, last, how many later. */
  latencies: number[]
  /** The most requested paths, where they are counted. */
  paths?: PathCounts
  /** The first pages after a switch or a purge. */
  firstVisits?: FirstVisit[]
}

/** `isAwaited`: the next page may be the first one after a switch or a purge. */
type Tally = Counts & { isAwaited: boolean }

/** Saved figures of earlier days use these bounds: changing them makes those unusable. */
export const LATENCY_BOUNDS_MS: readonly number[] = [0.5, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192]

/** A request, until its response has ended. */
export type Counted = {
  environment: string
  socket: Socket
  /** Path and query; undefined for an upgrade, which is not counted by path. */
  target: string | undefined
  startMs: number
  isAnswered: boolean
}

/** Of one connection: how many of its bytes are counted, and how many responses have not ended. */
type ConnectionBytes = { countedBytes: number; answers: number }

/** Without `paths`, no paths are counted. */
export function createCounts(
  paths?: () => Paths | undefined,
  firstVisits?: () => Pick<FirstVisits, 'isAwaited' | 'take'>,
) {
  const lines = new WeakMap<Socket, ConnectionBytes>()
  const open = new Set<Counted>()
  let counts = new Map<string, Tally>()

  function of(environment: string): Tally {
    const known = counts.get(environment)
    if (known) return known
    const latencies = new Array<number>(LATENCY_BOUNDS_MS.length + 1).fill(0)
    const isAwaited = firstVisits?.().isAwaited(environment) ?? false
    const made: Tally = { requests: 0, hits: 0, bytes: 0, errors: 0, statuses: [0, 0, 0], latencies, isAwaited }
    counts.set(environment, made)
    return made
  }

  /** With several pipelined responses on one connection, bytes are counted once, for the first that is looked at. */
  function addBytes({ environment, socket }: Counted) {
    const line = lines.get(socket) as ConnectionBytes
    const bytes = (socket.bytesWritten ?? 0) - line.countedBytes
    if (bytes <= 0) return
    line.countedBytes += bytes
    of(environment).bytes += bytes
  }

  /** Returns whether a page is awaited. */
  function answered(counted: Counted, status: number, isHit: boolean): boolean {
    if (counted.isAnswered) return false
    counted.isAnswered = true
    const mine = of(counted.environment)
    const at = bucketOf(performance.now() - counted.startMs)
    mine.requests++
    if (isHit) mine.hits++
    addStatus(mine, status)
    if (counted.target !== undefined) paths?.()?.count(counted.environment, counted.target, status)
    mine.latencies[at] = (mine.latencies[at] as number) + 1
    return mine.isAwaited
  }

  return {
    /**
     * For the fast path: the response was in memory, so its latency is not measured and counts as the lowest. Returns whether a
     * page is awaited.
     */
    quick(environment: string, target: string, wire: Wire): boolean {
      const mine = of(environment)
      const status = statusOf(wire)
      addStatus(mine, status)
      paths?.()?.count(environment, target, status)
      mine.requests++
      mine.hits++
      mine.bytes += lengthOf(wire)
      mine.latencies[0] = (mine.latencies[0] as number) + 1
      return mine.isAwaited
    },

    /** Whether answers of this environment tell that a page is awaited. */
    setAwaited(environment: string, isAwaited: boolean) {
      const mine = counts.get(environment)
      if (mine) mine.isAwaited = isAwaited
    },

    begin(environment: string, socket: Socket, target?: string): Counted {
      const line = lines.get(socket) ?? { countedBytes: 0, answers: 0 }
      lines.set(socket, line)
      // Bytes that were sent while no request was counted here were counted by the fast path.
      if (line.answers === 0) line.countedBytes = socket.bytesWritten ?? 0
      line.answers++
      const counted = { environment, socket, target, startMs: performance.now(), isAnswered: false }
      open.add(counted)
      return counted
    },

    answered,

    /** The response has ended. For a visitor who left before it began, the latency lasts until now. */
    end(counted: Counted) {
      if (!open.delete(counted)) return
      answered(counted, 0, false)
      addBytes(counted)
      ;(lines.get(counted.socket) as ConnectionBytes).answers--
    },

    /** The counts since the last call, by environment; undefined when there are none. */
    take(): Record<string, Counts> | undefined {
      for (const counted of open) addBytes(counted)
      if (counts.size === 0) return undefined
      for (const [environment, counted] of paths?.()?.take() ?? []) of(environment).paths = counted
      for (const [environment, visits] of firstVisits?.().take() ?? []) of(environment).firstVisits = visits
      const taken: Record<string, Counts> = {}
      for (const [environment, { isAwaited: _, ...counted }] of counts) taken[environment] = counted
      counts = new Map()
      return taken
    },
  }
}

export type TrafficCounts = ReturnType<typeof createCounts>

function addStatus(counts: Counts, status: number) {
  const at = Math.floor(status / 100) - 2
  if (at >= 3) counts.errors++
  else if (at >= 0) counts.statuses[at] = (counts.statuses[at] as number) + 1
}

function bucketOf(ms: number): number {
  let at = 0
  while (at < LATENCY_BOUNDS_MS.length && ms > (LATENCY_BOUNDS_MS[at] as number)) at++
  return at
}
