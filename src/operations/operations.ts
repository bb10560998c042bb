/**
 * Operations: work that somebody asked for and can watch. The life of one:
 *
 *   waiting  no lease. Every operation begins here, in the transaction that asked for it.
 *   running  a worker holds a lease that has not run out, and renews it while it works.
 *   done     done_time is set, with either a response or an error. Nothing leads out.
 *
 * waiting → running by a claim; running → waiting when the lease runs out (the worker died) or is handed back (it stops);
 * running → done by the one worker that still holds the lease. A cancelled operation is asked to end; its handler says how.
 */
import type { Clock, NewId } from '../base/index.ts'
import { names, operationError, Problem, type resources } from '../contract/index.ts'
import {
  list,
  type Page,
  type PageOf,
  pageWithin,
  type Reader,
  type Sql,
  statement,
  type Transaction,
} from '../storage/index.ts'
import { createLatest } from './latest.ts'
import { createWaiting } from './waiting.ts'
import { createWaits } from './waits.ts'

export type Operation = {
  id: string
  accountId: string
  appName: string
  environmentId: string
  trigger: resources.Trigger
  phase: resources.Phase
  build: string
  deployment: string
  /** It built what visitors got already: `deployment` is the one that was live, and stays so. */
  isUnchanged: boolean
  /** The deployment that is to be made live, where one exists already. */
  activates: string | null
  /** It lets a burst of calls settle, and is not begun before this time. */
  notBefore: number | null
  requestedBy: resources.Requester | null
  /** What was said about the archive of its build; nothing where it has no build. */
  message: string
  commit: resources.Commit | null
  createTime: number
  doneTime: number | null
  response: unknown
  error: ReturnType<typeof operationError> | null
}

export type OperationRow = {
  id: string
  account_id: string
  app_name: string
  environment_id: string
  trigger_name: resources.Trigger
  phase: resources.Phase
  build: string
  deployment: string
  is_unchanged: number
  activates: string | null
  not_before: number | null
  requested_by: string | null
  message: string | null
  git_commit: string | null
  create_time: number
  done_time: number | null
  response: string | null
  error: string | null
}

export const columns = statement`id, account_id, app_name, environment_id, trigger_name, phase, build, deployment,
  is_unchanged, activates, not_before, requested_by,
  (SELECT b.message FROM builds b WHERE b.id = operations.build) AS message,
  (SELECT b.git_commit FROM builds b WHERE b.id = operations.build) AS git_commit,
  create_time, done_time, response, error`

/** Where an operation is looked for: never by its id alone. */
export type OperationPath = { accountId: string; appName: string; environmentId: string }

/**
 * Builds take minutes and everything else milliseconds: they wait in queues of their own. A build that may need no program of
 * the app waits in `light`, and is handed on to `build` when it turns out to need one. One whose work another operation does
 * waits in none.
 */
export const QUEUES = ['quick', 'light', 'build'] as const
export type Queue = (typeof QUEUES)[number]
export const BUILD_QUEUES: readonly Queue[] = ['light', 'build']

export type Ending = { response: unknown } | { error: Problem }

export type Wanted = {
  queue?: Queue
  build?: string
  activates?: string
  notBefore?: number | null
  requestedBy?: resources.Requester | null
}
/** It has not begun and waits again: in another queue, or for the end of the operation that does its work. */
export type HandedOn = { queue: Queue } | { satisfiedBy: string }

/** Of responses on one page: each may show the names of all variables of its environment. */
const PAGE_BYTES = 1024 * 1024

export function createOperations({ sql, clock, newId }: { sql: Sql; clock: Clock; newId: NewId }) {
  const onRequested = new Set<() => void>()

  const matching = ({ accountId, appName, environmentId }: OperationPath) => statement`
    account_id = ${accountId} AND folded_app_name = ${names.fold(appName)} AND environment_id = ${environmentId}`

  async function require(path: OperationPath, id: string, reader: Reader = sql): Promise<Operation> {
    const [row] = await reader.query<OperationRow>(
      statement`SELECT ${columns} FROM operations WHERE id = ${id} AND ${matching(path)}`,
    )
    if (!row) throw new Problem('OPERATION_NOT_FOUND')
    return toOperation(row)
  }

  /** The operation that does the work of this one: itself, or the one that took its place. */
  async function requireDoing(path: OperationPath, id: string): Promise<Operation> {
    const [row] = await sql.query<OperationRow>(statement`
      SELECT ${columns} FROM operations
      WHERE id = (SELECT COALESCE(satisfied_by, id) FROM operations WHERE id = ${id}) AND ${matching(path)}`)
    return row ? toOperation(row) : require(path, id)
  }

  function notify(tx: Transaction, { id, accountId, appName, environmentId }: Operation, ofEnvironmentToo = false) {
    const environment = `apps/${appName}/environments/${environmentId}`
    tx.notify(accountId, `${environment}/operations/${id}`)
    // Whether an operation changes it is a part of what it shows.
    if (ofEnvironmentToo) tx.notify(accountId, environment)
  }

  return {
    require,
    requireDoing,
    ...createWaits({ clock, require }),
    ...createLatest(sql),
    ...createWaiting({ sql, clock }),

    /** Records that the work is wanted. Call `announce` once the transaction is committed. */
    async request(
      tx: Transaction,
      path: OperationPath,
      trigger: resources.Trigger,
      wanted: Wanted = {},
    ): Promise<Operation> {
      const { queue = 'quick', build = names.NO_BUILD, activates = null, notBefore = null, requestedBy } = wanted
      const [row] = await tx.query<OperationRow>(statement`
        INSERT INTO operations (id, account_id, app_name, folded_app_name, environment_id, trigger_name, phase, build,
          deployment, attempts, create_time, queue, activates, not_before, requested_by)
        VALUES (${newId()}, ${path.accountId}, ${path.appName}, ${names.fold(path.appName)}, ${path.environmentId},
          ${trigger}, 'QUEUED', ${build}, '', 0, ${clock.now()}, ${queue}, ${activates}, ${notBefore},
          ${requestedBy ? JSON.stringify(requestedBy) : null})
        RETURNING ${columns}`)
      const requested = toOperation(row as OperationRow)
      notify(tx, requested, true)
      return requested
    },

    /**
     * Records work that is done already, with how it ended, in one transaction: it never waits, so no worker takes it up,
     * and it waits for no other of its environment.
     */
    async record(
      tx: Transaction,
      path: OperationPath,
      trigger: resources.Trigger,
      finish: (operation: Operation) => Promise<Ending>,
      wanted: Pick<Wanted, 'requestedBy'> = {},
    ): Promise<Operation> {
      const begun = await this.request(tx, path, trigger, wanted)
      const { response, error } = toColumns(await finish(begun))
      const [row] = await tx.query<OperationRow>(statement`
        UPDATE operations SET done_time = ${clock.now()}, phase = 'DONE', response = ${response}, error = ${error}
        WHERE id = ${begun.id} RETURNING ${columns}`)
      return toOperation(row as OperationRow)
    },

    /** Only so many of the newest purges keep what they answered with: called after each, it takes that of the next older one. */
    async abridgePurge(tx: Transaction, { accountId, environmentId }: OperationPath, kept: number) {
      await tx.query(statement`
        UPDATE operations SET response = '{}' WHERE id = (
          SELECT id FROM operations
          WHERE environment_id = ${environmentId} AND account_id = ${accountId} AND trigger_name = 'PURGE_CACHE'
          ORDER BY id DESC LIMIT 1 OFFSET ${kept})`)
    },

    /**
     * Only the newest purges of an environment are kept, and none from before `oldest`: they end as soon as they are asked for,
     * and may be many.
     */
    async forgetPurges(
      tx: Transaction,
      { accountId, environmentId }: OperationPath,
      { kept, oldest = '' }: { kept: number; oldest?: string | undefined },
    ) {
      const purges = statement`
        environment_id = ${environmentId} AND account_id = ${accountId} AND trigger_name = 'PURGE_CACHE'`
      await tx.query(statement`
        DELETE FROM operations WHERE ${purges} AND (id < ${oldest} OR id <= (
          SELECT id FROM operations WHERE ${purges} ORDER BY id DESC LIMIT 1 OFFSET ${kept}))`)
    },

    /** Wakes the workers of this process; those of others find the work when they next look. */
    announce() {
      for (const wake of onRequested) wake()
    },

    onRequested(wake: () => void): () => void {
      onRequested.add(wake)
      return () => onRequested.delete(wake)
    },

    /** A page ends early where the responses on it are long. */
    async list(path: OperationPath, page: Page): Promise<PageOf<Operation>> {
      const keys = await sql.query<{ id: string; bytes: number }>(statement`
        SELECT id, COALESCE(octet_length(response), 0) AS bytes FROM operations
        WHERE ${matching(path)} AND ${page.after} ${page.order}`)
      // Every environment has at least the operation that created it, also when it is gone.
      if (keys.length === 0 && !page.isResumed) throw new Problem('ENVIRONMENT_NOT_FOUND')
      const { items, nextPageToken } = pageWithin(keys, page, PAGE_BYTES)
      if (items.length === 0) return { items: [], nextPageToken }
      const ids = items.map(({ id }) => id)
      const rows = await sql.query<OperationRow>(statement`
        SELECT ${columns} FROM operations WHERE id IN (${list(ids)})`)
      const found = new Map(rows.map((row) => [row.id, toOperation(row)]))
      return { items: ids.flatMap((id) => found.get(id) ?? []), nextPageToken }
    },

    /** Those of the given environments that an unfinished operation is changing. */
    async reconciling(environmentIds: readonly string[], reader: Reader = sql): Promise<Set<string>> {
      if (environmentIds.length === 0) return new Set()
      const rows = await reader.query<{ environment_id: string }>(statement`
        SELECT DISTINCT environment_id FROM operations
        WHERE done_time IS NULL AND environment_id IN (${list(environmentIds)})`)
      return new Set(rows.map(({ environment_id }) => environment_id))
    },

    /** Whether, once this operation ends, another one still changes its environment. */
    async isAnotherUnfinished(reader: Reader, { id, environmentId }: Operation): Promise<boolean> {
      const [row] = await reader.query(statement`
        SELECT id FROM operations WHERE environment_id = ${environmentId} AND done_time IS NULL AND id <> ${id} LIMIT 1`)
      return row !== undefined
    },

    async unfinishedOf(reader: Reader, environmentId: string): Promise<Operation[]> {
      const rows = await reader.query<OperationRow>(
        statement`SELECT ${columns} FROM operations WHERE environment_id = ${environmentId} AND done_time IS NULL`,
      )
      return rows.map(toOperation)
    },

    async unfinished(tx: Transaction, path: OperationPath, trigger: resources.Trigger): Promise<Operation | undefined> {
      const [row] = await tx.query<OperationRow>(statement`
        SELECT ${columns} FROM operations
        WHERE ${matching(path)} AND trigger_name = ${trigger} AND done_time IS NULL ORDER BY id LIMIT 1`)
      return row && toOperation(row)
    },

    /**
     * The build of this environment that was asked for and not begun: there is at most one. One that was handed back half
     * done is not it, as it may have read already what changed since; nor is one that is to be cancelled.
     */
    async waitingBuild(tx: Transaction, { accountId, environmentId }: OperationPath): Promise<Operation | undefined> {
      const [row] = await tx.query<OperationRow>(statement`
        SELECT ${columns} FROM operations
        WHERE environment_id = ${environmentId} AND account_id = ${accountId} AND done_time IS NULL
        AND queue IN (${list(BUILD_QUEUES)}) AND attempts = 0 AND lease_owner IS NULL AND phase = 'QUEUED'
        AND cancel_time IS NULL
        ORDER BY id DESC LIMIT 1`)
      return row && toOperation(row)
    },

    /** When it may begin; null for at once. */
    async setNotBefore(tx: Transaction, id: string, notBefore: number | null) {
      const rows = await tx.query<OperationRow>(statement`
        UPDATE operations SET not_before = ${notBefore} WHERE id = ${id} AND done_time IS NULL RETURNING ${columns}`)
      for (const row of rows) notify(tx, toOperation(row))
    },

    /** A Rebuild that waits becomes a Clean Rebuild; an upload stays what it is. */
    async makeClean(tx: Transaction, id: string) {
      const rows = await tx.query<OperationRow>(statement`
        UPDATE operations SET trigger_name = 'CLEAN_REBUILD' WHERE id = ${id} AND trigger_name = 'REBUILD'
        RETURNING ${columns}`)
      for (const row of rows) notify(tx, toOperation(row))
    },

    /** Builds of an account that are at work. */
    async countRunningBuilds(accountId: string): Promise<number> {
      const [row] = await sql.query<{ n: number }>(statement`
        SELECT COUNT(*) AS n FROM operations
        WHERE done_time IS NULL AND lease_owner IS NOT NULL AND queue = 'build' AND account_id = ${accountId}`)
      return row?.n ?? 0
    },

    /** Changes of this environment that wait or are under way, without those that make or delete it, and without builds. */
    async countChanges(reader: Reader, { accountId, environmentId }: OperationPath): Promise<number> {
      const [row] = await reader.query<{ n: number }>(statement`
        SELECT COUNT(*) AS n FROM operations
        WHERE environment_id = ${environmentId} AND account_id = ${accountId} AND done_time IS NULL
        AND trigger_name IN ('UPDATE', 'ACTIVATE')`)
      return row?.n ?? 0
    },

    /** Ends an operation that nobody works on yet, and those whose work it was to do; tells their ids. */
    async abort(tx: Transaction, id: string, problem: Problem): Promise<string[]> {
      const rows = await tx.query<OperationRow>(statement`
        UPDATE operations SET done_time = ${clock.now()}, phase = 'DONE', error = ${JSON.stringify(operationError(problem))}
        WHERE (id = ${id} OR satisfied_by = ${id}) AND done_time IS NULL AND lease_owner IS NULL RETURNING ${columns}`)
      for (const row of rows) notify(tx, toOperation(row), true)
      return rows.map((row) => row.id)
    },

    /** Ends the hold of the lease, as if it had never begun: nothing of it is done. Only by the holder of the lease. */
    async handOn(tx: Transaction, id: string, leaseOwner: string, to: HandedOn): Promise<boolean> {
      const [queue, satisfiedBy] = 'queue' in to ? [to.queue, null] : ['none', to.satisfiedBy]
      const rows = await tx.query<OperationRow>(statement`
        UPDATE operations SET queue = ${queue}, satisfied_by = ${satisfiedBy}, lease_owner = NULL, lease_until = NULL,
          attempts = 0, phase = 'QUEUED'
        WHERE id = ${id} AND lease_owner = ${leaseOwner} AND done_time IS NULL RETURNING ${columns}`)
      for (const row of rows) notify(tx, toOperation(row))
      return rows.length > 0
    },

    /** Another operation does the work of this one, and of those whose work it was to do. */
    async passOn(tx: Transaction, id: string, toId: string) {
      await tx.query(statement`
        UPDATE operations SET satisfied_by = ${toId} WHERE (id = ${id} OR satisfied_by = ${id}) AND done_time IS NULL`)
    },

    async isToBeCancelled(tx: Transaction, id: string): Promise<boolean> {
      const [row] = await tx.query(statement`SELECT id FROM operations WHERE id = ${id} AND cancel_time IS NOT NULL`)
      return row !== undefined
    },

    /**
     * The waiting operation is taken out of its queue, and ends as the other one will. Those that it was to satisfy go with it,
     * also where they ended as superseded: each names the one that does the work, and not one in between.
     */
    async satisfyBy(tx: Transaction, waitingId: string, byId: string) {
      await tx.query(statement`UPDATE operations SET satisfied_by = ${byId} WHERE satisfied_by = ${waitingId}`)
      await tx.query(statement`
        UPDATE operations SET queue = 'none', satisfied_by = ${byId}
        WHERE id = ${waitingId} AND done_time IS NULL AND lease_owner IS NULL`)
    },

    async setPhase(id: string, leaseOwner: string, phase: resources.Phase) {
      await sql.transaction(async (tx) => {
        const rows = await tx.query<OperationRow>(statement`
          UPDATE operations SET phase = ${phase} WHERE id = ${id} AND lease_owner = ${leaseOwner} AND done_time IS NULL
          RETURNING ${columns}`)
        for (const row of rows) notify(tx, toOperation(row))
      })
    },

    /** `isUnchanged`: it was live before, and nothing was switched. Resolves to the operation. */
    async setDeployment(
      tx: Transaction,
      id: string,
      deployment: string,
      { isUnchanged = false } = {},
    ): Promise<Operation | undefined> {
      const rows = await tx.query<OperationRow>(statement`
        UPDATE operations SET deployment = ${deployment}, is_unchanged = ${isUnchanged ? 1 : 0} WHERE id = ${id}
        RETURNING ${columns}`)
      const [operation] = rows.map(toOperation)
      if (operation) notify(tx, operation)
      return operation
    },

    /** Asks everything unfinished of an environment to end early. */
    async cancelAll(tx: Transaction, { accountId, environmentId }: OperationPath) {
      await tx.query(statement`
        UPDATE operations SET cancel_time = ${clock.now()}
        WHERE environment_id = ${environmentId} AND account_id = ${accountId} AND done_time IS NULL
        AND cancel_time IS NULL`)
    },

    /** Asks it to end early. Whether it could is told by how it ends; one that is done stays as it is. */
    async cancel(tx: Transaction, path: OperationPath, id: string) {
      notify(tx, await require(path, id, tx))
      await tx.query(statement`
        UPDATE operations SET cancel_time = ${clock.now()}
        WHERE id = ${id} AND done_time IS NULL AND cancel_time IS NULL`)
    },

    /** Records how it ended: only once, and only by the holder of the lease. Call `ended` after the commit. */
    async end(tx: Transaction, id: string, leaseOwner: string, ending: Ending): Promise<boolean> {
      const { response, error } = toColumns(ending)
      const [row] = await tx.query<OperationRow>(statement`
        UPDATE operations SET done_time = ${clock.now()}, phase = 'DONE', response = ${response}, error = ${error},
          lease_owner = NULL, lease_until = NULL
        WHERE id = ${id} AND lease_owner = ${leaseOwner} AND done_time IS NULL RETURNING ${columns}`)
      if (!row) return false
      const satisfied = await tx.query<OperationRow>(statement`
        UPDATE operations SET done_time = ${clock.now()}, phase = 'DONE', response = ${response}, error = ${error}
        WHERE satisfied_by = ${id} AND done_time IS NULL RETURNING ${columns}`)
      for (const ended of [row, ...satisfied]) notify(tx, toOperation(ended), true)
      return true
    },

    /** Whether anybody ever asked for anything. */
    async isAny(): Promise<boolean> {
      return (await sql.query(statement`SELECT id FROM operations LIMIT 1`)).length > 0
    },

    /** How many unfinished operations there are. */
    async count(): Promise<{ unfinished: number }> {
      const [row] = await sql.query<{ unfinished: number }>(
        statement`SELECT COUNT(*) AS unfinished FROM operations WHERE done_time IS NULL`,
      )
      return { unfinished: row?.unfinished ?? 0 }
    },

    /** Who requested each of these operations, where that is recorded. */
    async requestersOf(reader: Reader, ids: readonly string[]): Promise<Map<string, resources.Requester>> {
      if (ids.length === 0) return new Map()
      const rows = await reader.query<{ id: string; requested_by: string }>(
        statement`SELECT id, requested_by FROM operations WHERE requested_by IS NOT NULL AND id IN (${list(ids)})`,
      )
      return new Map(rows.map((row) => [row.id, JSON.parse(row.requested_by)]))
    },
  }
}

export type Operations = ReturnType<typeof createOperations>

const toColumns = (ending: Ending) => ({
  response: 'response' in ending ? JSON.stringify(ending.response) : null,
  error: 'error' in ending ? JSON.stringify(operationError(ending.error)) : null,
})

export const toOperation = (row: OperationRow): Operation => ({
  id: row.id,
  accountId: row.account_id,
  appName: row.app_name,
  environmentId: row.environment_id,
  trigger: row.trigger_name,
  phase: row.phase,
  build: row.build,
  deployment: row.deployment,
  isUnchanged: row.is_unchanged === 1,
  activates: row.activates,
  notBefore: row.not_before,
  requestedBy: row.requested_by === null ? null : JSON.parse(row.requested_by),
  message: row.message ?? '',
  commit: row.git_commit === null ? null : JSON.parse(row.git_commit),
  createTime: row.create_time,
  doneTime: row.done_time,
  response: row.response === null ? null : JSON.parse(row.response),
  error: row.error === null ? null : JSON.parse(row.error),
})
