/** Why an operation has not begun, and how many are ahead of it. */
import type { Clock } from '../base/index.ts'
import { LIMITS, type resources } from '../contract/index.ts'
import { list, type Sql, statement } from '../storage/index.ts'
import { BUILD_QUEUES, type OperationRecord, type Queue } from './types.ts'

/** `of` is the trigger of the operation that it waits for, if that is one of the same environment. */
export type Waiting = { reason: resources.WaitingReason; ahead: number; of?: resources.Trigger }

type Standing = { queue: Queue | 'none'; lease_owner: string | null }

export function createWaiting({ sql, clock }: { sql: Sql; clock: Clock }) {
  const waitingBuilds = () => statement`done_time IS NULL AND queue IN (${list(BUILD_QUEUES)}) AND lease_owner IS NULL`

  /**
   * How many builds are ahead of this one in the queue, itself included; 0 when it does not wait. In a long queue counting
   * ends early. Builds that still collect calls are not counted.
   */
  async function queuePosition({ id, doneTime, phase }: OperationRecord): Promise<number> {
    if (doneTime !== null || phase !== 'QUEUED') return 0
    const [row] = await sql.query<{ position: number }>(statement`
      SELECT COUNT(*) AS position FROM (
        SELECT id FROM operations WHERE ${waitingBuilds()} AND id = ${id}
        UNION ALL
        SELECT id FROM (
          SELECT id FROM operations
          WHERE ${waitingBuilds()} AND id < ${id} AND (not_before IS NULL OR not_before <= ${clock.now()})
          LIMIT ${LIMITS.queueCounted - 1}) AS before
        WHERE EXISTS (SELECT 1 FROM operations WHERE ${waitingBuilds()} AND id = ${id})) AS found`)
    return row?.position ?? 0
  }

  /** The trigger of the operation of the same environment that runs, or was requested earlier. */
  async function another({ id, environmentId }: OperationRecord): Promise<resources.Trigger | undefined> {
    const [row] = await sql.query<{ trigger_name: resources.Trigger }>(statement`
      SELECT trigger_name FROM operations
      WHERE environment_id = ${environmentId} AND done_time IS NULL AND queue <> 'none' AND id <> ${id}
      AND (lease_owner IS NOT NULL OR id < ${id} AND (not_before IS NULL OR not_before <= ${clock.now()}))
      ORDER BY id LIMIT 1`)
    return row?.trigger_name
  }

  /** The operation itself may have been claimed since its row was read, and does not wait for itself. */
  async function othersAtWork(queue: Queue, id: string): Promise<number> {
    const [row] = await sql.query<{ n: number }>(statement`
      SELECT COUNT(*) AS n FROM (
        SELECT id FROM operations
        WHERE done_time IS NULL AND queue = ${queue} AND lease_owner IS NOT NULL AND id <> ${id}
        LIMIT ${LIMITS.queueCounted}) AS working`)
    return row?.n ?? 0
  }

  return {
    queuePosition,

    /** Undefined for an operation that runs or is done. */
    async waitingOf(operation: OperationRecord): Promise<Waiting | undefined> {
      const { id, doneTime, phase, notBefore, trigger } = operation
      if (doneTime !== null || phase !== 'QUEUED') return undefined
      const [standing] = await sql.query<Standing>(
        statement`SELECT queue, lease_owner FROM operations WHERE id = ${id} AND done_time IS NULL`,
      )
      if (!standing || standing.lease_owner !== null) return undefined
      if (standing.queue === 'none') return { reason: 'ENVIRONMENT', ahead: 1, of: trigger }
      if (notBefore !== null && notBefore > clock.now()) return { reason: 'QUIET_PERIOD', ahead: 0 }
      const of = await another(operation)
      if (of !== undefined) return { reason: 'ENVIRONMENT', ahead: 1, of }
      const before = Math.max(0, (await queuePosition(operation)) - 1)
      const ahead = before + (await othersAtWork(standing.queue, id))
      return { reason: ahead > 0 ? 'MACHINE' : 'NEXT', ahead }
    },
  }
}
