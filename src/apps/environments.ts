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
import { names, Problem } from '../contract/index.ts'
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
import {
  type Environment,
  type EnvironmentChange,
  type EnvironmentDraft,
  type EnvironmentHead,
  type EnvironmentRow,
  type HeadRow,
  type LiveEnvironment,
  type LiveRow,
  type RoutableEnvironment,
  type RoutableRow,
  selected,
  selectedHead,
  toEnvironment,
  toHead,
  toRoutable,
} from './environment-rows.ts'
import { newHostLabel, previewHostLabel } from './label.ts'
import { notifyBelow } from './notify-below.ts'
import { NO_PROTECTION, writeProtection } from './protection.ts'
import { routeRecordsOf } from './route-records.ts'
import type { SealedVariable } from './variables.ts'

/** The maximum size of the sealed variables on one page. */
const PAGE_BYTES = 2 * 1024 * 1024

export const createEnvironments = ({ sql, clock, newId }: { sql: Sql; clock: Clock; newId: NewId }) => ({
  newId,
  ...readsOf(sql),
  ...routeRecordsOf(sql),
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
      SELECT id, octet_length(shell_variables) + octet_length(inherited_variables) AS bytes FROM environments
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
        SELECT id, host_label, live_deployment, is_production, protection, learned_caching FROM environments
        WHERE host_label IS NOT NULL AND state <> 'DELETING' AND ${among}`)
      return rows.map(toRoutable)
    },

    /** The account and the host label of each environment for which the edge answers, of one account or of all. */
    async hosts(accountId?: string): Promise<{ id: string; accountId: string; hostLabel: string }[]> {
      const mine = accountId === undefined ? statement`1 = 1` : statement`account_id = ${accountId}`
      const rows = await sql.query<{ id: string; account_id: string; host_label: string }>(statement`
        SELECT id, account_id, host_label FROM environments
        WHERE host_label IS NOT NULL AND state <> 'DELETING' AND ${mine} ORDER BY id`)
      return rows.map(({ id, account_id, host_label }) => ({ id, accountId: account_id, hostLabel: host_label }))
    },

    /** Those of these accounts that have a live deployment. */
    async live(accountIds: readonly string[]): Promise<LiveEnvironment[]> {
      if (accountIds.length === 0) return []
      const rows = await sql.query<LiveRow>(statement`
        SELECT e.id, e.account_id, a.name AS app_name, e.display_name, e.host_label, e.live_deployment
        FROM environments e JOIN apps a ON a.id = e.app_id
        WHERE e.live_deployment IS NOT NULL AND e.state <> 'DELETING' AND e.account_id IN (${list(accountIds)})`)
      return rows.map((row) => ({
        id: row.id,
        accountId: row.account_id,
        appName: row.app_name,
        displayName: row.display_name,
        hostLabel: row.host_label,
        liveDeployment: row.live_deployment,
      }))
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

    /** The environments of an app that a push to this branch deploys to, the oldest first. */
    async ofBranch(
      appId: string,
      branch: string,
      reader: Reader = sql,
    ): Promise<{ id: string; displayName: string; isPreview: boolean }[]> {
      if (branch === names.UPLOADABLE) return []
      const rows = await reader.query<{ id: string; display_name: string; preview_branch: string | null }>(statement`
        SELECT id, display_name, preview_branch FROM environments
        WHERE app_id = ${appId} AND branch = ${branch} AND state <> 'DELETING' ORDER BY id`)
      return rows.map((row) => ({
        id: row.id,
        displayName: row.display_name,
        isPreview: row.preview_branch !== null,
      }))
    },

    /** What a badge shows of it, where its badge is switched on and neither it nor its app is being deleted. */
    async withBadge(
      id: string,
    ): Promise<Pick<Environment, 'accountId' | 'appName' | 'displayName' | 'state'> | undefined> {
      const [row] = await sql.query<HeadRow>(statement`
        ${selectedHead} WHERE e.id = ${id} AND e.has_badge = 1 AND e.state <> 'DELETING' AND a.delete_time IS NULL`)
      return row && toHead(row)
    },

    /** An environment of an app by that name, unless one of the two is being deleted. */
    async findOpen(
      appName: string,
      id: string,
    ): Promise<{ accountId: string; appName: string; isLearned: boolean } | undefined> {
      const [row] = await sql.query<{ account_id: string; app_name: string; learned_caching: string | null }>(statement`
        SELECT e.account_id, a.name AS app_name, e.learned_caching FROM environments e JOIN apps a ON a.id = e.app_id
        WHERE e.id = ${id} AND a.folded_name = ${names.fold(appName)} AND a.delete_time IS NULL
        AND e.state <> 'DELETING'`)
      return row && { accountId: row.account_id, appName: row.app_name, isLearned: row.learned_caching !== null }
    },
  }
}

const writeLearnedCaching = (learned: Environment['learnedCaching'] | undefined): string | null =>
  learned ? JSON.stringify(learned) : null

const writesOf = (clock: Clock) => ({
  async insert(tx: Transaction, app: { id: string; accountId: string }, id: string, draft: EnvironmentDraft) {
    const now = clock.now()
    await tx.query(statement`
      INSERT INTO environments (id, account_id, app_id, display_name, branch, cms_environment, root_directory,
        suspicious_output, promotion_checks, content_snapshots, scaling, is_production, protection, has_badge,
        publish_promise_seconds, learned_caching, preview_branch, active_time, shell_variables, state, create_time, update_time)
      VALUES (${id}, ${app.accountId}, ${app.id}, ${draft.displayName}, ${draft.branch}, ${draft.cmsEnvironment},
        ${draft.rootDirectory}, ${stored(draft.suspiciousOutput)}, ${stored(draft.promotionChecks)},
        ${stored(draft.contentSnapshots)}, ${stored(draft.scaling)}, ${draft.isProduction ? 1 : 0},
        ${writeProtection(draft.protection ?? NO_PROTECTION)}, ${draft.hasBadge ? 1 : 0},
        ${draft.publishPromiseSeconds ?? null}, ${writeLearnedCaching(draft.learnedCaching)}, ${draft.previewBranch ?? null},
        ${now}, ${JSON.stringify(draft.variables)}, 'EMPTY', ${now}, ${now})`)
    const [of] = await tx.query<{ name: string }>(statement`SELECT name FROM apps WHERE id = ${app.id}`)
    const about = { title: draft.displayName, fields: changedVariables([], draft.variables) }
    tx.notify(app.accountId, `apps/${of?.name}/environments/${id}`, about)
  },

  async update(tx: Transaction, before: Environment, change: EnvironmentChange) {
    const after = { ...before, ...change }
    await tx.query(statement`
      UPDATE environments SET display_name = ${after.displayName}, branch = ${after.branch},
        cms_environment = ${after.cmsEnvironment}, root_directory = ${after.rootDirectory},
        suspicious_output = ${JSON.stringify(after.suspiciousOutput)},
        promotion_checks = ${JSON.stringify(after.promotionChecks)},
        content_snapshots = ${stored(after.contentSnapshots)}, scaling = ${JSON.stringify(after.scaling)},
        is_production = ${after.isProduction ? 1 : 0}, protection = ${writeProtection(after.protection)},
        has_badge = ${after.hasBadge ? 1 : 0}, publish_promise_seconds = ${after.publishPromiseSeconds},
        learned_caching = ${writeLearnedCaching(after.learnedCaching)}, shell_variables = ${JSON.stringify(after.variables)},
        update_time = ${clock.now()}
      WHERE id = ${before.id}`)
    const fields = changedVariables(before.variables, after.variables)
    tx.notify(before.accountId, `apps/${before.appName}/environments/${before.id}`, {
      title: after.displayName,
      fields,
    })
  },

  async markDeleting(tx: Transaction, id: string) {
    await tx.query(statement`UPDATE environments SET state = 'DELETING', update_time = ${clock.now()} WHERE id = ${id}`)
    await notifyBelow(tx, id, '')
  },

  /** Gives the environment its host label, once. */
  async assignHostLabel(tx: Transaction, { id, appId, appName, hostLabel, preview }: Environment) {
    for (let tries = 0; hostLabel === null && tries < 5; tries++) {
      // A preview that is made again has the address that it had, unless that is still in use.
      const label = preview && tries === 0 ? previewHostLabel(appName, appId, preview.branch) : newHostLabel(appName)
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
        active_time = ${clock.now()}, update_time = ${clock.now()}
      WHERE id = ${id}`)
    await notifyBelow(tx, id, '')
  },

  async remove(tx: Transaction, id: string) {
    await notifyBelow(tx, id, '')
    await tx.query(statement`DELETE FROM environments WHERE id = ${id}`)
  },
})

/** Names of those that were added, removed, or have another value: an unchanged one is not sealed again. */
function changedVariables(before: readonly SealedVariable[], after: readonly SealedVariable[]): string[] {
  const [old, now] = [before, after].map(
    (all) => new Map(all.map(({ key, kind, sealed }) => [key, `${kind} ${sealed}`])),
  )
  const keys = new Set([...before, ...after].map(({ key }) => key))
  return [...keys].filter((key) => old?.get(key) !== now?.get(key)).map((key) => `shellVariables.${key}`)
}

const at = (accountId: string, appName: string, id: string) => statement`
  e.id = ${id} AND e.account_id = ${accountId} AND a.folded_name = ${names.fold(appName)} AND a.delete_time IS NULL`

/** A setting as its column has it: null where it was never set. */
const stored = (setting: object | null | undefined): string | null => (setting ? JSON.stringify(setting) : null)
