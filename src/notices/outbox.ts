/**
 * The rows of deliveries: one for each notice and target.
 *
 *   state      event                                                     next
 *   WAITING    its time has come: it is claimed, and counts as a try     WAITING, until the lease is over
 *   WAITING    the receiver has taken it                                 DELIVERED
 *   WAITING    it failed, and may succeed later                          WAITING, until its next try
 *   WAITING    it failed for good, or for the last time                  FAILED
 *   WAITING    its target was switched off                               ENDED
 *
 * A process that dies while it sends leaves the row WAITING: the next leader sends it again, with the same id. The number of the
 * try is what a result is written by, so that one which comes late changes nothing.
 */
import { type Clock, type NewId, toRfc3339 } from '../base/index.ts'
import { LIMITS, names, type resources } from '../contract/index.ts'
import { type Page, type PageOf, pageOf, type Sql, statement, type Term, type Transaction } from '../storage/index.ts'

/** A notice as it is sent. */
export type SentNotice = {
  kind: resources.DeliveredKind
  appName: string | null
  environmentId: string | null
  resource: string
  title: string
  text: string
  link: string | null
  createTime: number
}

export type Due = { id: string; accountId: string; targetId: string; attempts: number }

/** A delivery under way, and the number of its try. */
export type Claimed = { id: string; accountId: string; targetId: string; attempts: number; notice: SentNotice }

export type Outcome = {
  state: resources.DeliveryState
  /** Of WAITING. */
  nextTime?: number
  status?: number
  error?: string
  /** False: nothing was sent, so it does not count. */
  isTry?: boolean
}

type DeliveryRow = {
  id: string
  kind: resources.DeliveredKind
  title: string
  resource: string
  state: resources.DeliveryState
  attempts: number
  next_time: number | null
  status: number | null
  error: string | null
  create_time: number
  end_time: number | null
}

type NoticeRow = {
  kind: resources.DeliveredKind
  app_name: string | null
  environment_id: string | null
  resource: string
  title: string
  text: string
  link: string | null
  create_time: number
}

/** Targets that are looked at in one round. */
const BATCH = 1000
const KEPT_MS = 30 * 24 * 60 * 60_000

export function createOutbox({ sql, clock, newId }: { sql: Sql; clock: Clock; newId: NewId }) {
  async function noticeOf(tx: Transaction, deliveryId: string): Promise<SentNotice | undefined> {
    const [row] = await tx.query<NoticeRow>(statement`
      SELECT n.kind, n.app_name, n.environment_id, n.resource, n.title, n.text, n.link, n.create_time
      FROM notification_deliveries d JOIN notices n ON n.id = d.notice_id WHERE d.id = ${deliveryId}`)
    return (
      row && {
        kind: row.kind,
        appName: row.app_name,
        environmentId: row.environment_id,
        resource: row.resource,
        title: row.title,
        text: row.text,
        link: row.link,
        createTime: row.create_time,
      }
    )
  }

  return {
    /** Of each target the delivery that is due first, those that wait longest first. */
    async due(): Promise<Due[]> {
      const rows = await sql.query<{ id: string; account_id: string; target_id: string; attempts: number }>(statement`
        SELECT id, account_id, target_id, attempts FROM (
          SELECT id, account_id, target_id, attempts, next_time,
            ROW_NUMBER() OVER (PARTITION BY target_id ORDER BY next_time, id) AS place
          FROM notification_deliveries WHERE next_time <= ${clock.now()}
        ) AS due WHERE place = 1 ORDER BY next_time, id LIMIT ${BATCH}`)
      return rows.map((row) => ({
        id: row.id,
        accountId: row.account_id,
        targetId: row.target_id,
        attempts: row.attempts,
      }))
    },

    /** When the next one is due. */
    async nextTime(): Promise<number | undefined> {
      const [row] = await sql.query<{ next: number | null }>(
        statement`SELECT MIN(next_time) AS next FROM notification_deliveries WHERE next_time IS NOT NULL`,
      )
      return row?.next ?? undefined
    },

    /** Undefined if it was taken, ended or deleted since it was read. */
    claim(due: Due, { term, leaseMs }: { term: Pick<Term, 'check'>; leaseMs: number }): Promise<Claimed | undefined> {
      return sql.transaction(async (tx) => {
        await term.check(tx)
        const now = clock.now()
        const [row] = await tx.query<{ attempts: number }>(statement`
          UPDATE notification_deliveries SET attempts = attempts + 1, is_claimed = 1, next_time = ${now + leaseMs}
          WHERE id = ${due.id} AND attempts = ${due.attempts} AND state = 'WAITING' AND next_time <= ${now}
          RETURNING attempts`)
        const notice = row && (await noticeOf(tx, due.id))
        return notice && { ...due, attempts: row.attempts, notice }
      })
    },

    /** At the beginning of a term: what a leader before was sending is due. */
    release(term: Pick<Term, 'check'>): Promise<void> {
      return sql.transaction(async (tx) => {
        await term.check(tx)
        await tx.query(statement`
          UPDATE notification_deliveries SET next_time = ${clock.now()}, is_claimed = 0
          WHERE is_claimed = 1 AND state = 'WAITING'`)
      })
    },

    /** False if the result comes too late. */
    async settle(tx: Transaction, claimed: Omit<Claimed, 'notice'>, outcome: Outcome): Promise<boolean> {
      const { id, accountId, targetId, attempts } = claimed
      const { state, nextTime = null, status = null, error = null, isTry = true } = outcome
      const endTime = state === 'WAITING' ? null : clock.now()
      const settled = await tx.query(statement`
        UPDATE notification_deliveries SET state = ${state}, next_time = ${nextTime}, status = ${status}, error = ${error},
          end_time = ${endTime}, is_claimed = 0, attempts = attempts - ${isTry ? 0 : 1}
        WHERE id = ${id} AND attempts = ${attempts} AND state = 'WAITING' RETURNING id`)
      if (settled.length > 0) tx.notify(accountId, `notificationTargets/${targetId}/deliveries`)
      return settled.length > 0
    },

    /** A test that was sent already, with its result. */
    async addTest(tx: Transaction, { id, accountId, targetId, notice }: Omit<Claimed, 'attempts'>, outcome: Outcome) {
      const { state, status = null, error = null } = outcome
      const noticeId = newId()
      const { resource, title, text, createTime } = notice
      await tx.query(statement`
        INSERT INTO notices (id, account_id, kind, resource, title, text, create_time)
        VALUES (${noticeId}, ${accountId}, 'TEST', ${resource}, ${title}, ${text}, ${createTime})`)
      await tx.query(statement`
        INSERT INTO notification_deliveries
          (id, notice_id, target_id, account_id, state, attempts, status, error, create_time, end_time)
        VALUES (${id}, ${noticeId}, ${targetId}, ${accountId}, ${state}, 1, ${status}, ${error}, ${createTime},
          ${clock.now()})`)
      await keepNewest(tx, targetId)
      tx.notify(accountId, `notificationTargets/${targetId}/deliveries`)
    },

    async list(accountName: string, targetId: string, page: Page): Promise<PageOf<resources.NotificationDelivery>> {
      const rows = await sql.query<DeliveryRow>(statement`
        SELECT id, kind, title, resource, state, attempts, next_time, status, error, create_time, end_time FROM (
          SELECT d.id, n.kind, n.title, n.resource, d.state, d.attempts, d.next_time, d.status, d.error, d.create_time,
            d.end_time
          FROM notification_deliveries d JOIN notices n ON n.id = d.notice_id WHERE d.target_id = ${targetId}
        ) AS shown WHERE ${page.after} ${page.order}`)
      const { items, nextPageToken } = pageOf(rows, page)
      return { items: items.map((row) => render(accountName, targetId, row)), nextPageToken }
    },

    async get(accountName: string, targetId: string, id: string): Promise<resources.NotificationDelivery | undefined> {
      const [row] = await sql.query<DeliveryRow>(statement`
        SELECT d.id, n.kind, n.title, n.resource, d.state, d.attempts, d.next_time, d.status, d.error, d.create_time, d.end_time
        FROM notification_deliveries d JOIN notices n ON n.id = d.notice_id
        WHERE d.target_id = ${targetId} AND d.id = ${id}`)
      return row && render(accountName, targetId, row)
    },

    /** Old deliveries, and notices that all targets have forgotten. */
    forgetOld(term: Pick<Term, 'check'>): Promise<void> {
      return sql.transaction(async (tx) => {
        await term.check(tx)
        const before = clock.now() - KEPT_MS
        await tx.query(
          statement`DELETE FROM notification_deliveries WHERE create_time < ${before} AND state <> 'WAITING'`,
        )
        await tx.query(statement`
          DELETE FROM notices WHERE NOT EXISTS (SELECT 1 FROM notification_deliveries d WHERE d.notice_id = notices.id)`)
      })
    },
  }
}

export type Outbox = ReturnType<typeof createOutbox>

/** The newest ones of a target stay, whatever their state: one that is away for days must not fill the database. */
export async function keepNewest(tx: Transaction, targetId: string) {
  await tx.query(statement`
    DELETE FROM notification_deliveries WHERE target_id = ${targetId} AND id < (
      SELECT MIN(id) FROM (
        SELECT id FROM notification_deliveries WHERE target_id = ${targetId} ORDER BY id DESC LIMIT ${LIMITS.deliveriesKept}
      ) AS newest
    )`)
}

/** Those of a target that is switched off. */
export async function endWaiting(tx: Transaction, targetId: string, now: number) {
  await tx.query(statement`
    UPDATE notification_deliveries SET state = 'ENDED', next_time = NULL, end_time = ${now}
    WHERE target_id = ${targetId} AND state = 'WAITING'`)
}

function render(account: string, target: string, row: DeliveryRow): resources.NotificationDelivery {
  return {
    name: names.deliveryResource(account, target, row.id),
    kind: row.kind,
    title: row.title,
    resource: row.resource,
    state: row.state,
    attempts: row.attempts,
    ...(row.status === null ? {} : { responseStatus: row.status }),
    error: row.error ?? '',
    createTime: toRfc3339(row.create_time),
    ...(row.next_time === null ? {} : { nextTime: toRfc3339(row.next_time) }),
    ...(row.end_time === null ? {} : { endTime: toRfc3339(row.end_time) }),
  }
}
