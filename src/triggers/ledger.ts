/**
 * The ledger: everybody who asked for a build or a purge, from where, how they were answered, and which operation satisfied
 * them. An entry is written in the transaction that does what was asked, so whoever was told "yes" is in it.
 *
 * The newest of each environment are kept. Each source has a share of its own, and purges have another than builds: what
 * purges all day does not push out what editors did.
 */
import type { NewId } from '../base/index.ts'
import { LIMITS, type Reason, type resources } from '../contract/index.ts'
import {
  type NotifyBelow,
  type Page,
  type PageOf,
  pageOf,
  type Reader,
  rows as rowsOf,
  type Sql,
  statement,
  type Transaction,
} from '../storage/index.ts'

/** Somebody who asks, at the moment of asking. */
export type Asked = {
  action: resources.TriggerAction
  source: resources.TriggerSource
  requestedBy: resources.Requester | null
  /** Empty for the app itself and for the service. */
  address: string
  userAgent: string
  time: number
}

/** What a purge was about: the first paths and tags, and the count of all. 0 where everything was purged. */
export type Shown = { what: { paths?: readonly string[]; tags?: readonly string[] }; count: number }

export type Outcome = { answer: number; reason?: Reason; operationId?: string; purged?: Shown }

/** Which entries are wanted: all, or those that one operation satisfied, or of one source. */
export type Filter = { operationId?: string; source?: resources.TriggerSource }

export type Entry = Asked & Outcome & { id: string }

type Row = {
  id: string
  action: resources.TriggerAction
  source: resources.TriggerSource
  address: string
  user_agent: string
  requested_by: string | null
  create_time: number
  answer: number
  reason: Reason | null
  operation_id: string | null
  purged: string | null
}

/** An operation may have been satisfied by another one meanwhile: then that is the one to look at. */
const columns = statement`t.id, t.action, t.source, t.address, t.user_agent, t.requested_by, t.create_time,
  t.answer, t.reason,
  COALESCE(o.satisfied_by, t.operation_id) AS operation_id, t.purged`

const KEPT: Record<resources.TriggerSource, number> = {
  WEBHOOK: LIMITS.triggersKeptOfWebhooks,
  API: LIMITS.triggersKeptOfApi,
  APP: LIMITS.triggersKeptOfApp,
  SERVICE: LIMITS.triggersKeptOfService,
}

/** Many rows go in one statement, and all of them are sent together. A few sizes only: each is prepared and kept. */
const ROWS_AT_ONCE = [64, 16, 4, 1] as const

const MAX_COUNTED = 10_000

export function createLedger({ sql, newId, notifyBelow }: { sql: Sql; newId: NewId; notifyBelow: NotifyBelow }) {
  /** How many entries were written since old ones were last removed, by environment and share. */
  const written = new Map<string, number>()

  async function insert(tx: Transaction, environmentId: string, asked: readonly Asked[], outcome: Outcome) {
    const { answer, reason = null, operationId = null, purged } = outcome
    const what = purged ? JSON.stringify(purged) : null
    const rows = asked.map(({ action, source, requestedBy, address, userAgent, time }) => {
      const agent = userAgent.slice(0, LIMITS.userAgentLength).toWellFormed()
      const by = requestedBy ? JSON.stringify(requestedBy) : null
      const who = [newId(), environmentId, action, source, by, address, agent, time]
      return [...who, answer, reason, operationId, what]
    })
    const inserts: Promise<unknown>[] = []
    for (let done = 0, size = 0; done < rows.length; done += size) {
      size = ROWS_AT_ONCE.find((max) => max <= rows.length - done) ?? 1
      const insert = tx.query(statement`
        INSERT INTO triggers (id, environment_id, action, source, requested_by, address, user_agent, create_time, answer,
          reason, operation_id, purged)
        VALUES ${rowsOf(rows.slice(done, done + size))}`)
      inserts.push(insert)
    }
    await Promise.all(inserts)
  }

  /** Now and then: finding the oldest that is kept takes longer than writing an entry. Tells whether it was now. */
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

  return {
    /**
     * All of one source, all for a build or all for a purge, with the same outcome. Nothing is written for an environment that
     * is gone meanwhile.
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

    async list(environmentId: string, page: Page, { operationId, source }: Filter = {}): Promise<PageOf<Entry>> {
      const ofOperation = operationId === undefined ? EVERYTHING : satisfiedBy(operationId)
      const ofSource = source === undefined ? EVERYTHING : statement`t.source = ${source}`
      const rows = await sql.query<Row>(statement`
        SELECT * FROM (
          SELECT ${columns} FROM triggers t LEFT JOIN operations o ON o.id = t.operation_id
          WHERE t.environment_id = ${environmentId} AND ${ofOperation} AND ${ofSource}) AS found
        WHERE ${page.after} ${page.order}`)
      return pageOf(rows.map(toEntry), page)
    },

    /** The calls that an operation satisfies: the ids of the newest, and how many there are. */
    async satisfiedBy(operationId: string): Promise<{ ids: string[]; count: number }> {
      const [[counted], rows] = await Promise.all([
        sql.query<{ count: number }>(
          statement`SELECT COUNT(*) AS count FROM triggers t WHERE ${satisfiedBy(operationId)}`,
        ),
        sql.query<{ id: string }>(statement`
          SELECT t.id FROM triggers t WHERE ${satisfiedBy(operationId)} ORDER BY t.id DESC LIMIT ${LIMITS.triggersShown}`),
      ])
      return { ids: rows.map(({ id }) => id), count: counted?.count ?? 0 }
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
    async lastUses(environmentId: string, since: number): Promise<Map<resources.TriggerAction, number>> {
      const rows = await sql.query<{ action: resources.TriggerAction; last: number }>(statement`
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

    /** The newest purges that were done, the newest first. Those that one operation satisfied are one. */
    async lastPurges(environmentId: string, max: number): Promise<Entry[]> {
      const rows = await sql.query<Row>(statement`
        SELECT ${columns} FROM triggers t LEFT JOIN operations o ON o.id = t.operation_id
        WHERE t.id IN (
          SELECT MAX(id) FROM triggers
          WHERE environment_id = ${environmentId} AND action = 'PURGE_CACHE' AND answer = 200
          GROUP BY COALESCE(operation_id, id))
        ORDER BY t.id DESC LIMIT ${max}`)
      return rows.map(toEntry)
    },
  }
}

export type Ledger = ReturnType<typeof createLedger>

/** Undefined where there is none. */
export async function newestTriggerId(reader: Reader): Promise<string | undefined> {
  const [row] = await reader.query<{ id: string | null }>(statement`SELECT MAX(id) AS id FROM triggers`)
  return row?.id ?? undefined
}

const EVERYTHING = statement`t.id IS NOT NULL`

const satisfiedBy = (operationId: string) => statement`
  (t.operation_id = ${operationId} OR t.operation_id IN (SELECT id FROM operations WHERE satisfied_by = ${operationId}))`

const toEntry = (row: Row): Entry => ({
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
})
