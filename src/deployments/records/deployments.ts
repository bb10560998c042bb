/**
 * The record of deployments: a build's output and the variables it runs with, which never change. The states of one:
 *
 *   STARTING  made; does not answer yet
 *   LIVE      visitors get it. An environment has at most one.
 *   RETIRED   another took its place; it can be made live again, until it is discarded
 *   FAILED    it never answered
 *   HELD      its build's output is suspicious, or its pages are broken: it was not made live, and a user can make it live
 *
 * A discarded deployment keeps its row and state. Its files are removed, and it can never be made live again.
 */
import { notifyBelow, type SealedVariable } from '../../apps/index.ts'
import type { Clock, NewId } from '../../base/index.ts'
import type { Builds } from '../../builds/index.ts'
import { Problem } from '../../contract/index.ts'
import type { Operations } from '../../operations/index.ts'
import {
  type Page,
  type PageOf,
  pageOf,
  type Reader,
  type Sql,
  statement,
  type Transaction,
} from '../../storage/index.ts'
import { createEarlierRecords } from './earlier.ts'
import { createDeploymentHistory } from './history.ts'
import { createRelatedRecords } from './related.ts'
import {
  columns,
  type Deployment,
  type DeploymentHead,
  type DeploymentPath,
  type DeploymentRow,
  type HeadRow,
  headColumns,
  toDeployment,
  toHead,
} from './rows.ts'
import { createDeploymentStates } from './states.ts'

type Parts = {
  sql: Sql
  clock: Clock
  newId: NewId
  builds: Pick<Builds, 'archivesOf' | 'outputsOf' | 'suspicionsOf'>
  operations: Pick<Operations, 'deploymentLeftBy' | 'originsOf' | 'unfinishedOf'>
}

export function createDeployments({ sql, clock, newId, builds, operations }: Parts) {
  async function find(reader: Reader, id: string): Promise<Deployment | undefined> {
    const [row] = await reader.query<DeploymentRow>(statement`SELECT ${columns} FROM deployments WHERE id = ${id}`)
    return row && toDeployment(row)
  }

  return {
    ...createDeploymentStates({ clock, operations }),
    ...createRelatedRecords({ sql, builds, operations }),
    ...createDeploymentHistory(sql),
    ...createEarlierRecords(sql),

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

    async ofOperation(operationId: string): Promise<Deployment | undefined> {
      const [row] = await sql.query<DeploymentRow>(
        statement`SELECT ${columns} FROM deployments WHERE operation_id = ${operationId}`,
      )
      return row && toDeployment(row)
    },

    /**
     * What was live when this operation had ended well: its own deployment, or the one that it did not replace. Undefined if
     * that was discarded since.
     */
    async leftBy(operationId: string): Promise<Deployment | undefined> {
      const id = await operations.deploymentLeftBy(operationId)
      const found = id ? await find(sql, id) : undefined
      return found?.discardTime === null ? found : undefined
    },

    /** The deployment of this operation: the first attempt makes it, the next one finds it. */
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

    /** The report of its check, as JSON of a limited size; null if it was not checked. */
    async checkTextOf(id: string): Promise<string | null> {
      const [row] = await sql.query<{ check_report: string | null }>(
        statement`SELECT check_report FROM deployments WHERE id = ${id}`,
      )
      return row?.check_report ?? null
    },
    async setCheckText(id: string, text: string) {
      await sql.transaction((tx) => tx.query(statement`UPDATE deployments SET check_report = ${text} WHERE id = ${id}`))
    },

    /** All deployments of an environment that are not discarded. */
    async kept(reader: Reader, environmentId: string): Promise<DeploymentHead[]> {
      const rows = await reader.query<HeadRow>(statement`
        SELECT ${headColumns} FROM deployments
        WHERE environment_id = ${environmentId} AND discard_time IS NULL ORDER BY id`)
      return rows.map(toHead)
    },

    async removeAll(tx: Transaction, environmentId: string) {
      await tx.query(statement`DELETE FROM deployments WHERE environment_id = ${environmentId}`)
    },
  }
}

export type Deployments = ReturnType<typeof createDeployments>

/** Whether it can be made live, or is live. */
export const isActivatable = ({ state, discardTime }: DeploymentHead): boolean =>
  (state === 'LIVE' || state === 'RETIRED' || state === 'HELD') && discardTime === null
