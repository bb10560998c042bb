/**
 * The purges that edges have to apply, in order; the edges that may have something stored; and the control processes that they
 * follow. Rows of `control_processes` and `edges` belong to the process that they name as the control process; `edge/process/standing.ts`
 * has the rules by which others change them.
 */
import { type Changes, type Clock, isProcessGone, randomToken } from '../../base/index.ts'
import type { ControlRow, EdgeConnection, EdgeRecords, EdgeRow, MissedPurges, Purge } from '../../edge/index.ts'
import { list, rows, type Sql, statement, type Transaction } from '../../storage/index.ts'

/** An edge that has missed more than this, or for longer, purges everything. */
const KEPT = { purges: 5000, ms: 10 * 60_000 }

/** How often old purges are removed, in purges. */
const TRIM_EVERY = 100

/** Purges that came while others were being recorded are recorded together, up to so many. */
const MAX_TOGETHER = 100

/** Followers of no account. */
const HINTS = ''

type Parts = {
  sql: Sql
  clock: Clock
  /** Tells of changes by other processes. */
  changes: Pick<Changes, 'follow'>
}

export function createPurgeLog({ sql, clock, changes }: Parts): EdgeRecords {
  /** Distinguishes hints of this process from those of others. */
  const self = randomToken()
  const hint = (tx: Transaction, what: string) => tx.notify(HINTS, `${self} ${what}`)
  const addPurge = inBatches(MAX_TOGETHER, (purges: readonly Purge[]) =>
    sql.transaction((tx) => insert(tx, purges), { exclusive: 'purge' }),
  )

  async function insert(tx: Transaction, purges: readonly Purge[]): Promise<number[]> {
    const now = clock.now()
    const [row] = await tx.query<{ last: number | null }>(statement`SELECT MAX(number) AS last FROM purge_log`)
    const before = row?.last ?? 0
    const numbers = purges.map((_, at) => before + at + 1)
    const values = purges.map((purge, at) => [before + at + 1, JSON.stringify(purge), now])
    await tx.query(statement`INSERT INTO purge_log (number, purge, create_time) VALUES ${rows(values)}`)
    const last = before + purges.length
    // The last one stays, as the next number follows from it.
    if (Math.floor(last / TRIM_EVERY) > Math.floor(before / TRIM_EVERY))
      await tx.query(statement`
        DELETE FROM purge_log
        WHERE number < ${last} AND (number <= ${last - KEPT.purges} OR create_time < ${now - KEPT.ms})`)
    hint(tx, String(last))
    return numbers
  }

  return {
    addPurge,

    async purgesSince(applied: number): Promise<MissedPurges> {
      const [ends] = await sql.query<{ first: number | null; last: number | null }>(
        statement`SELECT MIN(number) AS first, MAX(number) AS last FROM purge_log`,
      )
      const { first, last } = { first: ends?.first ?? 1, last: ends?.last ?? 0 }
      // More than the last one: it followed another database, as before a backup was restored.
      if (applied < first - 1 || applied > last) return { everythingUntil: last }
      if (applied === last) return { purges: [] }
      const rows = await sql.query<{ number: number; purge: string }>(
        statement`SELECT number, purge FROM purge_log WHERE number > ${applied} ORDER BY number`,
      )
      return { purges: rows.map(({ number, purge }) => ({ number, purge: JSON.parse(purge) })) }
    },

    async lastPurge() {
      const [row] = await sql.query<{ last: number | null }>(statement`SELECT MAX(number) AS last FROM purge_log`)
      return row?.last ?? 0
    },

    controls: () => sql.query<ControlRow>(statement`SELECT process, heartbeats, routed FROM control_processes`),
    edges: () => sql.query<EdgeRow>(statement`SELECT process, control, connection, applied FROM edges`),
    heartbeat: (control, edges, added) => sql.transaction((tx) => heartbeat(tx, { control, edges, added })),

    async setRouted(control, revision) {
      await sql.transaction((tx) =>
        tx.query(statement`UPDATE control_processes SET routed = ${revision} WHERE process = ${control}`),
      )
    },

    async confirm(control, applied) {
      const byNumber = Map.groupBy(applied, ([, number]) => number)
      await sql.transaction(async (tx) => {
        for (const [number, edges] of byNumber)
          await tx.query(statement`
            UPDATE edges SET applied = ${number}
            WHERE control = ${control} AND process IN (${list(edges.map(([process]) => process))})`)
        hint(tx, 'confirmed')
      })
    },

    async removeEdge({ process, connection }, control) {
      await sql.transaction((tx) =>
        tx.query(statement`
          DELETE FROM edges WHERE process = ${process} AND control = ${control} AND connection = ${connection}`),
      )
    },

    async removeControl(process) {
      await sql.transaction((tx) => tx.query(statement`DELETE FROM control_processes WHERE process = ${process}`))
    },

    fence: ({ process, heartbeats }, by) =>
      sql.transaction(async (tx) => {
        const found = await tx.query<Pick<ControlRow, 'process' | 'heartbeats'>>(
          statement`SELECT process, heartbeats FROM control_processes WHERE process IN (${list([process, by])})`,
        )
        const numberOf = (name: string) => found.find((row) => row.process === name)?.heartbeats ?? null
        if (numberOf(process) !== heartbeats || numberOf(by) === null) return false
        await tx.query(statement`DELETE FROM control_processes WHERE process = ${process}`)
        await tx.query(statement`DELETE FROM edges WHERE control = ${process}`)
        hint(tx, 'confirmed')
        return true
      }),

    onHint: (listener) =>
      changes.follow(HINTS, (name) => {
        const [origin, what] = name?.split(' ') ?? []
        if (origin !== self) listener(what && what !== 'confirmed' ? Number(what) : undefined)
      }),
    isGone: isProcessGone,
  }
}

type Heartbeat = {
  control: Pick<ControlRow, 'process' | 'heartbeats'>
  edges: readonly EdgeConnection[]
  added?: EdgeConnection | undefined
}

async function heartbeat(tx: Transaction, { control, edges, added }: Heartbeat) {
  const { process, heartbeats } = control
  const [known] = await tx.query(
    statement`UPDATE control_processes SET heartbeats = ${heartbeats} WHERE process = ${process} RETURNING process`,
  )
  const wasKnown = known !== undefined
  if (!wasKnown)
    await tx.query(statement`INSERT INTO control_processes (process, heartbeats) VALUES (${process}, ${heartbeats})`)
  // An edge that follows another control process by now stays with that.
  if (!wasKnown && edges.length > 0)
    await tx.query(statement`
      INSERT INTO edges (process, control, connection)
      VALUES ${rows(edges.map((edge) => [edge.process, process, edge.connection]))}
      ON CONFLICT (process) DO NOTHING`)
  if (!added) return { wasKnown, isAdded: false }
  const [row] = await tx.query(statement`
    INSERT INTO edges (process, control, connection) VALUES (${added.process}, ${process}, ${added.connection})
    ON CONFLICT (process) DO UPDATE SET control = excluded.control, connection = excluded.connection
    WHERE edges.connection <= excluded.connection
    RETURNING process`)
  return { wasKnown, isAdded: row !== undefined }
}

/** Does the work for all who have come while it was done for others, one batch after the other. */
function inBatches<Item, Result>(max: number, work: (items: readonly Item[]) => Promise<Result[]>) {
  type Waiting = { item: Item; resolve(result: Result): void; reject(error: unknown): void }
  const waiting: Waiting[] = []
  let isWorking = false

  async function workOff() {
    isWorking = true
    while (waiting.length > 0) {
      const batch = waiting.splice(0, max)
      try {
        const results = await work(batch.map(({ item }) => item))
        for (const [at, { resolve }] of batch.entries()) resolve(results[at] as Result)
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    isWorking = false
  }

  return (item: Item): Promise<Result> => {
    const { promise, resolve, reject } = Promise.withResolvers<Result>()
    waiting.push({ item, resolve, reject })
    if (!isWorking) void workOff()
    return promise
  }
}
