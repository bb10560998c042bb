/**
 * The record of rebuilds that the service requests by itself after an outage: at most one for each environment. The states of
 * one:
 *
 *   waiting   `nextTime` is when its servers are probed next, or, if none are known, when it is built again
 *   given up  `nextTime` is null: the time is over, or it was built again too often without success
 *
 * It is removed when a build goes live, when a user makes a deployment live, and with its environment.
 */
import { notifyBelow } from '../../apps/index.ts'
import type { Clock } from '../../base/index.ts'
import type { Endpoint } from '../../engines/index.ts'
import { list, type Reader, type Sql, statement, type Transaction } from '../../storage/index.ts'

export type Retry = {
  environmentId: string
  accountId: string
  buildId: string
  /** All of them must answer before it is built again. */
  endpoints: Endpoint[]
  /** How often they were probed since. */
  probes: number
  /** How often it was built again. */
  rebuilds: number
  nextTime: number | null
  untilTime: number
}

type Row = {
  environment_id: string
  account_id: string
  build_id: string
  endpoints: string
  probes: number
  rebuilds: number
  next_time: number | null
  until_time: number
}

const columns = statement`environment_id, account_id, build_id, endpoints, probes, rebuilds, next_time, until_time`

/** Rebuilds by the service after one outage. */
export const MAX_REBUILDS = 5
const KEEP_MS = 24 * 60 * 60_000
/** The longest pause between two probes, and the pause before the first rebuild without known servers, in intervals. */
const SLOW = 20
/** Retries of one account in one round, so that all accounts have their turn. */
const PER_ACCOUNT = 4
const PER_ROUND = 64

/** `intervalMs`: the time from the outage to the first probe; 0 if nothing is retried. */
export function createRetries({ sql, clock, intervalMs }: { sql: Sql; clock: Clock; intervalMs: number }) {
  const probePauseMs = (probes: number): number => intervalMs * Math.min(2 ** probes, SLOW)
  const rebuildPauseMs = (rebuilds: number): number => intervalMs * SLOW * 3 ** rebuilds

  async function change(tx: Transaction, environmentId: string, set: ReturnType<typeof statement>) {
    await tx.query(statement`UPDATE rebuild_retries SET ${set} WHERE environment_id = ${environmentId}`)
    await notifyBelow(tx, environmentId, '')
  }

  return {
    /** After a build that an outage affected. A retry that exists already goes on: its end does not move, and its rebuilds count. */
    async arrange(
      tx: Transaction,
      { accountId, environmentId }: Pick<Retry, 'accountId' | 'environmentId'>,
      { buildId, endpoints }: Pick<Retry, 'buildId' | 'endpoints'>,
    ): Promise<void> {
      if (intervalMs === 0) return
      const now = clock.now()
      const [known] = await tx.query<Row>(
        statement`SELECT ${columns} FROM rebuild_retries WHERE environment_id = ${environmentId}`,
      )
      const isUnderWay = known !== undefined && known.next_time !== null
      const rebuilds = isUnderWay ? known.rebuilds : 0
      const untilTime = isUnderWay ? known.until_time : now + KEEP_MS
      const isOver = rebuilds >= MAX_REBUILDS || now >= untilTime
      const pauseMs = endpoints.length > 0 && rebuilds === 0 ? intervalMs : rebuildPauseMs(rebuilds)
      const nextTime = isOver ? null : now + pauseMs
      const text = JSON.stringify(endpoints)
      await tx.query(statement`
        INSERT INTO rebuild_retries (environment_id, account_id, build_id, endpoints, probes, rebuilds, next_time,
          until_time, create_time)
        VALUES (${environmentId}, ${accountId}, ${buildId}, ${text}, 0, ${rebuilds}, ${nextTime}, ${untilTime}, ${now})
        ON CONFLICT (environment_id) DO UPDATE SET build_id = ${buildId}, endpoints = ${text}, probes = 0,
          rebuilds = ${rebuilds}, next_time = ${nextTime}, until_time = ${untilTime}`)
      await notifyBelow(tx, environmentId, '')
    },

    /** In words, for the log of the build. */
    async outlook(environmentId: string, endpoints: readonly Endpoint[]): Promise<string> {
      if (intervalMs === 0)
        return 'The service does not build it again by itself: the operator has set retryInterval to 0.'
      const known = (await this.of([environmentId])).get(environmentId)
      if (known?.nextTime && known.rebuilds >= MAX_REBUILDS)
        return `The service has built it again ${known.rebuilds} times and does not try any more.`
      const hosts = endpoints.map(({ host, port }) => `${host}:${port}`).join(' and ')
      return hosts === ''
        ? `The service builds it again by itself in a while, at most ${MAX_REBUILDS} times in all.`
        : `The service builds it again by itself when ${hosts} answers, within 24 hours.`
    },

    /** After a successful build. A retry that waits for a server that this build did not reach either goes on. */
    async endUnless(tx: Transaction, environmentId: string, unreached: ReadonlySet<string> = new Set()) {
      const known = (await this.of([environmentId], tx)).get(environmentId)
      if (known && !known.endpoints.some(({ host }) => unreached.has(host))) await this.end(tx, environmentId)
    },

    async end(tx: Transaction, environmentId: string) {
      const ended = await tx.query(
        statement`DELETE FROM rebuild_retries WHERE environment_id = ${environmentId} RETURNING environment_id`,
      )
      if (ended.length > 0) await notifyBelow(tx, environmentId, '')
    },

    async of(environmentIds: readonly string[], reader: Reader = sql): Promise<Map<string, Retry>> {
      if (environmentIds.length === 0) return new Map()
      const rows = await reader.query<Row>(
        statement`SELECT ${columns} FROM rebuild_retries WHERE environment_id IN (${list(environmentIds)})`,
      )
      return new Map(rows.map((row) => [row.environment_id, toRetry(row)]))
    },

    /** Those that are due, a few of each account. */
    async due(): Promise<Retry[]> {
      const rows = await sql.query<Row>(statement`
        SELECT ${columns} FROM (
          SELECT ${columns}, ROW_NUMBER() OVER (PARTITION BY account_id ORDER BY next_time, environment_id) AS place
          FROM rebuild_retries WHERE next_time <= ${clock.now()}) AS waiting
        WHERE place <= ${PER_ACCOUNT} ORDER BY place, next_time LIMIT ${PER_ROUND}`)
      return rows.map(toRetry)
    },

    /** False if another process has taken it. It is due again after a while, in case this process dies. */
    async claim({ environmentId, nextTime }: Retry): Promise<boolean> {
      const later = clock.now() + probePauseMs(SLOW)
      return sql.transaction(async (tx) => {
        const claimed = await tx.query(statement`
          UPDATE rebuild_retries SET next_time = ${later}
          WHERE environment_id = ${environmentId} AND next_time = ${nextTime} RETURNING environment_id`)
        return claimed.length > 0
      })
    },

    /** Its servers do not answer yet. */
    async putOff({ environmentId, probes }: Retry) {
      const next = clock.now() + probePauseMs(probes + 1)
      await sql.transaction((tx) => change(tx, environmentId, statement`probes = ${probes + 1}, next_time = ${next}`))
    },

    /** Part of the transaction that requests the build. If the build fails for another reason than an outage, it is retried later. */
    async rebuilt(tx: Transaction, { environmentId, rebuilds }: Retry) {
      const next = clock.now() + rebuildPauseMs(rebuilds + 1)
      await change(tx, environmentId, statement`rebuilds = ${rebuilds + 1}, next_time = ${next}`)
    },

    async giveUp(tx: Transaction, { environmentId }: Retry) {
      await change(tx, environmentId, statement`next_time = NULL`)
    },
  }
}

export type Retries = ReturnType<typeof createRetries>

const toRetry = (row: Row): Retry => ({
  environmentId: row.environment_id,
  accountId: row.account_id,
  buildId: row.build_id,
  endpoints: JSON.parse(row.endpoints),
  probes: row.probes,
  rebuilds: row.rebuilds,
  nextTime: row.next_time,
  untilTime: row.until_time,
})
