/**
 * Records which paths visitors request most, as short lists for each hour and each day. The reports of the edge are added up in
 * memory and written every few minutes; counts that were not written yet are lost if the process is killed.
 */
import { type Clock, maskPath } from '../base/index.ts'
import type { resources } from '../contract/index.ts'
import { list, type Reader, type Sql, statement, type Transaction } from '../storage/index.ts'
import { firstOfPaths, HOUR_MS, MINUTE_MS, PATH_RANGES, PATH_RECORDS, startOf } from './steps.ts'

/** As the edge reports them: paths that exist, and paths that are missing. */
export type PathCounts = { found: readonly PathPair[]; missing: readonly PathPair[] }
type PathPair = readonly [path: string, requests: number]

type Lists = { found: Map<string, number>; missing: Map<string, number> }
type EnvironmentLists = readonly [environment: string, lists: Lists]

export type PathLimits = {
  /** Paths of a list that are kept in memory, that are written, and that are shown. */
  inMemory: number
  written: number
  shown: number
  /** Paths of all lists that wait to be written; further paths are not counted. */
  waiting: number
}

export const PATH_LIMITS: PathLimits = { inMemory: 100, written: 30, shown: 20, waiting: 100_000 }

const WRITE_EACH_MS = 5 * MINUTE_MS
/** Rows of one transaction, so that other writers do not wait for long. */
const ROWS_AT_ONCE = 50

/** Those of the given environments that still exist. */
export type ExistingEnvironments = (reader: Reader, ids: readonly string[]) => Promise<ReadonlySet<string>>

type Parts = { sql: Sql; clock: Clock; existingEnvironments: ExistingEnvironments; limits?: PathLimits }

export function createTrafficPaths({ sql, clock, existingEnvironments, limits = PATH_LIMITS }: Parts) {
  /** Counts that are not written yet, by the beginning of their hour. */
  const waiting = new Map<number, Map<string, Lists>>()
  let lastWrite = startOf(clock.now(), WRITE_EACH_MS)
  let count = 0

  function add(into: Map<string, number>, pairs: readonly PathPair[]) {
    const before = into.size
    for (const [path, requests] of pairs) {
      const shown = maskPath(path)
      if (count >= limits.waiting && !into.has(shown)) continue
      into.set(shown, (into.get(shown) ?? 0) + requests)
    }
    keepLargest(into, limits.inMemory)
    count += into.size - before
  }

  return {
    /** Adds a report of the edge. */
    receive(environment: string, { found, missing }: PathCounts) {
      const hour = startOf(clock.now(), HOUR_MS)
      const ofHour = waiting.get(hour) ?? new Map<string, Lists>()
      const lists = ofHour.get(environment)
      if (!lists && count >= limits.waiting) return
      const mine = lists ?? { found: new Map(), missing: new Map() }
      waiting.set(hour, ofHour)
      ofHour.set(environment, mine)
      add(mine.found, found)
      add(mine.missing, missing)
    },

    /** Every few minutes, and with `isLast` at once. */
    async write({ isLast = false } = {}) {
      const now = clock.now()
      if (startOf(now, WRITE_EACH_MS) === lastWrite && !isLast) return
      for (const [hour, environments] of [...waiting]) {
        const rows = [...environments]
        for (let at = 0; at < rows.length; at += ROWS_AT_ONCE) {
          const some = rows.slice(at, at + ROWS_AT_ONCE)
          await sql.transaction((tx) => recordExisting(tx, hour, some))
          for (const [environment, lists] of some) {
            count -= lists.found.size + lists.missing.size
            environments.delete(environment)
          }
        }
        waiting.delete(hour)
      }
      await sql.transaction((tx) => prune(tx, now))
      lastWrite = startOf(now, WRITE_EACH_MS)
    },

    async read(environment: string, range: resources.TrafficRange) {
      const all = await listsOf(environment, range)
      return { found: shown(all.found), missing: shown(all.missing) }
    },

    /** All recorded paths of the last day that exist, the most visited first. */
    async mostVisited(environment: string): Promise<string[]> {
      const { found } = await listsOf(environment, '24h')
      return largest(found, found.size).map(([path]) => path)
    },
  }

  async function listsOf(environment: string, range: resources.TrafficRange): Promise<Lists> {
    const first = firstOfPaths(range, clock.now())
    const rows = await sql.query<{ counts: string }>(statement`
        SELECT counts FROM traffic_paths WHERE environment_id = ${environment}
        AND step_seconds = ${PATH_RANGES[range].stepMs / 1000} AND start_time >= ${first}`)
    const all: Lists = { found: new Map(), missing: new Map() }
    for (const { counts } of rows) addAll(all, fromText(counts))
    for (const [hour, environments] of waiting) {
      const lists = environments.get(environment)
      if (lists && hour >= first) addAll(all, lists)
    }
    return all
  }

  /** The environment may have been deleted in the meantime. */
  async function recordExisting(tx: Transaction, hour: number, rows: readonly EnvironmentLists[]) {
    const ids = rows.map(([environment]) => environment)
    const existing = await existingEnvironments(tx, ids)
    await record(
      tx,
      hour,
      rows.filter(([environment]) => existing.has(environment)),
      limits.written,
    )
  }

  function shown(counts: Map<string, number>): resources.PathCount[] {
    return largest(counts, limits.shown).map(([path, requests]) => ({ path, requests }))
  }
}

export type TrafficPaths = ReturnType<typeof createTrafficPaths>

/** Removes what was counted before the counting of paths was switched off. */
export async function forgetTrafficPaths(sql: Sql) {
  await sql.transaction((tx) => tx.query(statement`DELETE FROM traffic_paths`))
}

async function record(tx: Transaction, hour: number, rows: readonly EnvironmentLists[], max: number) {
  if (rows.length === 0) return
  const environments = rows.map(([environment]) => environment)
  for (const { stepMs } of PATH_RECORDS) {
    const [start, stepSeconds] = [startOf(hour, stepMs), stepMs / 1000]
    const known = await tx.query<{ environment_id: string; counts: string }>(statement`
      SELECT environment_id, counts FROM traffic_paths
      WHERE environment_id IN (${list(environments)}) AND step_seconds = ${stepSeconds} AND start_time = ${start}`)
    const before = new Map(known.map(({ environment_id, counts }) => [environment_id, counts]))
    // The statements are sent together: each would cost a message of its own.
    await Promise.all(
      rows.map(([environment, lists]) => {
        const all = fromText(before.get(environment) ?? '{}')
        addAll(all, lists)
        return tx.query(statement`
          INSERT INTO traffic_paths (environment_id, step_seconds, start_time, counts)
          VALUES (${environment}, ${stepSeconds}, ${start}, ${toText(all, max)})
          ON CONFLICT (environment_id, step_seconds, start_time) DO UPDATE SET counts = excluded.counts`)
      }),
    )
  }
}

async function prune(tx: Transaction, now: number) {
  for (const { stepMs, keptMs } of PATH_RECORDS) {
    await tx.query(
      statement`DELETE FROM traffic_paths WHERE step_seconds = ${stepMs / 1000} AND start_time < ${now - keptMs}`,
    )
  }
}

const toText = ({ found, missing }: Lists, max: number): string =>
  JSON.stringify({ found: largest(found, max), missing: largest(missing, max) })

function fromText(text: string): Lists {
  const { found = [], missing = [] } = JSON.parse(text) as Partial<PathCounts>
  return { found: new Map(found), missing: new Map(missing) }
}

function addAll(into: Lists, more: Lists) {
  for (const kind of ['found', 'missing'] as const) {
    for (const [path, requests] of more[kind]) into[kind].set(path, (into[kind].get(path) ?? 0) + requests)
  }
}

/** The largest first; of two with the same count, the first in the alphabet. */
const largest = (counts: Map<string, number>, max: number): [string, number][] =>
  [...counts]
    .sort(([path, requests], [otherPath, other]) => other - requests || (path < otherPath ? -1 : 1))
    .slice(0, max)

function keepLargest(counts: Map<string, number>, max: number) {
  if (counts.size <= max) return
  const kept = new Set(largest(counts, max).map(([path]) => path))
  for (const path of counts.keys()) if (!kept.has(path)) counts.delete(path)
}
