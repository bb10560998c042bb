/**
 * Operations: work that a caller asked for and can follow. The states of one:
 *
 *   waiting  no lease. Every operation begins here, in the transaction that asked for it.
 *   running  a worker holds a lease that has not run out, and renews it while it works.
 *   done     done_time is set, with either a response or an error. This state is final.
 *
 * waiting → running by a claim; running → waiting when the lease runs out (the worker died) or is handed back (it stops);
 * running → done by the one worker that still holds the lease. A cancelled operation is asked to end; its handler decides how.
 */
import type { Changes, Clock, NewId } from '../base/index.ts'
import { names, type resources } from '../contract/index.ts'
import { type Sql, statement, type Transaction } from '../storage/index.ts'
import { createOperationCounts } from './counts.ts'
import { createForgetOperations } from './forget.ts'
import { createLatest } from './latest.ts'
import { createDescribe, createReads } from './read.ts'
import { createRelated } from './related.ts'
import { columns, notifyChanged, type OperationRow, toColumns, toRecord } from './rows.ts'
import { createTransitions } from './transitions.ts'
import type { Ending, NewOperation, Operation, OperationPath, ReadDescriptions } from './types.ts'
import { createWaiting } from './waiting.ts'
import { createWaits } from './waits.ts'

type Parts = {
  sql: Sql
  clock: Clock
  newId: NewId
  readDescriptions: ReadDescriptions
  /** Tells of changes by other processes, where several use the database. */
  changes?: Pick<Changes, 'follow'> | undefined
}

/** Followers of no account, but of operations that wait for a worker. */
const HINTS = 'operations'

type DoneWork = {
  path: OperationPath
  trigger: resources.Trigger
  requestedBy: resources.Requester | null
  finish(operation: Operation): Promise<Ending>
}

export function createOperations({ sql, clock, newId, readDescriptions, changes }: Parts) {
  const onRequested = new Set<() => void>()
  const describe = createDescribe(readDescriptions)
  const reads = createReads({ sql, describe })

  async function request(
    tx: Transaction,
    path: OperationPath,
    trigger: resources.Trigger,
    wanted: NewOperation = {},
  ): Promise<Operation> {
    const { queue = 'quick', build = names.NO_BUILD, activates = null, notBefore = null, requestedBy } = wanted
    const rows = await tx.query<OperationRow>(statement`
      INSERT INTO operations (id, account_id, app_name, folded_app_name, environment_id, trigger_name, phase, build,
        deployment, attempts, create_time, queue, activates, not_before, requested_by)
      VALUES (${newId()}, ${path.accountId}, ${path.appName}, ${names.fold(path.appName)}, ${path.environmentId},
        ${trigger}, 'QUEUED', ${build}, '', 0, ${clock.now()}, ${queue}, ${activates}, ${notBefore},
        ${requestedBy ? JSON.stringify(requestedBy) : null})
      RETURNING ${columns}`)
    for (const row of rows) notifyChanged(tx, row, { withEnvironment: true })
    if (changes) tx.notify(HINTS, queue)
    const [requested] = await describe(tx, rows.map(toRecord))
    return requested as Operation
  }

  return {
    ...reads,
    ...createOperationCounts(sql),
    ...createRelated(sql),
    ...createTransitions({ sql, clock, require: reads.require }),
    ...createForgetOperations(sql),
    ...createWaits({ clock, require: reads.require, changes }),
    ...createLatest(sql),
    ...createWaiting({ sql, clock }),

    /** Records that the work is wanted. Call `announce` once the transaction is committed. */
    request,

    /**
     * Records work that is done already, with how it ended, in one transaction: it never waits, so no worker takes it, and
     * it waits for no other operation of its environment.
     */
    async record(tx: Transaction, { path, trigger, requestedBy, finish }: DoneWork): Promise<Operation> {
      const begun = await request(tx, path, trigger, { requestedBy })
      const { response, error } = toColumns(await finish(begun))
      const rows = await tx.query<OperationRow>(statement`
        UPDATE operations SET done_time = ${clock.now()}, phase = 'DONE', response = ${response}, error = ${error}
        WHERE id = ${begun.id} RETURNING ${columns}`)
      const [done] = await describe(tx, rows.map(toRecord))
      return done as Operation
    },

    /** Wakes the workers of this process; those of other processes are told by the database, or find the work when they next look. */
    announce() {
      for (const wake of onRequested) wake()
    },

    onRequested(wake: () => void): () => void {
      onRequested.add(wake)
      const forgetHints = changes?.follow(HINTS, wake)
      return () => {
        onRequested.delete(wake)
        forgetHints?.()
      }
    },
  }
}

export type Operations = ReturnType<typeof createOperations>
