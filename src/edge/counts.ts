/**
 * Counts what visitors get, by environment: every request once, when its answer begins; bytes as they are sent, so that a
 * connection that stays open for a day is seen on that day. An answer of the fast lane costs two look-ups and six additions.
 */
import type { Socket } from 'node:net'
import { statusOf, type Wire } from './http/wire.ts'
import type { PathCounts, Paths } from './paths.ts'

export type Counts = {
  requests: number
  /** Answered without asking the app. */
  hits: number
  /** Handed to the connections of visitors, headers included. */
  bytes: number
  /** With a status of 500 and above. */
  errors: number
  /** With a status of 2xx, 3xx and 4xx. */
  statuses: number[]
  /** How many answers began within each of the times of `LATENCY_BOUNDS_MS`, and, last, how many later. */
  latencies: number[]
  /** The paths that were asked for most, where they are counted. */
  paths?: PathCounts
}

/** What is kept of earlier days was counted by these: to change them is to forget it. */
export const LATENCY_BOUNDS_MS: readonly number[] = [0.5, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192]

/** A request on its way to an answer, and that answer on its way. */
export type Counted = {
  environment: string
  socket: Socket
  /** Path and query; undefined where paths do not count. */
  target: string | undefined
  startMs: number
  isAnswered: boolean
}

/** Of one connection: how many of its bytes are counted, and how many answers are on their way. */
type Line = { countedBytes: number; answers: number }

/** Without `paths`, no paths are counted. */
export function createCounts(paths?: () => Paths | undefined) {
  const lines = new WeakMap<Socket, Line>()
  const open = new Set<Counted>()
  let counts = new Map<string, Counts>()

  function of(environment: string): Counts {
    const known = counts.get(environment)
    if (known) return known
    const latencies = new Array<number>(LATENCY_BOUNDS_MS.length + 1).fill(0)
    const made: Counts = { requests: 0, hits: 0, bytes: 0, errors: 0, statuses: [0, 0, 0], latencies }
    counts.set(environment, made)
    return made
  }

  /** Where several answers wait for each other on one connection, bytes count for the first that looks, and once. */
  function addBytes({ environment, socket }: Counted) {
    const line = lines.get(socket) as Line
    const bytes = (socket.bytesWritten ?? 0) - line.countedBytes
    if (bytes <= 0) return
    line.countedBytes += bytes
    of(environment).bytes += bytes
  }

  function answered(counted: Counted, status: number, isHit: boolean) {
    if (counted.isAnswered) return
    counted.isAnswered = true
    const mine = of(counted.environment)
    const at = bucketOf(performance.now() - counted.startMs)
    mine.requests++
    if (isHit) mine.hits++
    addStatus(mine, status)
    if (counted.target !== undefined) paths?.()?.count(counted.environment, counted.target, status)
    mine.latencies[at] = (mine.latencies[at] as number) + 1
  }

  return {
    /** The fast lane has all that it sends before it: nobody waited, so nobody looks at a clock. */
    quick(environment: string, target: string, wire: Wire) {
      const mine = of(environment)
      const status = statusOf(wire)
      addStatus(mine, status)
      paths?.()?.count(environment, target, status)
      mine.requests++
      mine.hits++
      mine.bytes += wire instanceof Uint8Array ? wire.length : wire.head.length + wire.body.length
      mine.latencies[0] = (mine.latencies[0] as number) + 1
    },

    begin(environment: string, socket: Socket, target?: string): Counted {
      const line = lines.get(socket) ?? { countedBytes: 0, answers: 0 }
      lines.set(socket, line)
      // What was sent while nobody was counted here was counted elsewhere, by the lane.
      if (line.answers === 0) line.countedBytes = socket.bytesWritten ?? 0
      line.answers++
      const counted = { environment, socket, target, startMs: performance.now(), isAnswered: false }
      open.add(counted)
      return counted
    },

    answered,

    /** Nothing more is sent. A visitor who left before the answer began has waited until now. */
    end(counted: Counted) {
      if (!open.delete(counted)) return
      answered(counted, 0, false)
      addBytes(counted)
      ;(lines.get(counted.socket) as Line).answers--
    },

    /** What was counted since the last call, by environment; undefined where nothing was. */
    take(): Record<string, Counts> | undefined {
      for (const counted of open) addBytes(counted)
      if (counts.size === 0) return undefined
      for (const [environment, counted] of paths?.()?.take() ?? []) of(environment).paths = counted
      const taken = Object.fromEntries(counts)
      counts = new Map()
      return taken
    },
  }
}

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
