/**
 * The record of deployments: a build's output and the variables it runs with, which never change. The life of one:
 *
 *   STARTING  made; does not answer yet
 *   LIVE      visitors get it. An environment has at most one.
 *   RETIRED   another took its place; it can be made live again, until it is discarded
 *   FAILED    it never answered
 *   HELD      its build's output is suspicious: it was not made live, and can be by hand
 *
 * One that is discarded stays in the list as what it was. Its files are given up, and nothing makes it live any more.
 */
import { notifyBelow, type SealedVariable } from '../../apps/index.ts'
import type { Clock, NewId } from '../../base/index.ts'
import { Problem, type resources } from '../../contract/index.ts'
import {
  list,
  type Page,
  type PageOf,
  pageOf,
  type Reader,
  type Sql,
  statement,
  type Transaction,
} from '../../storage/index.ts'
import { readOrigins } from './origins.ts'

export type Deployment = {
  id: string
  environmentId: string
  buildId: string
  operationId: string
  variables: SealedVariable[]
  state: resources.DeploymentState
  createTime: number
  liveTime: number | null
  retireTime: number | null
  discardTime: number | null
}

/** Without its variables, of which there may be half a megabyte. */
export type DeploymentHead = Omit<Deployment, 'variables'>

/** `message` says why it is held. */
export type HeldDeployment = Pick<Deployment, 'id' | 'buildId' | 'createTime'> & { message: string }

type HeldRow = Pick<DeploymentRow, 'environment_id' | 'id' | 'build_id' | 'create_time'> & { suspicion: string | null }

type HeadRow = Omit<DeploymentRow, 'shell_variables'>

type DeploymentRow = {
  id: string
  environment_id: string
  build_id: string
  operation_id: string
  shell_variables: string
  state: Deployment['state']
  create_time: number
  live_time: number | null
  retire_time: number | null
  discard_time: number | null
}

const headColumns = statement`id, environment_id, build_id, operation_id, state, create_time, live_time, retire_time,
  discard_time`
const columns = statement`${headColumns}, shell_variables`

export type DeploymentPath = { accountId: string; environmentId: string }

export function createDeployments({ sql, clock, newId }: { sql: Sql; clock: Clock; newId: NewId }) {
  async function find(reader: Reader, id: string): Promise<Deployment | undefined> {
    const [row] = await reader.query<DeploymentRow>(statement`SELECT ${columns} FROM deployments WHERE id = ${id}`)
    return row && toDeployment(row)
  }

  async function changeAndNotify(tx: Transaction, update: ReturnType<typeof statement>) {
    const rows = await tx.query<{ id: string; environment_id: string }>(
      statement`${update} RETURNING id, environment_id`,
    )
    for (const { id, environment_id } of rows) await notifyBelow(tx, environment_id, `deployments/${id}`)
  }

  return {
    find,
    /** With its variables. */
    whole: (id: string): Promise<Deployment | undefined> => find(sql, id),

    async require(
      { accountId, environmentId }: DeploymentPath,
      id: string,
      reader: Reader = sql,
    ): Promise<DeploymentHead> {
      const [row] = await reader.query<HeadRow>(statement`
        SELECT ${headColumns} FROM deployments
        WHERE id = ${id} AND account_id = ${accountId} AND environment_id = ${environmentId}`)
      if (!row) throw new Problem('DEPLOYMENT_NOT_FOUND')
      return toHead(row)
    },

    async list({ accountId, environmentId }: DeploymentPath, page: Page): Promise<PageOf<DeploymentHead>> {
      const rows = await sql.query<HeadRow>(statement`
        SELECT ${headColumns} FROM deployments
        WHERE account_id = ${accountId} AND environment_id = ${environmentId} AND ${page.after} ${page.order}`)
      return pageOf(rows.map(toHead), page)
    },

    origins: (ids: readonly string[]) => readOrigins(sql, ids),

    /** The builds of some deployments, by deployment. */
    async buildsOf(ids: readonly string[]): Promise<Map<string, string>> {
      if (ids.length === 0) return new Map()
      const rows = await sql.query<{ id: string; build_id: string }>(
        statement`SELECT id, build_id FROM deployments WHERE id IN (${list(ids)})`,
      )
      return new Map(rows.map(({ id, build_id }) => [id, build_id]))
    },

    async ofOperation(operationId: string): Promise<Deployment | undefined> {
      const [row] = await sql.query<DeploymentRow>(
        statement`SELECT ${columns} FROM deployments WHERE operation_id = ${operationId}`,
      )
      return row && toDeployment(row)
    },

    /**
     * What was live when this operation had ended well: its own, or the one that it found no reason to replace. Nothing where
     * that was discarded since.
     */
    async leftBy(operationId: string): Promise<Deployment | undefined> {
      const [row] = await sql.query<DeploymentRow>(statement`
        SELECT ${columns} FROM deployments
        WHERE id = (SELECT deployment FROM operations WHERE id = ${operationId}) AND discard_time IS NULL`)
      return row && toDeployment(row)
    },

    /** The deployment of this operation: made by the first attempt, found by the next. */
    async makeFor(
      operationId: string,
      { accountId, environmentId }: DeploymentPath,
      made: { buildId: string; variables: readonly SealedVariable[] },
    ): Promise<Deployment> {
      return sql.transaction(async (tx) => {
        await tx.query(statement`
          INSERT INTO deployments (id, account_id, environment_id, build_id, operation_id, shell_variables, state, create_time)
          VALUES (${newId()}, ${accountId}, ${environmentId}, ${made.buildId}, ${operationId},
            ${JSON.stringify(made.variables)}, 'STARTING', ${clock.now()})
          ON CONFLICT (operation_id) DO NOTHING`)
        const [row] = await tx.query<DeploymentRow>(
          statement`SELECT ${columns} FROM deployments WHERE operation_id = ${operationId}`,
        )
        const deployment = toDeployment(row as DeploymentRow)
        await notifyBelow(tx, environmentId, `deployments/${deployment.id}`)
        return deployment
      })
    },

    async setLive(tx: Transaction, id: string) {
      await changeAndNotify(
        tx,
        statement`
        UPDATE deployments SET state = 'LIVE', live_time = COALESCE(live_time, ${clock.now()}), retire_time = NULL
        WHERE id = ${id}`,
      )
    },
    async setRetired(tx: Transaction, id: string) {
      await changeAndNotify(
        tx,
        statement`UPDATE deployments SET state = 'RETIRED', retire_time = ${clock.now()} WHERE id = ${id}`,
      )
    },
    async setFailed(tx: Transaction, operationId: string) {
      await changeAndNotify(
        tx,
        statement`UPDATE deployments SET state = 'FAILED' WHERE operation_id = ${operationId} AND state = 'STARTING'`,
      )
    },

    async setHeld(tx: Transaction, operationId: string) {
      await changeAndNotify(
        tx,
        statement`UPDATE deployments SET state = 'HELD' WHERE operation_id = ${operationId} AND state = 'STARTING'`,
      )
    },

    /** Something better was built: those that were held give up their files, unless one is just being made live. */
    async discardHeld(tx: Transaction, environmentId: string) {
      await changeAndNotify(
        tx,
        statement`
        UPDATE deployments SET discard_time = ${clock.now()}, shell_variables = '[]'
        WHERE environment_id = ${environmentId} AND state = 'HELD' AND discard_time IS NULL AND NOT EXISTS (
          SELECT 1 FROM operations WHERE operations.environment_id = ${environmentId}
          AND operations.activates = deployments.id AND operations.done_time IS NULL)`,
      )
    },

    /** The newest of each environment that is held and can be made live. */
    async heldOf(environmentIds: readonly string[]): Promise<Map<string, HeldDeployment>> {
      if (environmentIds.length === 0) return new Map()
      const rows = await sql.query<HeldRow>(statement`
        SELECT d.environment_id, d.id, d.build_id, d.create_time, b.suspicion
        FROM deployments d JOIN builds b ON b.id = d.build_id
        WHERE d.environment_id IN (${list(environmentIds)}) AND d.state = 'HELD' AND d.discard_time IS NULL
        ORDER BY d.id`)
      return new Map(rows.map((row) => [row.environment_id, toHeld(row)]))
    },

    /** All of an environment that are not discarded. */
    async kept(reader: Reader, environmentId: string): Promise<DeploymentHead[]> {
      const rows = await reader.query<HeadRow>(statement`
        SELECT ${headColumns} FROM deployments
        WHERE environment_id = ${environmentId} AND discard_time IS NULL ORDER BY id`)
      return rows.map(toHead)
    },
    /** It will not run again, so its variables go: they are larger than all else of it. */
    async discard(tx: Transaction, ids: readonly string[]) {
      if (ids.length === 0) return
      await changeAndNotify(
        tx,
        statement`
        UPDATE deployments SET discard_time = ${clock.now()}, shell_variables = '[]' WHERE id IN (${list(ids)}) AND state <> 'LIVE'`,
      )
    },

    async removeAll(tx: Transaction, environmentId: string) {
      await tx.query(statement`DELETE FROM deployments WHERE environment_id = ${environmentId}`)
    },
  }
}

/** Whether it can be made live: again, still, or after all. */
export const isActivatable = ({ state, discardTime }: DeploymentHead): boolean =>
  (state === 'LIVE' || state === 'RETIRED' || state === 'HELD') && discardTime === null

export type Deployments = ReturnType<typeof createDeployments>

/** Undefined where there is none. */
export async function newestDeploymentId(reader: Reader): Promise<string | undefined> {
  const [row] = await reader.query<{ id: string | null }>(statement`SELECT MAX(id) AS id FROM deployments`)
  return row?.id ?? undefined
}

const toDeployment = (row: DeploymentRow): Deployment => ({
  ...toHead(row),
  variables: JSON.parse(row.shell_variables),
})

const toHeld = ({ id, build_id, create_time, suspicion }: HeldRow): HeldDeployment => {
  const { sentences = [] } = JSON.parse(suspicion ?? '{}') as { sentences?: string[] }
  return { id, buildId: build_id, createTime: create_time, message: sentences.join(' ') }
}

const toHead = (row: HeadRow): DeploymentHead => ({
  id: row.id,
  environmentId: row.environment_id,
  buildId: row.build_id,
  operationId: row.operation_id,
  state: row.state,
  createTime: row.create_time,
  liveTime: row.live_time,
  retireTime: row.retire_time,
  discardTime: row.discard_time,
})
