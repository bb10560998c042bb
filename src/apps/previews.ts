/**
 * What previews have from another environment of their app, the base: variables, and who may see them. The variables are read
 * again for each build, so that a changed one reaches the next build of every preview. Protection follows at once, so that
 * no preview of a protected site is public; a user may set another one for a preview.
 */
import type { Clock } from '../base/index.ts'
import type { resources } from '../contract/index.ts'
import { list, type Reader, type Sql, statement, type Transaction } from '../storage/index.ts'
import { type App, readPreviewSettings } from './apps.ts'
import type { Environment } from './environment-rows.ts'
import type { Environments } from './environments.ts'
import { notifyBelow } from './notify-below.ts'
import { readProtection, writeProtection } from './protection.ts'
import type { SealedVariable, Variables } from './variables.ts'

type Parts = { sql: Sql; clock: Clock; environments: Pick<Environments, 'byId' | 'touchRoutes'>; variables: Variables }

type Settings = Pick<App, 'id' | 'previews'>

/** A preview without its variables. */
export type PreviewRecord = { id: string; accountId: string; appName: string; displayName: string; activeTime: number }

export function createPreviewRecords({ sql, clock, environments, variables }: Parts) {
  async function settingsOf(reader: Reader, appId: string): Promise<Settings> {
    const [row] = await reader.query<{ previews: string | null }>(
      statement`SELECT previews FROM apps WHERE id = ${appId}`,
    )
    return { id: appId, previews: readPreviewSettings(row?.previews ?? null) }
  }

  /** The chosen environment if it still exists, else the one for search engines, else the oldest. */
  async function baseOf(reader: Reader, { id, previews }: Settings): Promise<Environment | undefined> {
    const [row] = await reader.query<{ id: string }>(statement`
      SELECT id FROM environments WHERE app_id = ${id} AND preview_branch IS NULL AND state <> 'DELETING'
      ORDER BY CASE WHEN id = ${previews.environment ?? ''} THEN 0 ELSE 1 END, is_production DESC, id LIMIT 1`)
    return row && environments.byId(reader, row.id)
  }

  return {
    baseOf,

    /** The open preview of a branch. */
    async find(reader: Reader, appId: string, branch: string): Promise<Environment | undefined> {
      const [row] = await reader.query<{ id: string }>(statement`
        SELECT id FROM environments WHERE app_id = ${appId} AND preview_branch = ${branch} AND state <> 'DELETING'`)
      return row && environments.byId(reader, row.id)
    },

    /** Open previews of an app; the one that was idle for longest comes first. */
    async ofApp(reader: Reader, appId: string): Promise<{ displayName: string; branch: string }[]> {
      const rows = await reader.query<{ display_name: string; preview_branch: string }>(statement`
        SELECT display_name, preview_branch FROM environments
        WHERE app_id = ${appId} AND preview_branch IS NOT NULL AND state <> 'DELETING' ORDER BY active_time, id`)
      return rows.map((row) => ({ displayName: row.display_name, branch: row.preview_branch }))
    },

    /** All open previews. */
    async ids(): Promise<string[]> {
      const rows = await sql.query<{ id: string }>(
        statement`SELECT id FROM environments WHERE preview_branch IS NOT NULL AND state <> 'DELETING' ORDER BY id`,
      )
      return rows.map(({ id }) => id)
    },

    async namesOf(reader: Reader, appId: string): Promise<string[]> {
      const rows = await reader.query<{ display_name: string }>(
        statement`SELECT display_name FROM environments WHERE app_id = ${appId} AND state <> 'DELETING'`,
      )
      return rows.map(({ display_name }) => display_name)
    },

    /** There was a deployment or a visit. */
    async setActive(tx: Transaction, id: string, time: number) {
      const rows = await tx.query(statement`
        UPDATE environments SET active_time = ${time}
        WHERE id = ${id} AND preview_branch IS NOT NULL AND active_time < ${time} RETURNING id`)
      if (rows.length > 0) await notifyBelow(tx, id, '')
    },

    /** Those that may be idle for too long, as far as is recorded. */
    async expired(reader: Reader = sql): Promise<PreviewRecord[]> {
      type Row = {
        id: string
        account_id: string
        app_name: string
        display_name: string
        active_time: number
        previews: string | null
      }
      const now = clock.now()
      const rows = await reader.query<Row>(statement`
        SELECT e.id, e.account_id, a.name AS app_name, e.display_name, e.active_time, a.previews
        FROM environments e JOIN apps a ON a.id = e.app_id
        WHERE e.preview_branch IS NOT NULL AND e.state <> 'DELETING' AND e.active_time <= ${now - DAY_MS}
        ORDER BY e.active_time, e.id`)
      const isExpired = ({ active_time, previews }: Row) =>
        active_time + readPreviewSettings(previews).idleDays * DAY_MS <= now
      return rows.filter(isExpired).map((row) => ({
        id: row.id,
        accountId: row.account_id,
        appName: row.app_name,
        displayName: row.display_name,
        activeTime: row.active_time,
      }))
    },

    /** The preview with the variables that the base has now. Other environments are returned as they are. */
    async refresh(environment: Environment): Promise<Environment> {
      const { preview, id } = environment
      if (!preview) return environment
      return sql.transaction(async (tx) => {
        const settings = await settingsOf(tx, environment.appId)
        const base = await baseOf(tx, settings)
        const inherited = base ? reseal(environment, base, settings.previews) : []
        if (JSON.stringify(inherited) !== JSON.stringify(environment.inherited)) {
          await tx.query(
            statement`UPDATE environments SET inherited_variables = ${JSON.stringify(inherited)} WHERE id = ${id}`,
          )
          await notifyBelow(tx, id, '')
        }
        return { ...environment, inherited }
      })
    },

    /** A user has set who may see a preview: it does not follow its base any more. */
    async keepOwnProtection(tx: Transaction, id: string) {
      await tx.query(
        statement`UPDATE environments SET has_own_protection = 1 WHERE id = ${id} AND preview_branch IS NOT NULL`,
      )
    },

    /** To be called after every change that may give the previews of an app another base, or their base another protection. */
    async followProtection(tx: Transaction, appId: string) {
      const previews = await tx.query<{ id: string; protection: string | null }>(statement`
        SELECT id, protection FROM environments
        WHERE app_id = ${appId} AND preview_branch IS NOT NULL AND has_own_protection = 0 AND state <> 'DELETING'`)
      if (previews.length === 0) return
      const base = await baseOf(tx, await settingsOf(tx, appId))
      // Without a base they stay as they are: a deletion must not make them public.
      if (!base) return
      const wanted = writeProtection(base.protection)
      const others = previews.filter(({ protection }) => writeProtection(readProtection(protection)) !== wanted)
      if (others.length === 0) return
      await tx.query(statement`
        UPDATE environments SET protection = ${wanted}, update_time = ${clock.now()}
        WHERE id IN (${list(others.map(({ id }) => id))})`)
      for (const { id } of others) {
        await environments.touchRoutes(tx, id)
        await notifyBelow(tx, id, '')
      }
    },
  }

  /** A variable with the value that it had keeps its sealed form, so that nothing seems to have changed. */
  function reseal(to: Environment, from: Environment, { hasSecrets }: resources.PreviewSettings): SealedVariable[] {
    const wanted = from.variables.filter(({ kind }) => hasSecrets || kind === 'PLAIN')
    return variables.seal(to.id, variables.open(from.id, wanted), to.inherited)
  }
}

export type PreviewRecords = ReturnType<typeof createPreviewRecords>

const DAY_MS = 24 * 60 * 60_000

/** What a build and an app of the environment get: its own variables, and those that it inherits and does not have itself. */
export function allVariables({ variables, inherited }: Pick<Environment, 'variables' | 'inherited'>): SealedVariable[] {
  const own = new Set(variables.map(({ key }) => key))
  return [...inherited.filter(({ key }) => !own.has(key)), ...variables]
}
