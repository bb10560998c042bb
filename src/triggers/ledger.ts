/**
 * The ledger: every request for a build or a purge, where it came from, how it was answered, and which operation satisfied it.
 * An entry is written in the transaction that carries out the request, so every request that was accepted is in it.
 *
 * The newest entries of each environment are kept. Each source has a share of its own, and purges have another share than
 * builds: a client that purges all day does not push out the requests of editors.
 */
import type { NewId } from '../base/index.ts'
import { LIMITS, type Reason, type resources } from '../contract/index.ts'
import {
  list,
  type NotifyBelow,
  type Page,
  type PageOf,
  pageOf,
  type Reader,
  rows as rowsOf,
  type Sql,
  type Statement,
  statement,
  type Transaction,
} from '../storage/index.ts'

/** One request, as it came. */
export type Asked = {
  action: resources.RecordedAction
  source: resources.TriggerSource
  requestedBy: resources.Requester | null
  /** Empty for schedules, the app itself and the service. */
  address: string
  userAgent: string
  time: number
  /** What it asks for goes live, whatever is found about it. */
  isForced?: boolean
}

/**
 * What was purged: the first paths and tags, and the number of all. 0 if everything was purged. `content` is what changed in the CMS,
 * in words, where it named that.
 */
export type PurgeSummary = {
  what: { paths?: readonly string[]; tags?: readonly string[]; content?: readonly string[] }
  count: number
}

export type Outcome = { answer: number; reason?: Reason; operationId?: string; purged?: PurgeSummary }

/** All entries, or those that one operation satisfied, or those of one source. */
export type Filter = { operationId?: string; source?: resources.TriggerSource }

export type LedgerEntry = Asked & Outcome & { id: string }

type Row = {
  id: string
  action: resources.RecordedAction
  source: resources.TriggerSource
  address: string
  user_agent: string
  requested_by: string | null
  create_time: number
  answer: number
  reason: Reason | null
  operation_id: string | null
  purged: string | null
  is_forced: number
}

const columns = statement`id, action, source, address, user_agent, requested_by, create_time, answer, reason,
  operation_id, purged, is_forced`

const KEPT: Record<resources.TriggerSource, number> = {
  WEBHOOK: LIMITS.triggersKeptOfWebhooks,
  API: LIMITS.triggersKeptOfApi,
  SCHEDULE: LIMITS.triggersKeptOfSchedules,
  REPOSITORY: LIMITS.triggersKeptOfRepositories,
  PUSH: LIMITS.triggersKeptOfPushes,
  APP: LIMITS.triggersKeptOfApp,
  SERVICE: LIMITS.triggersKeptOfService,
}

/** Many rows go in one statement, and all statements are sent together. A few sizes only: each is prepared and cached. */
const ROWS_AT_ONCE = [64, 16, 4, 1] as const

const MAX_COUNTED = 10_000

/** Another operation may do the work of the one that a request was answered with. */
type Satisfactions = {
  /** The operations that do the work of others, by the id of the other one. */
  satisfiersOf(ids: readonly string[]): Promise<ReadonlyMap<string, string>>
  /** The operations whose work this one does. */
  satisfiedBy(id: string): Promise<string[]>
}

type Parts = { sql: Sql; newId: NewId; operations: Satisfactions; notifyBelow: NotifyBelow }

export function createLedger({ sql, newId, operations, notifyBelow }: Parts) {
  /** Entries that were written since old ones were last removed, by environment and share. */
  const written = new Map<string, number>()

  async function insert(tx: Transaction, environmentId: string, asked: readonly Asked[], outcome: Outcome) {
    const { answer, reason = null, operationId = null, purged } = outcome
    const what = purged ? JSON.stringify(purged) : null
    const rows = asked.map(({ action, source, requestedBy, address, userAgent, time, isForced }) => {
      const agent = userAgent.slice(0, LIMITS.userAgentLength).toWellFormed()
      const by = requestedBy ? JSON.stringify(requestedBy) : null
      const who = [newId(), environmentId, action, source, by, address, agent, time]
      return [...who, answer, reason, operationId, what, isForced ? 1 : 0]
    })
    const inserts: Promise<unknown>[] = []
    for (let done = 0, size = 0; done < rows.length; done += size) {
      size = ROWS_AT_ONCE.find((max) => max <= rows.length - done) ?? 1
      const insert = tx.query(statement`
        INSERT INTO triggers (id, environment_id, action, source, requested_by, address, user_agent, create_time, answer,
          reason, operation_id, purged, is_forced)
        VALUES ${rowsOf(rows.slice(done, done + size))}`)
      inserts.push(insert)
    }
    await Promise.all(inserts)
  }

  /** Done now and then, as finding the oldest kept entry takes longer than writing one. Resolves to whether it was done. */
  async function prune(tx: Transaction, environmentId: string, { source, action }: Asked, added: number) {
    const isPurge = action === 'PURGE_CACHE'
    const key = `${environmentId} ${source} ${isPurge ? 'purges' : 'builds'}`
    const count = (written.get(key) ?? Number.POSITIVE_INFINITY) + added
    if (count < KEPT[source] / 10) {
      written.set(key, count)
      return false
    }
    if (written.size >= MAX_COUNTED) written.clear()
    written.set(key, 0)
    const kind = isPurge ? statement`action = 'PURGE_CACHE'` : statement`action <> 'PURGE_CACHE'`
    const share = statement`environment_id = ${environmentId} AND source = ${source} AND ${kind}`
    await tx.query(statement`
      DELETE FROM triggers WHERE ${share} AND id <= (
        SELECT id FROM triggers WHERE ${share} ORDER BY id DESC LIMIT 1 OFFSET ${KEPT[source]})`)
    return true
  }

  /** Entries name the operation that does the work, also if it took the place of the one that was answered. */
  async function toEntries(rows: readonly Row[]): Promise<LedgerEntry[]> {
    const satisfiers = await operations.satisfiersOf(rows.flatMap(({ operation_id }) => operation_id ?? []))
    return rows.map((row) => {
      const satisfier = row.operation_id === null ? undefined : satisfiers.get(row.operation_id)
      return toEntry(satisfier === undefined ? row : { ...row, operation_id: satisfier })
    })
  }

  const isSatisfiedBy = async (operationId: string): Promise<Statement> =>
    statement`operation_id IN (${list([operationId, ...(await operations.satisfiedBy(operationId))])})`

  return {
    /**
     * Adds requests of one source with the same outcome, all for a build or all for a purge. Nothing is written if the
     * environment was deleted in the meantime.
     */
    async add(
      tx: Transaction,
      environmentId: string,
      asked: readonly Asked[],
      outcome: Outcome,
    ): Promise<{ isPruned: boolean }> {
      const [first] = asked
      const isThere = first !== undefined && (await notifyBelow(tx, environmentId, 'triggers'))
      if (!isThere) return { isPruned: false }
      await insert(tx, environmentId, asked, outcome)
      return { isPruned: await prune(tx, environmentId, first, asked.length) }
    },

    async list(environmentId: string, page: Page, { operationId, source }: Filter = {}): Promise<PageOf<LedgerEntry>> {
      const ofOperation = operationId === undefined ? EVERYTHING : await isSatisfiedBy(operationId)
      const ofSource = source === undefined ? EVERYTHING : statement`source = ${source}`
      const rows = await sql.query<Row>(statement`
        SELECT ${columns} FROM triggers
        WHERE environment_id = ${environmentId} AND ${ofOperation} AND ${ofSource} AND ${page.after} ${page.order}`)
      return pageOf(await toEntries(rows), page)
    },

    /** The requests that an operation satisfies: the ids of the newest, and the number of all. */
    async satisfiedBy(operationId: string): Promise<{ ids: string[]; count: number }> {
      const isSatisfied = await isSatisfiedBy(operationId)
      const [[counted], rows] = await Promise.all([
        sql.query<{ count: number }>(statement`SELECT COUNT(*) AS count FROM triggers WHERE ${isSatisfied}`),
        sql.query<{ id: string }>(statement`
          SELECT id FROM triggers WHERE ${isSatisfied} ORDER BY id DESC LIMIT ${LIMITS.triggersShown}`),
      ])
      return { ids: rows.map(({ id }) => id), count: counted?.count ?? 0 }
    },

    /** How many requests were answered with one of these operations, and when the first of them came. */
    async callsOf(
      reader: Reader,
      operationIds: readonly string[],
    ): Promise<{ count: number; first: number | undefined }> {
      const [row] = await reader.query<{ count: number; first: number | null }>(statement`
        SELECT COUNT(*) AS count, MIN(create_time) AS first FROM triggers WHERE operation_id IN (${list(operationIds)})`)
      return { count: row?.count ?? 0, first: row?.first ?? undefined }
    },

    /** Whether a webhook of this action was answered with the operation, since a time. */
    async isAnsweredWith(
      environmentId: string,
      operationId: string,
      { action, since }: { action: resources.TriggerAction; since: number },
    ): Promise<boolean> {
      const rows = await sql.query(statement`
        SELECT id FROM triggers
        WHERE operation_id = ${operationId} AND environment_id = ${environmentId} AND source = 'WEBHOOK'
        AND action = ${action} AND answer = 200 AND create_time >= ${since} LIMIT 1`)
      return rows.length > 0
    },

    /** When a webhook of each action was last called, since a time. */
    async lastUses(environmentId: string, since: number): Promise<Map<resources.RecordedAction, number>> {
      const rows = await sql.query<{ action: resources.RecordedAction; last: number }>(statement`
        SELECT action, MAX(create_time) AS last FROM triggers
        WHERE environment_id = ${environmentId} AND source = 'WEBHOOK' AND create_time >= ${since} GROUP BY action`)
      return new Map(rows.map(({ action, last }) => [action, last]))
    },

    /** The oldest operation that an entry of a purge names. */
    async oldestPurge(tx: Transaction, environmentId: string): Promise<string | undefined> {
      const [row] = await tx.query<{ oldest: string | null }>(statement`
        SELECT MIN(operation_id) AS oldest FROM triggers
        WHERE environment_id = ${environmentId} AND action = 'PURGE_CACHE'`)
      return row?.oldest ?? undefined
    },

    /** The last purges that were done, the newest first. Requests that one operation satisfied count as one. */
    async lastPurges(environmentId: string, max: number): Promise<LedgerEntry[]> {
      const rows = await sql.query<Row>(statement`
        SELECT ${columns} FROM triggers
        WHERE id IN (
          SELECT MAX(id) FROM triggers
          WHERE environment_id = ${environmentId} AND action = 'PURGE_CACHE' AND answer = 200
          GROUP BY COALESCE(operation_id, id))
        ORDER BY id DESC LIMIT ${max}`)
      return toEntries(rows)
    },
  }
}

export type Ledger = ReturnType<typeof createLedger>

const EVERYTHING = statement`id IS NOT NULL`

const toEntry = (row: Row): LedgerEntry => ({
  id: row.id,
  action: row.action,
  source: row.source,
  requestedBy: row.requested_by === null ? null : JSON.parse(row.requested_by),
  address: row.address,
  userAgent: row.user_agent,
  time: row.create_time,
  answer: row.answer,
  ...(row.reason === null ? {} : { reason: row.reason }),
  ...(row.operation_id === null ? {} : { operationId: row.operation_id }),
  ...(row.purged === null ? {} : { purged: JSON.parse(row.purged) }),
  ...(row.is_forced === 1 ? { isForced: true } : {}),
})

/** Undefined if there is none. */
export async function newestTriggerId(reader: Reader): Promise<string | undefined> {
  const [row] = await reader.query<{ id: string | null }>(statement`SELECT MAX(id) AS id FROM triggers`)
  return row?.id ?? undefined
}
