/**
 * Removes old events: the leader does it in rounds. Of each account the newest stay, and none for longer than their days. What is
 * requested often, by programs as well, has a smaller number of its own: a program that purges every minute does not push out
 * who created a credential.
 */
import { type Clock, type Log, repeat } from '../base/index.ts'
import { LIMITS, resources } from '../contract/index.ts'
import {
  LeadershipLost,
  type LeaderWork,
  list,
  type Sql,
  type Statement,
  statement,
  type Term,
} from '../storage/index.ts'

const ROUND_MS = 60 * 60_000
const DAY_MS = 24 * 60 * 60_000
/** Removed in one transaction, so that other writers do not wait for long. */
const AT_A_TIME = 500

type Parts = { sql: Sql; clock: Clock; log: Log }

export function createAuditPruning({ sql, clock, log }: Parts) {
  async function accountAfter(id: string): Promise<string | undefined> {
    const [row] = await sql.query<{ account_id: string }>(statement`
      SELECT account_id FROM audit_events WHERE account_id > ${id} ORDER BY account_id LIMIT 1`)
    return row?.account_id
  }

  /** The newest of those that are too many. */
  async function lastBeyond(accountId: string, kept: number, which: Statement): Promise<string | undefined> {
    const [row] = await sql.query<{ id: string }>(statement`
      SELECT id FROM audit_events WHERE account_id = ${accountId} AND ${which} ORDER BY id DESC LIMIT 1 OFFSET ${kept}`)
    return row?.id
  }

  async function remove(which: Statement, term: Pick<Term, 'check'>) {
    for (let removed = AT_A_TIME; removed === AT_A_TIME; ) {
      const rows = await sql.transaction(async (tx) => {
        await term.check(tx)
        return tx.query(statement`DELETE FROM audit_events WHERE id IN (
          SELECT id FROM audit_events WHERE ${which} ORDER BY id LIMIT ${AT_A_TIME}) RETURNING id`)
      })
      removed = rows.length
    }
  }

  /** A read comes first: most of the time there is nothing to remove, and the write lock is not needed. */
  async function prune(accountId: string, term: Pick<Term, 'check'>) {
    const ofAccount = statement`account_id = ${accountId}`
    const oldest = clock.now() - LIMITS.auditDays * DAY_MS
    const [first] = await sql.query<{ create_time: number }>(
      statement`SELECT create_time FROM audit_events WHERE ${ofAccount} ORDER BY id LIMIT 1`,
    )
    if (first && first.create_time < oldest) await remove(statement`${ofAccount} AND create_time < ${oldest}`, term)
    const routine = statement`action IN (${list(resources.ROUTINE_ACTIONS)})`
    for (const [kept, which] of [
      [LIMITS.auditRoutineKept, routine],
      [LIMITS.auditEventsKept, statement`1 = 1`],
    ] as const) {
      const last = await lastBeyond(accountId, kept, which)
      if (last !== undefined) await remove(statement`${ofAccount} AND ${which} AND id <= ${last}`, term)
    }
  }

  async function round(term: Pick<Term, 'check'>) {
    for (let id = await accountAfter(''); id !== undefined; id = await accountAfter(id)) await prune(id, term)
  }

  const lead: LeaderWork = (term) =>
    repeat(
      clock,
      ROUND_MS,
      () =>
        round(term).catch((error) => {
          if (!(error instanceof LeadershipLost))
            log.error({ err: error }, 'old events of the audit log could not be removed')
        }),
      { isImmediate: true },
    )

  return { round, lead }
}
