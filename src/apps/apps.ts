/** Apps: a name in an account, a region, and the environments below it. */
import type { Clock, NewId } from '../base/index.ts'
import { aboveCeiling, isAbove, names, Problem, resources } from '../contract/index.ts'
import { type Page, type PageOf, pageOf, type Reader, type Sql, statement, type Transaction } from '../storage/index.ts'

export type App = {
  id: string
  name: string
  region: resources.App['region']
  previews: resources.PreviewSettings
  createTime: number
}
type AppRow = { id: string; name: string; region: App['region']; previews: string | null; create_time: number }

const columns = statement`id, name, region, previews, create_time`

export function createApps({ sql, clock, newId }: { sql: Sql; clock: Clock; newId: NewId }) {
  async function count(accountId: string, reader: Reader = sql): Promise<number> {
    const [row] = await reader.query<{ n: number }>(
      statement`SELECT COUNT(*) AS n FROM apps WHERE account_id = ${accountId}`,
    )
    return row?.n ?? 0
  }

  return {
    /** The number of an account's apps, including those whose environments are being deleted. */
    count,

    /** `max`: how many the account may have. */
    async create(accountId: string, name: string, region: App['region'], { max = 0 } = {}): Promise<App> {
      return sql.transaction(async (tx) => {
        const [made] = await tx.query<AppRow>(statement`
          INSERT INTO apps (id, account_id, name, folded_name, region, create_time)
          VALUES (${newId()}, ${accountId}, ${name}, ${names.fold(name)}, ${region}, ${clock.now()})
          ON CONFLICT (account_id, folded_name) WHERE delete_time IS NULL DO NOTHING
          RETURNING ${columns}`)
        if (!made) {
          throw new Problem('APP_EXISTS', `The account has an app named ${name} already.`, {
            metadata: { appId: name },
          })
        }
        if (isAbove(await count(accountId, tx), max)) throw aboveCeiling('APPS', max)
        tx.notify(accountId, `apps/${name}`)
        return toApp(made)
      })
    },

    async require(accountId: string, name: string, reader: Reader = sql): Promise<App> {
      const [found] = await reader.query<AppRow>(statement`
        SELECT ${columns} FROM apps
        WHERE account_id = ${accountId} AND folded_name = ${names.fold(name)} AND delete_time IS NULL`)
      if (!found) throw new Problem('APP_NOT_FOUND')
      return toApp(found)
    },

    async list(accountId: string, page: Page): Promise<PageOf<App>> {
      const rows = await sql.query<AppRow>(statement`
        SELECT ${columns} FROM apps
        WHERE account_id = ${accountId} AND delete_time IS NULL AND ${page.after} ${page.order}`)
      return pageOf(rows.map(toApp), page)
    },

    async setPreviews(tx: Transaction, { id, name }: App, accountId: string, previews: resources.PreviewSettings) {
      await tx.query(statement`UPDATE apps SET previews = ${JSON.stringify(previews)} WHERE id = ${id}`)
      tx.notify(accountId, `apps/${name}`)
    },

    /** Hides the app and frees its name. Its row is deleted with its last environment. */
    async hide(tx: Transaction, id: string) {
      const rows = await tx.query<{ account_id: string; name: string }>(
        statement`UPDATE apps SET delete_time = ${clock.now()} WHERE id = ${id} RETURNING account_id, name`,
      )
      for (const { account_id, name } of rows) tx.notify(account_id, `apps/${name}`)
    },

    async removeIfHiddenAndEmpty(tx: Transaction, id: string) {
      await tx.query(statement`
        DELETE FROM apps WHERE id = ${id} AND delete_time IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM environments WHERE app_id = ${id})`)
    },
  }
}

export type Apps = ReturnType<typeof createApps>

/** The newest id of an app or an environment; undefined where there is none. */
export async function newestAppId(reader: Reader): Promise<string | undefined> {
  const [row] = await reader.query<{ id: string | null }>(statement`
    SELECT MAX(id) AS id FROM (SELECT MAX(id) AS id FROM apps UNION ALL SELECT MAX(id) FROM environments) newest`)
  return row?.id ?? undefined
}

/** As the column has them. */
export const readPreviewSettings = (text: string | null): resources.PreviewSettings =>
  text === null ? resources.DEFAULT_PREVIEWS : resources.checkPreviewSettings(JSON.parse(text))

const toApp = (row: AppRow): App => ({
  id: row.id,
  name: row.name,
  region: row.region,
  previews: readPreviewSettings(row.previews),
  createTime: row.create_time,
})
