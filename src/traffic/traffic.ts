/**
 * Records the visits that the edge counts. The current minute is in memory; a minute that is over is written once, for each
 * environment that had visitors, and added to its hour in the same transaction. Minutes are kept for a day and hours for a
 * month. Counts that were not written yet are lost if the process is killed; nothing is ever counted twice.
 */
import { type Clock, createTurns, type Log, toRfc3339 } from '../base/index.ts'
import { names, type resources } from '../contract/index.ts'
import { list, type Sql, statement, type Transaction } from '../storage/index.ts'
import { type Counts, fromText, NOTHING, percentile, sum, toText } from './counts.ts'
import type { ExistingEnvironments, PathCounts, TrafficPaths } from './paths.ts'
import { firstOf, firstOfPaths, MINUTE_MS, RANGES, RECORDS, startOf } from './steps.ts'
import { createSummary, SUMMARY } from './summary.ts'

type Parts = {
  sql: Sql
  clock: Clock
  log: Log
  /** The bounds of the buckets of latencies. */
  boundsMs: readonly number[]
  /** Undefined if paths are not counted. */
  paths?: TrafficPaths | undefined
  existingEnvironments: ExistingEnvironments
}

type Minute = Map<string, Counts>
type EnvironmentCounts = readonly [environment: string, counts: Counts]

/** If the database is away for longer than this, the oldest minutes that wait for it are dropped. */
const MAX_WAITING_MINUTES = 60
/** Rows of one transaction, so that other writers do not wait for long. */
const ROWS_AT_ONCE = 200

export function createTraffic({ sql, clock, log, boundsMs, paths, existingEnvironments }: Parts) {
  /** Counts that are not written yet, by the beginning of their minute. */
  const waiting = new Map<number, Minute>()
  const inTurn = createTurns()
  const stopping = new AbortController()
  let writing: Promise<void> | undefined

  function add(start: number, environment: string, counts: Counts) {
    const minute: Minute = waiting.get(start) ?? new Map()
    waiting.set(start, minute)
    minute.set(environment, sum(minute.get(environment) ?? NOTHING, counts))
  }

  /** Writes the minutes that are over; with `isLast`, the current one too. Never during a read: see `read`. */
  function write({ isLast = false } = {}): Promise<void> {
    return inTurn('', async () => {
      const present = startOf(clock.now(), MINUTE_MS)
      for (const [start, minute] of [...waiting]) {
        if (start >= present && !isLast) continue
        const rows = [...minute]
        for (let at = 0; at < rows.length; at += ROWS_AT_ONCE) {
          const some = rows.slice(at, at + ROWS_AT_ONCE)
          await sql.transaction((tx) => recordExisting(tx, start, some))
          for (const [environment] of some) minute.delete(environment)
        }
        waiting.delete(start)
      }
      await sql.transaction((tx) => prune(tx, clock.now()))
      await paths?.write({ isLast })
    })
  }

  /** The environment may have been deleted in the meantime. */
  async function recordExisting(tx: Transaction, start: number, rows: readonly EnvironmentCounts[]) {
    const ids = rows.map(([environment]) => environment)
    const existing = await existingEnvironments(tx, ids)
    await record(
      tx,
      start,
      rows.filter(([environment]) => existing.has(environment)),
    )
  }

  async function writeEachMinute() {
    while (!stopping.signal.aborted) {
      const now = clock.now()
      await clock.sleep(startOf(now, MINUTE_MS) + MINUTE_MS - now, stopping.signal)
      if (stopping.signal.aborted) return
      if (waiting.size === 0 && !paths) continue
      await write().catch((error) =>
        log.error({ err: error }, 'counts of visits could not be written; they are kept for the next try'),
      )
      while (waiting.size > MAX_WAITING_MINUTES) waiting.delete(Math.min(...waiting.keys()))
    }
  }

  return {
    /** Adds a report of the edge: the visits since the last report, by environment. */
    receive(environments: Readonly<Record<string, Counts & { paths?: PathCounts }>>) {
      const start = startOf(clock.now(), MINUTE_MS)
      for (const [environment, { paths: ofPaths, ...counts }] of Object.entries(environments)) {
        add(start, environment, counts)
        if (ofPaths) paths?.receive(environment, ofPaths)
      }
    },

    start() {
      writing = writeEachMinute()
    },

    async stop() {
      stopping.abort()
      await writing
      await write({ isLast: true }).catch((error) => log.error({ err: error }, 'counts of visits were lost'))
    },

    /** When each of these environments was last visited, to the minute; those without a visit that is still recorded are left out. */
    async lastVisits(environmentIds: readonly string[]): Promise<Map<string, number>> {
      const found = new Map<string, number>()
      for (let at = 0; at < environmentIds.length; at += ROWS_AT_ONCE) {
        const some = environmentIds.slice(at, at + ROWS_AT_ONCE)
        const rows = await sql.query<{ environment_id: string; last: number }>(statement`
          SELECT environment_id, MAX(start_time) AS last FROM traffic
          WHERE environment_id IN (${list(some)}) GROUP BY environment_id`)
        for (const { environment_id, last } of rows) found.set(environment_id, last)
      }
      return found
    },

    /** The paths of the last day that exist, the most visited first; none if paths are not counted. */
    mostVisited: async (environment: string): Promise<string[]> =>
      paths ? inTurn('', () => paths.mostVisited(environment)) : [],

    /** The paths that visitors requested most. */
    async readPaths(at: names.EnvironmentPath, range: resources.TrafficRange): Promise<resources.TrafficPaths> {
      const name = names.environmentTrafficPathsResource(at)
      const since = toRfc3339(firstOfPaths(range, clock.now()))
      if (!paths) return { name, isCounted: false, startTime: since, top: [], missing: [] }
      const { found, missing } = await inTurn('', () => paths.read(at.environment, range))
      return { name, isCounted: true, startTime: since, top: found, missing }
    },

    /** The last whole minute and the current one of each of these environments: one statement. */
    async recent(environmentIds: readonly string[]): Promise<Map<string, resources.TrafficPoint[]>> {
      if (environmentIds.length === 0) return new Map()
      return inTurn('', async () => {
        const present = startOf(clock.now(), MINUTE_MS)
        const rows = await sql.query<{ environment_id: string; start_time: number; counts: string }>(statement`
          SELECT environment_id, start_time, counts FROM traffic
          WHERE environment_id IN (${list(environmentIds)}) AND step_seconds = ${MINUTE_MS / 1000}
            AND start_time >= ${present - MINUTE_MS}`)
        const written = new Map(rows.map((row) => [`${row.environment_id} ${row.start_time}`, fromText(row.counts)]))
        const pointOf = (environment: string, start: number) => {
          const counts = [written.get(`${environment} ${start}`), waiting.get(start)?.get(environment)]
          return {
            time: toRfc3339(start),
            ...shown(counts.reduce<Counts>((all, one) => sum(all, one ?? NOTHING), NOTHING)),
          }
        }
        return new Map(environmentIds.map((id) => [id, [pointOf(id, present - MINUTE_MS), pointOf(id, present)]]))
      })
    },

    /** The last day of each of these environments that had visits. */
    async summaries(environments: readonly names.EnvironmentPath[]): Promise<resources.TrafficSummary[]> {
      const summary = createSummary(clock.now())
      // As in `read`, never during a write.
      await inTurn('', async () => {
        for (let at = 0; at < environments.length; at += ROWS_AT_ONCE) {
          const some = environments.slice(at, at + ROWS_AT_ONCE).map(({ environment }) => environment)
          const rows = await sql.query<{ environment_id: string; start_time: number; counts: string }>(statement`
            SELECT environment_id, start_time, counts FROM traffic
            WHERE environment_id IN (${list(some)}) AND step_seconds = ${SUMMARY.stepMs / 1000}
              AND start_time >= ${summary.first}`)
          for (const { environment_id, start_time, counts } of rows)
            summary.add(environment_id, start_time, fromText(counts))
          for (const [start, minute] of waiting)
            for (const environment of some) summary.add(environment, start, minute.get(environment) ?? NOTHING)
        }
      })
      return environments.map(summary.of).filter((found) => found !== undefined)
    },

    async read(at: names.EnvironmentPath, range: resources.TrafficRange): Promise<resources.Traffic> {
      const { stepMs, count, recordMs } = RANGES[range]
      // Never during a write: counts that are being written would be in neither place, or in both.
      const points = await inTurn('', async () => {
        const first = firstOf(RANGES[range], clock.now())
        const points = Array.from({ length: count }, (_, index) => ({ time: first + index * stepMs, counts: NOTHING }))
        function put(start: number, counts: Counts) {
          const point = points[Math.floor((start - first) / stepMs)]
          if (point) point.counts = sum(point.counts, counts)
        }
        const rows = await sql.query<{ start_time: number; counts: string }>(statement`
          SELECT start_time, counts FROM traffic
          WHERE environment_id = ${at.environment} AND step_seconds = ${recordMs / 1000} AND start_time >= ${first}`)
        for (const { start_time, counts } of rows) put(start_time, fromText(counts))
        for (const [start, minute] of waiting) put(start, minute.get(at.environment) ?? NOTHING)
        return points
      })
      return {
        name: names.environmentTrafficResource(at),
        stepSeconds: stepMs / 1000,
        points: points.map(({ time, counts }) => ({ time: toRfc3339(time), ...shown(counts) })),
        totals: shown(points.map(({ counts }) => counts).reduce(sum, NOTHING)),
      }
    },
  }

  function shown({ statuses: [status2xx = 0, status3xx = 0, status4xx = 0], latencies, ...counts }: Counts) {
    return {
      ...counts,
      status2xx,
      status3xx,
      status4xx,
      p50Ms: percentile(latencies, 0.5, boundsMs),
      p95Ms: percentile(latencies, 0.95, boundsMs),
    }
  }
}

export type Traffic = ReturnType<typeof createTraffic>

/** Adds to the records of the minute and of its hour. Only after a restart can the minute have a record already. */
async function record(tx: Transaction, minuteStart: number, rows: readonly EnvironmentCounts[]) {
  if (rows.length === 0) return
  const environments = rows.map(([environment]) => environment)
  for (const { stepMs } of RECORDS) {
    const [start, stepSeconds] = [startOf(minuteStart, stepMs), stepMs / 1000]
    const known = await tx.query<{ environment_id: string; counts: string }>(statement`
      SELECT environment_id, counts FROM traffic
      WHERE environment_id IN (${list(environments)}) AND step_seconds = ${stepSeconds} AND start_time = ${start}`)
    const before = new Map(known.map(({ environment_id, counts }) => [environment_id, fromText(counts)]))
    // The statements are sent together: each would cost a message of its own.
    await Promise.all(
      rows.map(([environment, counts]) => {
        const all = toText(sum(before.get(environment) ?? NOTHING, counts))
        return tx.query(statement`
          INSERT INTO traffic (environment_id, step_seconds, start_time, counts)
          VALUES (${environment}, ${stepSeconds}, ${start}, ${all})
          ON CONFLICT (environment_id, step_seconds, start_time) DO UPDATE SET counts = excluded.counts`)
      }),
    )
  }
}

async function prune(tx: Transaction, now: number) {
  for (const { stepMs, keptMs } of RECORDS) {
    await tx.query(
      statement`DELETE FROM traffic WHERE step_seconds = ${stepMs / 1000} AND start_time < ${now - keptMs}`,
    )
  }
}
