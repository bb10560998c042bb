/** Addresses of CMS installs, registered by the operator and passed to the apps that name them. */
import { type Sql, statement } from '../storage/index.ts'

export function createCmsInstalls({ sql }: { sql: Sql }) {
  return {
    async set(accountId: string, name: string, url: string) {
      await sql.transaction(async (tx) => {
        await tx.query(statement`
          INSERT INTO cms_installs (account_id, name, url) VALUES (${accountId}, ${name}, ${url})
          ON CONFLICT (account_id, name) DO UPDATE SET url = ${url}`)
        tx.notify(accountId, 'cmsInstalls', { title: name })
      })
    },

    async urlOf(accountId: string, name: string): Promise<string | undefined> {
      const [row] = await sql.query<{ url: string }>(
        statement`SELECT url FROM cms_installs WHERE account_id = ${accountId} AND name = ${name}`,
      )
      return row?.url
    },
  }
}

export type CmsInstalls = ReturnType<typeof createCmsInstalls>
