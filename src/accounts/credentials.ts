/** API credentials: a user id and a generated password for HTTP Basic authentication, bound to one account. */
import { type Clock, digestOf, type NewId, randomToken, Secret, sameDigest } from '../base/index.ts'
import { aboveCeiling, isAbove, Problem, type resources } from '../contract/index.ts'
import { type Page, type PageOf, pageOf, type Reader, type Sql, statement } from '../storage/index.ts'
import type { Account } from './accounts.ts'

type Role = resources.Role

export type Credential = { id: string; displayName: string; role: Role; createTime: number }
type CredentialRow = { id: string; display_name: string; role: Role; create_time: number }

type VerifiedRow = { password_digest: string; role: Role; display_name: string; id: string; name: string }

export function createCredentials({ sql, clock, newId }: { sql: Sql; clock: Clock; newId: NewId }) {
  async function count(accountId: string, reader: Reader = sql): Promise<number> {
    const [row] = await reader.query<{ n: number }>(
      statement`SELECT COUNT(*) AS n FROM credentials WHERE account_id = ${accountId}`,
    )
    return row?.n ?? 0
  }

  return {
    /** The number of credentials of an account. */
    count,

    /** `max`: how many the account may have. */
    async issue(
      accountId: string,
      { role, displayName, max = 0 }: { role: Role; displayName: string; max?: number },
    ): Promise<{ credential: Credential; password: Secret }> {
      const password = randomToken()
      const id = newId()
      const [made] = await sql.transaction(async (tx) => {
        if (isAbove((await count(accountId, tx)) + 1, max)) throw aboveCeiling('CREDENTIALS', max)
        tx.notify(accountId, `credentials/${id}`, { title: displayName })
        return tx.query<CredentialRow>(statement`
          INSERT INTO credentials (id, account_id, display_name, role, password_digest, create_time)
          VALUES (${id}, ${accountId}, ${displayName}, ${role}, ${digestOf(password)}, ${clock.now()})
          RETURNING id, display_name, role, create_time`)
      })
      return { credential: toCredential(made as CredentialRow), password: new Secret(password) }
    },

    /**
     * The account, role and name of a user id and password. Looked up for every request, so a revocation takes effect
     * at once.
     */
    async verify(
      userId: string,
      password: string,
    ): Promise<{ account: Account; role: Role; displayName: string } | undefined> {
      const [found] = await sql.query<VerifiedRow>(statement`
        SELECT c.password_digest, c.role, c.display_name, a.id, a.name FROM credentials c JOIN accounts a ON a.id = c.account_id
        WHERE c.id = ${userId}`)
      if (!found || !sameDigest(found.password_digest, digestOf(password))) return undefined
      const { id, name, role, display_name: displayName } = found
      return { account: { id, name }, role, displayName }
    },

    async list(accountId: string, page: Page): Promise<PageOf<Credential>> {
      const rows = await sql.query<CredentialRow>(statement`
        SELECT id, display_name, role, create_time FROM credentials
        WHERE account_id = ${accountId} AND ${page.after} ${page.order}`)
      return pageOf(rows.map(toCredential), page)
    },

    async revoke(accountId: string, id: string) {
      await sql.transaction(async (tx) => {
        const [gone] = await tx.query<{ display_name: string }>(
          statement`DELETE FROM credentials WHERE id = ${id} AND account_id = ${accountId} RETURNING display_name`,
        )
        if (!gone) throw new Problem('CREDENTIAL_NOT_FOUND')
        tx.notify(accountId, `credentials/${id}`, { title: gone.display_name })
      })
    },
  }
}

export type Credentials = ReturnType<typeof createCredentials>

const toCredential = (row: CredentialRow): Credential => ({
  id: row.id,
  displayName: row.display_name,
  role: row.role,
  createTime: row.create_time,
})
