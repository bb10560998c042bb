/**
 * The rows of publishes: one for each build or purge that was to bring something new to visitors.
 *
 *   event                                                state
 *   a build is switched to, a purge is sent to edges     UNDER_WAY
 *   every edge has confirmed it                          VISIBLE
 *   a build ends otherwise                               UNCHANGED, HELD, FAILED, CANCELLED, SUPERSEDED
 *   the first page after it is answered                  the same; its time is noted
 *
 * When it was called for, when its build began and when that ended is copied from what other modules record, when the row is
 * written: those rows are kept for other times.
 */
import type { Clock, NewId } from '../base/index.ts'
import { LIMITS, type Reason, type resources } from '../contract/index.ts'
import {
  type NotifyBelow,
  type Page,
  type PageOf,
  pageOf,
  type Sql,
  type Statement,
  statement,
  type Transaction,
} from '../storage/index.ts'

export type Publish = {
  id: string
  environmentId: string
  kind: resources.PublishKind
  trigger: resources.Trigger
  operationId: string | null
  buildId: string | null
  deploymentId: string | null
  state: resources.PublishState
  reason: Reason | null
  calls: number
  /** Of the first call. */
  callTime: number
  beginTime: number | null
  builtTime: number | null
  /** When it was visible at every edge, or ended otherwise. */
  endTime: number | null
  visitTime: number | null
  promiseSeconds: number | null
}

export type NewPublish = Pick<Publish, 'environmentId' | 'kind' | 'trigger' | 'calls' | 'callTime'> &
  Partial<Publish> & { state: resources.PublishState }

type Row = {
  id: string
  environment_id: string
  kind: resources.PublishKind
  trigger_name: resources.Trigger
  operation_id: string | null
  build_id: string | null
  deployment_id: string | null
  state: resources.PublishState
  reason: Reason | null
  calls: number
  call_time: number
  begin_time: number | null
  built_time: number | null
  end_time: number | null
  visit_time: number | null
  promise_seconds: number | null
}

const columns = statement`id, environment_id, kind, trigger_name, operation_id, build_id, deployment_id, state, reason,
  calls, call_time, begin_time, built_time, end_time, visit_time, promise_seconds`

/** Followers of no account, but of times: `visible BUILD 1234`. */
export const PUBLISH_HINTS = 'publishes'

/** What is to be read again after a change, below the environment. */
const CHANGED = ['publishes', 'publishTimes'] as const

const DAY_MS = 24 * 60 * 60_000

/** Old rows are removed with every so many new ones of an environment. */
const PRUNE_EVERY = LIMITS.publishesKept / 10
const MAX_COUNTED = 10_000

type Parts = { sql: Sql; clock: Clock; newId: NewId; notifyBelow: NotifyBelow }

export function createPublishRecords({ sql, clock, newId, notifyBelow }: Parts) {
  /** Rows that were written since old ones were last removed, by environment and kind. */
  const written = new Map<string, number>()

  async function prune(tx: Transaction, { environmentId, kind }: Pick<Publish, 'environmentId' | 'kind'>) {
    const key = `${environmentId} ${kind}`
    const count = (written.get(key) ?? Number.POSITIVE_INFINITY) + 1
    if (written.size >= MAX_COUNTED) written.clear()
    written.set(key, count < PRUNE_EVERY ? count : 0)
    if (count < PRUNE_EVERY) return
    const share = statement`environment_id = ${environmentId} AND kind = ${kind}`
    await tx.query(statement`
      DELETE FROM publishes WHERE ${share} AND (call_time < ${clock.now() - LIMITS.publishDaysKept * DAY_MS} OR id <= (
        SELECT id FROM publishes WHERE ${share} ORDER BY id DESC LIMIT 1 OFFSET ${LIMITS.publishesKept}))`)
  }

  async function write(tx: Transaction, given: NewPublish) {
    const { environmentId, kind, trigger, state, calls, callTime } = given
    await tx.query(statement`
      INSERT INTO publishes (${columns})
      VALUES (${given.id ?? newId()}, ${environmentId}, ${kind}, ${trigger}, ${given.operationId ?? null},
        ${given.buildId ?? null}, ${given.deploymentId ?? null}, ${state}, ${given.reason ?? null}, ${calls}, ${callTime},
        ${given.beginTime ?? null}, ${given.builtTime ?? null}, ${given.endTime ?? null}, ${given.visitTime ?? null},
        ${given.promiseSeconds ?? null})
      ON CONFLICT DO NOTHING`)
    await prune(tx, given)
  }

  /** The rows that were changed, as they are now. */
  async function change(tx: Transaction, set: Statement, where: Statement): Promise<Publish[]> {
    const rows = await tx.query<Row>(statement`UPDATE publishes SET ${set} WHERE ${where} RETURNING ${columns}`)
    for (const { environment_id } of rows) await notifyBelow(tx, environment_id, ...CHANGED)
    return rows.map(toPublish)
  }

  function hint(tx: Transaction, what: 'visible' | 'visited', { kind, callTime }: Publish, time: number) {
    tx.notify(PUBLISH_HINTS, `${what} ${kind} ${Math.max(0, time - callTime)}`)
  }

  return {
    newId,

    /** Does nothing where the environment is gone, or the operation has a row. */
    async insert(tx: Transaction, given: NewPublish): Promise<void> {
      if (await notifyBelow(tx, given.environmentId, ...CHANGED)) await write(tx, given)
    },

    /** Without a notification: nothing has changed until the purge is done, and the audit log records what is notified. */
    beginPurge: write,

    async isRecorded(tx: Transaction, operationId: string): Promise<boolean> {
      const rows = await tx.query(statement`SELECT id FROM publishes WHERE operation_id = ${operationId}`)
      return rows.length > 0
    },

    /** Every edge has it. Undefined if that was recorded before. */
    async buildVisible(tx: Transaction, operationId: string, time: number): Promise<Publish | undefined> {
      const isUnderWay = statement`operation_id = ${operationId} AND state = 'UNDER_WAY'`
      const [visible] = await change(tx, statement`state = 'VISIBLE', end_time = ${time}`, isUnderWay)
      if (visible) hint(tx, 'visible', visible, time)
      return visible
    },

    /** The same for a purge, with the operation that recorded it. */
    async purgeVisible(tx: Transaction, id: string, operationId: string): Promise<Publish | undefined> {
      const time = clock.now()
      const set = statement`state = 'VISIBLE', end_time = ${time}, operation_id = ${operationId}`
      const [visible] = await change(tx, set, statement`id = ${id} AND state = 'UNDER_WAY'`)
      if (visible) hint(tx, 'visible', visible, time)
      return visible
    },

    /** Without a notification, too. */
    async purgeFailed(tx: Transaction, id: string, reason: Reason): Promise<void> {
      await tx.query(statement`
        UPDATE publishes SET state = 'FAILED', end_time = ${clock.now()}, reason = ${reason}
        WHERE id = ${id} AND state = 'UNDER_WAY'`)
    },

    /** A page was answered after it. Of several edges, the earliest counts, whatever the order of their reports. */
    async visited(tx: Transaction, environmentId: string, of: Visited, time: number): Promise<void> {
      const isIt = 'publish' in of ? statement`id = ${of.publish}` : statement`deployment_id = ${of.deployment}`
      const isFirst = statement`(visit_time IS NULL OR visit_time > ${time})`
      const [before] = await tx.query<{ visit_time: number | null }>(
        statement`SELECT visit_time FROM publishes WHERE environment_id = ${environmentId} AND ${isIt}`,
      )
      if (!before) return
      const where = statement`environment_id = ${environmentId} AND ${isIt} AND ${isFirst}`
      const [visited] = await change(tx, statement`visit_time = ${time}`, where)
      if (visited && before.visit_time === null) hint(tx, 'visited', visited, time)
    },

    async list(environmentId: string, page: Page, kind?: resources.PublishKind): Promise<PageOf<Publish>> {
      const ofKind = kind === undefined ? statement`id IS NOT NULL` : statement`kind = ${kind}`
      const rows = await sql.query<Row>(statement`
        SELECT ${columns} FROM publishes WHERE environment_id = ${environmentId} AND ${ofKind} AND ${page.after} ${page.order}`)
      return pageOf(rows.map(toPublish), page)
    },

    /** Those that were called for since a time, as far as they are kept. */
    async since(environmentId: string, time: number): Promise<Publish[]> {
      const rows = await sql.query<Row>(statement`
        SELECT ${columns} FROM publishes WHERE environment_id = ${environmentId} AND call_time >= ${time}`)
      return rows.map(toPublish)
    },
  }
}

export type PublishRecords = ReturnType<typeof createPublishRecords>

/** What the first page was answered by, or after. */
export type Visited = { deployment: string } | { publish: string }

const toPublish = (row: Row): Publish => ({
  id: row.id,
  environmentId: row.environment_id,
  kind: row.kind,
  trigger: row.trigger_name,
  operationId: row.operation_id,
  buildId: row.build_id,
  deploymentId: row.deployment_id,
  state: row.state,
  reason: row.reason,
  calls: row.calls,
  callTime: row.call_time,
  beginTime: row.begin_time,
  builtTime: row.built_time,
  endTime: row.end_time,
  visitTime: row.visit_time,
  promiseSeconds: row.promise_seconds,
})
