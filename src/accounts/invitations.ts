/**
 * Invitations: an account asks an existing user to join it. A user becomes a member only after accepting: a membership
 * shows the account to every tool of the user, and projects may ask those tools to use it.
 *
 *   open  →  accepted: a membership under the same id  |  declined by the user or withdrawn by an owner: gone
 *
 * Until it is accepted it gives access to nothing.
 */
import type { Clock } from '../base/index.ts'
import { Problem, type resources } from '../contract/index.ts'
import { type Sql, statement, type Transaction } from '../storage/index.ts'
import type { Account } from './accounts.ts'

type Role = resources.Role

export type Invitation = {
  id: string
  account: Account
  role: Role
  /** The owner who invites; empty if a program did. */
  inviter: string
  createTime: number
}

export function createInvitations({ sql, clock }: { sql: Sql; clock: Clock }) {
  async function take(tx: Transaction, userId: string, id: string): Promise<{ accountId: string; role: Role }> {
    const [taken] = await tx.query<{ account_id: string; role: Role }>(statement`
      DELETE FROM invitations WHERE id = ${id} AND user_id = ${userId} RETURNING account_id, role`)
    if (!taken) throw new Problem('INVITATION_NOT_FOUND')
    tx.notify(taken.account_id, `users/${id}`)
    return { accountId: taken.account_id, role: taken.role }
  }

  return {
    async ofUser(userId: string): Promise<Invitation[]> {
      const rows = await sql.query<InvitationRow>(statement`
        SELECT i.id, a.id AS account_id, a.name, i.role, i.inviter, i.create_time
        FROM invitations i JOIN accounts a ON a.id = i.account_id
        WHERE i.user_id = ${userId} ORDER BY a.name`)
      return rows.map(({ id, account_id, name, role, inviter, create_time }) => ({
        id,
        account: { id: account_id, name },
        role,
        inviter,
        createTime: create_time,
      }))
    },

    async accept(userId: string, id: string) {
      await sql.transaction(async (tx) => {
        const { accountId, role } = await take(tx, userId, id)
        await tx.query(statement`
          INSERT INTO memberships (user_id, account_id, role, id, create_time)
          VALUES (${userId}, ${accountId}, ${role}, ${id}, ${clock.now()})
          ON CONFLICT (user_id, account_id) DO NOTHING`)
      })
    },

    async decline(userId: string, id: string) {
      await sql.transaction(async (tx) => {
        await take(tx, userId, id)
        await removeStray(tx, userId)
      })
    },
  }
}

export type Invitations = ReturnType<typeof createInvitations>

type InvitationRow = {
  id: string
  account_id: string
  name: string
  role: Role
  inviter: string
  create_time: number
}

/** A user who belongs to no account, and has no invitation, is removed, so that the address is free again. */
export async function removeStray(tx: Transaction, userId: string) {
  await tx.query(statement`
    DELETE FROM users WHERE id = ${userId}
    AND NOT EXISTS (SELECT 1 FROM memberships WHERE user_id = ${userId})
    AND NOT EXISTS (SELECT 1 FROM invitations WHERE user_id = ${userId})`)
}
