/**
 * Environments. `state` says what visitors get:
 *
 *   EMPTY     the host answers "nothing deployed yet"; before the label is assigned, nothing answers at all
 *   LIVE      a deployment answers
 *   DELETING  nothing answers any more; the row is deleted when everything that belongs to it is gone
 *
 * EMPTY → LIVE with the first deployment; either → DELETING by a delete; no state follows DELETING.
 */
import { type Clock, checkTenantUid, type NewId } from '../base/index.ts'
import { names, Problem, resources } from '../contract/index.ts'
import {
  list,
  type Page,
  type PageOf,
  pageWithin,
  type Reader,
  type Sql,
  type Statement,
  statement,
  type Transaction,
} from '../storage/index.ts'
import { newHostLabel } from './label.ts'
import { notifyBelow } from './notify-below.ts'
import { NO_PROTECTION, readProtection, type StoredProtection, writeProtection } from './protection.ts'
import type { SealedVariable } from './variables.ts'

export type Environment = {
  id: string
  accountId: string
  appId: string
  appName: string
  displayName: string
  branch: string
  cmsEnvironment: string
  rootDirectory: string
  suspiciousOutput: resources.SuspiciousOutput
  scaling: resources.Scaling
  isProduction: boolean
  protection: StoredProtection
  variables: SealedVariable[]
  hostLabel: string | null
  /** The user that its code runs as, if the service can choose users. */
  uid: number | null
  liveDeployment: string | null
  state: resources.EnvironmentState
  createTime: number
  updateTime: number
}

/** An environment for which the edge answers. */
export type RoutableEnvironment = Pick<Environment, 'id' | 'liveDeployment' | 'isProduction' | 'protection'> & {
  hostLabel: string
}

/** Without its variables, which may be half a megabyte: most requests do not need them. */
export type EnvironmentHead = Omit<Environment, 'variables'>

export type EnvironmentDraft = Pick<
  Environment,
  'displayName' | 'branch' | 'cmsEnvironment' | 'rootDirectory' | 'variables'
> &
  Partial<Pick<Environment, 'suspiciousOutput' | 'scaling' | 'isProduction' | 'protection'>>
export type EnvironmentChange = Partial<Omit<EnvironmentDraft, 'branch'>>

type HeadRow = Omit<EnvironmentRow, 'shell_variables'>

type EnvironmentRow = {
  id: string
  account_id: string
  app_id: string
  app_name: string
  display_name: string
  branch: string
  cms_environment: string
  root_directory: string
  suspicious_output: string | null
  scaling: string | null
  is_production: number
  protection: string | null
  shell_variables: string
  host_label: string | null
  uid: number | null
  live_deployment: string | null
  state: Environment['state']
  create_time: number
  update_time: number
}

type RoutableRow = Pick<EnvironmentRow, 'id' | 'live_deployment' | 'is_production' | 'protection'> & {
  host_label: string
}

const headColumns = statement`e.id, e.account_id, e.app_id, a.name AS app_name, e.display_name, e.branch,
  e.cms_environment, e.root_directory, e.suspicious_output, e.scaling, e.is_production, e.protection, e.host_label, e.uid, e.live_deployment, e.state, e.create_time, e.update_time`

const selectedHead = statement`SELECT ${headColumns} FROM environments e JOIN apps a ON a.id = e.app_id`
const selected = statement`
  SELECT ${headColumns}, e.shell_variables FROM environments e JOIN apps a ON a.id = e.app_id`

/** The maximum size of the sealed variables on one page. */
const PAGE_BYTES = 2 * 1024 * 1024

export const createEnvironments = ({ sql, clock, newId }: { sql: Sql; clock: Clock; newId: NewId }) => ({
  newId,
  ...readsOf(sql),
  ...writesOf(clock),
})

export type Environments = ReturnType<typeof createEnvironments>

function readsOf(sql: Sql) {
  async function byId(reader: Reader, id: string): Promise<Environment | undefined> {
    const [row] = await reader.query<EnvironmentRow>(statement`${selected} WHERE e.id = ${id}`)
    return row && toEnvironment(row)
  }

  /** A page ends early if the variables of its environments are large. */
  async function listWhere(condition: Statement, page: Page): Promise<PageOf<Environment>> {
    const keys = await sql.query<{ id: string; bytes: number }>(statement`
      SELECT id, octet_length(shell_variables) AS bytes FROM environments
      WHERE ${condition} AND ${page.after} ${page.order}`)
    const { items, nextPageToken } = pageWithin(keys, page, PAGE_BYTES)
    if (items.length === 0) return { items: [], nextPageToken }
    const ids = items.map(({ id }) => id)
    const rows = await sql.query<EnvironmentRow>(statement`${selected} WHERE e.id IN (${list(ids)})`)
    const found = new Map(rows.map((row) => [row.id, toEnvironment(row)]))
    return { items: ids.flatMap((id) => found.get(id) ?? []), nextPageToken }
  }

  return {
    byId,

    async require(accountId: string, appName: string, id: string, reader: Reader = sql): Promise<EnvironmentHead> {
      const [row] = await reader.query<HeadRow>(statement`${selectedHead} WHERE ${at(accountId, appName, id)}`)
      if (!row) throw new Problem('ENVIRONMENT_NOT_FOUND')
      return toHead(row)
    },

    async requireWhole(accountId: string, appName: string, id: string, reader: Reader = sql): Promise<Environment> {
      const [row] = await reader.query<EnvironmentRow>(statement`${selected} WHERE ${at(accountId, appName, id)}`)
      if (!row) throw new Problem('ENVIRONMENT_NOT_FOUND')
      return toEnvironment(row)
    },

    /** The account that owns it, if it exists and is not being deleted. */
    async ownerOf(id: string): Promise<string | undefined> {
      const [row] = await sql.query<{ account_id: string }>(
        statement`SELECT account_id FROM environments WHERE id = ${id} AND state <> 'DELETING'`,
      )
      return row?.account_id
    },

    list: (appId: string, page: Page) => listWhere(statement`app_id = ${appId}`, page),

    /** All environments of an account, without those of deleted apps. */
    listOfAccount: (accountId: string, page: Page) =>
      listWhere(
        statement`account_id = ${accountId} AND app_id IN (
          SELECT a.id FROM apps a WHERE a.account_id = ${accountId} AND a.delete_time IS NULL)`,
        page,
      ),

    async idsOf(tx: Transaction, appId: string): Promise<string[]> {
      const rows = await tx.query<{ id: string }>(
        statement`SELECT id FROM environments WHERE app_id = ${appId} ORDER BY id`,
      )
      return rows.map(({ id }) => id)
    },

    /** The number of an account's environments, including those that are being deleted. */
    async count(accountId: string, reader: Reader = sql): Promise<number> {
      const [row] = await reader.query<{ n: number }>(
        statement`SELECT COUNT(*) AS n FROM environments WHERE account_id = ${accountId}`,
      )
      return row?.n ?? 0
    },

    /** Of one account or of all, including those that are being deleted. */
    async all(accountId?: string): Promise<Pick<Environment, 'id' | 'accountId' | 'appName' | 'displayName'>[]> {
      const mine = accountId === undefined ? statement`e.id IS NOT NULL` : statement`e.account_id = ${accountId}`
      const rows = await sql.query<Pick<EnvironmentRow, 'id' | 'account_id' | 'app_name' | 'display_name'>>(statement`
        SELECT e.id, e.account_id, a.name AS app_name, e.display_name
        FROM environments e JOIN apps a ON a.id = e.app_id WHERE ${mine} ORDER BY e.id`)
      return rows.map((row) => ({
        id: row.id,
        accountId: row.account_id,
        appName: row.app_name,
        displayName: row.display_name,
      }))
    },

    /** The environments for which the edge answers, of these or of all. */
    async routable(ids?: readonly string[]): Promise<RoutableEnvironment[]> {
      if (ids?.length === 0) return []
      const among = ids === undefined ? statement`1 = 1` : statement`id IN (${list(ids)})`
      const rows = await sql.query<RoutableRow>(statement`
        SELECT id, host_label, live_deployment, is_production, protection FROM environments
        WHERE host_label IS NOT NULL AND state <> 'DELETING' AND ${among}`)
      return rows.map((row) => ({
        id: row.id,
        hostLabel: row.host_label,
        liveDeployment: row.live_deployment,
        isProduction: row.is_production === 1,
        protection: readProtection(row.protection),
      }))
    },

    /** The account and the host label of each environment for which the edge answers, of one account or of all. */
    async hosts(accountId?: string): Promise<{ id: string; accountId: string; hostLabel: string }[]> {
      const mine = accountId === undefined ? statement`1 = 1` : statement`account_id = ${accountId}`
      const rows = await sql.query<{ id: string; account_id: string; host_label: string }>(statement`
        SELECT id, account_id, host_label FROM environments
        WHERE host_label IS NOT NULL AND state <> 'DELETING' AND ${mine} ORDER BY id`)
      return rows.map(({ id, account_id, host_label }) => ({ id, accountId: account_id, hostLabel: host_label }))
    },

    async exists(reader: Reader, id: string): Promise<boolean> {
      return (await reader.query(statement`SELECT id FROM environments WHERE id = ${id}`)).length > 0
    },

    /** Those of the given environments that exist, also while they are being deleted. */
    async existing(reader: Reader, ids: readonly string[]): Promise<Set<string>> {
      if (ids.length === 0) return new Set()
      const rows = await reader.query<{ id: string }>(statement`SELECT id FROM environments WHERE id IN (${list(ids)})`)
      return new Set(rows.map(({ id }) => id))
    },

    /** The users that their apps run as, by environment. */
    async uidsOf(ids: readonly string[]): Promise<Map<string, number | null>> {
      if (ids.length === 0) return new Map()
      const rows = await sql.query<{ id: string; uid: number | null }>(
        statement`SELECT id, uid FROM environments WHERE id IN (${list(ids)})`,
      )
      return new Map(rows.map(({ id, uid }) => [id, uid]))
    },

    /** The account of an environment, also while it is being deleted. */
    async accountIdOf(reader: Reader, id: string): Promise<string | undefined> {
      const [row] = await reader.query<{ account_id: string }>(
        statement`SELECT account_id FROM environments WHERE id = ${id}`,
      )
      return row?.account_id
    },

    async stateOf(reader: Reader, id: string): Promise<Environment['state'] | undefined> {
      const [row] = await reader.query<{ state: Environment['state'] }>(
        statement`SELECT state FROM environments WHERE id = ${id}`,
      )
      return row?.state
    },

    /** An environment of an app by that name, unless one of the two is being deleted. */
    async findOpen(appName: string, id: string): Promise<{ accountId: string; appName: string } | undefined> {
      const [row] = await sql.query<{ account_id: string; app_name: string }>(statement`
        SELECT e.account_id, a.name AS app_name FROM environments e JOIN apps a ON a.id = e.app_id
        WHERE e.id = ${id} AND a.folded_name = ${names.fold(appName)} AND a.delete_time IS NULL
        AND e.state <> 'DELETING'`)
      return row && { accountId: row.account_id, appName: row.app_name }
    },

    /** Rises with every change of what the edge must answer for. */
    async routesRevision(): Promise<number> {
      const [row] = await sql.query<{ value: number }>(statement`SELECT value FROM revisions WHERE name = 'routes'`)
      return row?.value ?? 0
    },

    /** What the edge must answer for this environment has changed. */
    async touchRoutes(tx: Transaction, id: string) {
      await tx.query(statement`UPDATE revisions SET value = value + 1 WHERE name = 'routes'`)
      await tx.query(statement`
        INSERT INTO route_changes (environment_id, revision) SELECT ${id}, value FROM revisions WHERE name = 'routes'
        ON CONFLICT (environment_id) DO UPDATE SET revision = excluded.revision`)
    },

    /** Environments whose routes changed after that revision, also deleted ones; `max` of them at most. */
    async routesChangedSince(revision: number, max: number): Promise<string[]> {
      const rows = await sql.query<{ environment_id: string }>(statement`
        SELECT environment_id FROM route_changes WHERE revision > ${revision} ORDER BY revision LIMIT ${max}`)
      return rows.map(({ environment_id }) => environment_id)
    },

    /** Those of the labels that are the host label of an environment. */
    async labelsIn(labels: readonly string[]): Promise<Set<string>> {
      const rows = await sql.query<{ host_label: string }>(statement`
        SELECT host_label FROM environments WHERE host_label IN (${list(labels)}) AND state <> 'DELETING'`)
      return new Set(rows.map(({ host_label }) => host_label))
    },
  }
}

const writesOf = (clock: Clock) => ({
  async insert(tx: Transaction, app: { id: string; accountId: string }, id: string, draft: EnvironmentDraft) {
    const now = clock.now()
    await tx.query(statement`
      INSERT INTO environments (id, account_id, app_id, display_name, branch, cms_environment, root_directory,
        suspicious_output, scaling, is_production, protection, shell_variables, state, create_time, update_time)
      VALUES (${id}, ${app.accountId}, ${app.id}, ${draft.displayName}, ${draft.branch}, ${draft.cmsEnvironment},
        ${draft.rootDirectory}, ${draft.suspiciousOutput ? JSON.stringify(draft.suspiciousOutput) : null},
        ${draft.scaling ? JSON.stringify(draft.scaling) : null}, ${draft.isProduction ? 1 : 0},
        ${writeProtection(draft.protection ?? NO_PROTECTION)}, ${JSON.stringify(draft.variables)}, 'EMPTY', ${now}, ${now})`)
    await notifyBelow(tx, id, '')
  },

  async update(tx: Transaction, before: Environment, change: EnvironmentChange) {
    const after = { ...before, ...change }
    await tx.query(statement`
      UPDATE environments SET display_name = ${after.displayName}, cms_environment = ${after.cmsEnvironment},
        root_directory = ${after.rootDirectory}, suspicious_output = ${JSON.stringify(after.suspiciousOutput)},
        scaling = ${JSON.stringify(after.scaling)}, is_production = ${after.isProduction ? 1 : 0},
        protection = ${writeProtection(after.protection)}, shell_variables = ${JSON.stringify(after.variables)},
        update_time = ${clock.now()}
      WHERE id = ${before.id}`)
    await notifyBelow(tx, before.id, '')
  },

  async markDeleting(tx: Transaction, id: string) {
    await tx.query(statement`UPDATE environments SET state = 'DELETING', update_time = ${clock.now()} WHERE id = ${id}`)
    await notifyBelow(tx, id, '')
  },

  /** Gives the environment its host label, once. */
  async assignHostLabel(tx: Transaction, { id, appName, hostLabel }: Environment) {
    for (let tries = 0; hostLabel === null && tries < 5; tries++) {
      const label = newHostLabel(appName)
      const [taken] = await tx.query(statement`SELECT id FROM environments WHERE host_label = ${label}`)
      if (taken) continue
      await tx.query(statement`UPDATE environments SET host_label = ${label} WHERE id = ${id}`)
      await notifyBelow(tx, id, '')
      return
    }
    if (hostLabel === null) throw new Error('five random host labels in a row were taken')
  },

  /** Gives the environment the user id that its code runs as, once; no other ever gets the same. */
  async assignUid(tx: Transaction, { id, uid }: Environment) {
    if (uid !== null) return
    const [next] = await tx.query<{ value: number }>(
      statement`UPDATE revisions SET value = value + 1 WHERE name = 'uids' RETURNING value`,
    )
    await tx.query(
      statement`UPDATE environments SET uid = ${next ? checkTenantUid(next.value) : null} WHERE id = ${id}`,
    )
  },

  /** From now on this deployment answers. Nothing else changes what visitors get. */
  async setLive(tx: Transaction, id: string, deployment: string) {
    await tx.query(statement`
      UPDATE environments SET live_deployment = ${deployment}, state = CASE WHEN state = 'EMPTY' THEN 'LIVE' ELSE state END,
        update_time = ${clock.now()}
      WHERE id = ${id}`)
    await notifyBelow(tx, id, '')
  },

  async remove(tx: Transaction, id: string) {
    await notifyBelow(tx, id, '')
    await tx.query(statement`DELETE FROM environments WHERE id = ${id}`)
  },
})

const at = (accountId: string, appName: string, id: string) => statement`
  e.id = ${id} AND e.account_id = ${accountId} AND a.folded_name = ${names.fold(appName)} AND a.delete_time IS NULL`

const toEnvironment = (row: EnvironmentRow): Environment => ({
  ...toHead(row),
  variables: JSON.parse(row.shell_variables),
})

const toHead = (row: HeadRow): EnvironmentHead => ({
  id: row.id,
  accountId: row.account_id,
  appId: row.app_id,
  appName: row.app_name,
  displayName: row.display_name,
  branch: row.branch,
  cmsEnvironment: row.cms_environment,
  rootDirectory: row.root_directory,
  suspiciousOutput:
    row.suspicious_output === null ? resources.DEFAULT_SUSPICIOUS_OUTPUT : JSON.parse(row.suspicious_output),
  scaling: row.scaling === null ? resources.DEFAULT_SCALING : resources.checkScaling(JSON.parse(row.scaling)),
  isProduction: row.is_production === 1,
  protection: readProtection(row.protection),
  hostLabel: row.host_label,
  uid: row.uid,
  liveDeployment: row.live_deployment,
  state: row.state,
  createTime: row.create_time,
  updateTime: row.update_time,
})
