/** Users: people who log in to the portal. One user may belong to several accounts, with a role in each. */
import { type Clock, type NewId, randomToken, Secret } from '../base/index.ts'
import { Problem, type resources } from '../contract/index.ts'
import { type Reader, type Sql, statement, type Transaction } from '../storage/index.ts'
import type { Account, Accounts } from './accounts.ts'
import { forgetNetworks } from './known-networks.ts'
import { hashPassword, passwordQueue } from './passwords.ts'

type Role = resources.Role

export type User = { id: string; email: string }
export type Membership = { account: Account; role: Role }

export const foldEmail = (email: string): string => email.trim().toLowerCase()

type Parts = { sql: Sql; clock: Clock; newId: NewId; accounts: Accounts }

export function createUsers({ sql, clock, newId, accounts }: Parts) {
  return {
    /**
     * A new user gets a generated password, returned only here. An existing user joins the account and keeps the
     * password, without being asked: the operator, who can see everything anyway, vouches for the user.
     */
    async create(
      email: string,
      accountName: string,
      role: Role,
      { makeAccount = false } = {},
    ): Promise<{ password: Secret | undefined }> {
      const password = randomToken()
      const passwordHash = await hashFirst(password)
      return sql.transaction(async (tx) => {
        const account = await (makeAccount ? accounts.add(tx, accountName) : accounts.require(tx, accountName))
        const [made] = await tx.query<{ id: string }>(statement`
          INSERT INTO users (id, email, password_hash, create_time)
          VALUES (${newId()}, ${foldEmail(email)}, ${passwordHash}, ${clock.now()})
          ON CONFLICT (email) DO NOTHING RETURNING id`)
        const user = made ?? (await requireUser(tx, email))
        const [joined] = await tx.query(statement`
          INSERT INTO memberships (user_id, account_id, role, id, create_time)
          VALUES (${user.id}, ${account.id}, ${role}, ${newId()}, ${clock.now()})
          ON CONFLICT (user_id, account_id) DO NOTHING RETURNING id`)
        if (!joined) throw new Problem('USER_EXISTS', `${email} belongs to the account ${accountName} already.`)
        await tx.query(statement`
          DELETE FROM invitations WHERE user_id = ${user.id} AND account_id = ${account.id}`)
        tx.notify(account.id, `users/${joined.id}`, { title: foldEmail(email) })
        return { password: made ? new Secret(password) : undefined }
      })
    },

    /**
     * Sets a new password, and ends every session that the old one opened. Only the operator can do this, and thereby
     * vouches for the user: a person who knew the old password has no access any more. An account that had made the
     * user itself must now ask the person who has the new password.
     */
    async resetPassword(email: string): Promise<{ password: Secret }> {
      const password = randomToken()
      const passwordHash = await hashFirst(password)
      await sql.transaction(async (tx) => {
        const user = await requireUser(tx, email)
        await notifyAccounts(tx, { id: user.id, email: foldEmail(email) })
        await askAgain(tx, user.id)
        await tx.query(
          statement`UPDATE users SET password_hash = ${passwordHash}, made_by = NULL WHERE id = ${user.id}`,
        )
        await tx.query(statement`DELETE FROM sessions WHERE user_id = ${user.id}`)
        await forgetNetworks(tx, user.id)
      })
      return { password: new Secret(password) }
    },

    async memberships(userId: string): Promise<Membership[]> {
      const rows = await sql.query<{ id: string; name: string; role: Role }>(statement`
        SELECT a.id, a.name, m.role FROM memberships m JOIN accounts a ON a.id = m.account_id
        WHERE m.user_id = ${userId} ORDER BY a.name`)
      return rows.map(({ id, name, role }) => ({ account: { id, name }, role }))
    },
  }
}

export type Users = ReturnType<typeof createUsers>

async function requireUser(reader: Reader, email: string): Promise<{ id: string }> {
  const [found] = await reader.query<{ id: string }>(statement`SELECT id FROM users WHERE email = ${foldEmail(email)}`)
  if (!found) throw new Problem('USER_NOT_FOUND', `There is no user ${email}.`)
  return found
}

/** The membership that the user never accepted, because the account made the user, becomes an invitation. */
async function askAgain(tx: Transaction, userId: string) {
  const [made] = await tx.query<{ account_id: string; id: string }>(statement`
    INSERT INTO invitations (id, user_id, account_id, role, inviter, create_time)
    SELECT m.id, m.user_id, m.account_id, m.role, '', m.create_time
    FROM memberships m JOIN users u ON u.id = m.user_id AND u.made_by = m.account_id
    WHERE m.user_id = ${userId} RETURNING account_id, id`)
  if (!made) return
  await tx.query(statement`DELETE FROM memberships WHERE user_id = ${userId} AND account_id = ${made.account_id}`)
  tx.notify(made.account_id, `users/${made.id}`)
}

/** The user is shown in each of these accounts. */
export async function notifyAccounts(tx: Transaction, { id, email }: User) {
  const rows = await tx.query<{ id: string; account_id: string }>(
    statement`SELECT id, account_id FROM memberships WHERE user_id = ${id}`,
  )
  for (const row of rows) tx.notify(row.account_id, `users/${row.id}`, { title: email })
}

const hashFirst = (password: string): Promise<string> =>
  passwordQueue.admit({ client: 'operator', kind: 'known' }, (turn) => hashPassword(password, turn))
