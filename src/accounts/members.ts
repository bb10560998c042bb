/**
 * Members: the users of an account, as its owners see and choose them. What belongs to the account is the membership; of
 * the user behind it nothing is shown but the e-mail address.
 *
 * An owner who adds somebody new makes a user, and sees the first password. Nobody has proved that the address is theirs.
 * So such a user can be added to another account by the operator only: otherwise an owner could make users under the
 * addresses of strangers, and wait until somebody else lets them in.
 *
 * A user who belongs to no account any more is removed, and the address is free again.
 */
import { type Clock, type NewId, randomToken, Secret } from '../base/index.ts'
import { Problem, type resources } from '../contract/index.ts'
import { type Page, type PageOf, pageOf, type Sql, statement, type Transaction } from '../storage/index.ts'
import { type AttemptLimit, createAttempts } from './attempts.ts'
import { hashPassword } from './passwords.ts'
import { foldEmail } from './users.ts'

type Role = resources.Role

export type Member = { id: string; email: string; role: Role; createTime: number }
type MemberRow = { id: string; email: string; role: Role; create_time: number }

/** Of one account. Each costs a slow hash, and tells whether an address is taken. */
export const NEW_USER_LIMIT: AttemptLimit = { burst: 20, intervalMs: 30_000 }

type Parts = { sql: Sql; clock: Clock; newId: NewId }

export function createMembers({ sql, clock, newId }: Parts) {
  const attempts = createAttempts({ sql, clock })

  async function require(tx: Transaction, accountId: string, id: string): Promise<Member & { userId: string }> {
    const [row] = await tx.query<MemberRow & { user_id: string }>(statement`
      SELECT m.id, u.email, m.role, m.create_time, m.user_id FROM memberships m JOIN users u ON u.id = m.user_id
      WHERE m.account_id = ${accountId} AND m.id = ${id}`)
    if (!row) throw new Problem('USER_NOT_FOUND')
    return { ...toMember(row), userId: row.user_id }
  }

  /**
   * Asked after the change of a member, within its transaction: an account that has an owner who can log in keeps one.
   * (Those that are used by programs alone have none.)
   */
  async function checkOwned(tx: Transaction, accountId: string, { role }: Member) {
    if (role !== 'owner') return
    const [owner] = await tx.query(
      statement`SELECT id FROM memberships WHERE account_id = ${accountId} AND role = 'owner' LIMIT 1`,
    )
    if (!owner) throw new Problem('LAST_OWNER')
  }

  return {
    async list(accountId: string, page: Page): Promise<PageOf<Member>> {
      // Named as a whole: the condition and the order of a page are on the column `id`.
      const rows = await sql.query<MemberRow>(statement`
        SELECT id, email, role, create_time FROM (
          SELECT m.id, u.email, m.role, m.create_time FROM memberships m JOIN users u ON u.id = m.user_id
          WHERE m.account_id = ${accountId}) AS members
        WHERE ${page.after} ${page.order}`)
      return pageOf(rows.map(toMember), page)
    },

    /** The password is that of a new user; one who is a user already keeps theirs. */
    async add(
      accountId: string,
      { email: given, role }: { email: string; role: Role },
    ): Promise<{ member: Member; password: Secret | undefined }> {
      await attempts.takeOne(`users of ${accountId}`, NEW_USER_LIMIT, 'TOO_MANY_NEW_USERS')
      const email = foldEmail(given)
      const password = randomToken()
      // Also where it is not needed: how long the answer takes tells nothing.
      const passwordHash = await hashPassword(password)
      return sql.transaction(async (tx) => {
        const now = clock.now()
        const [made] = await tx.query<{ id: string }>(statement`
          INSERT INTO users (id, email, password_hash, create_time, made_by)
          VALUES (${newId()}, ${email}, ${passwordHash}, ${now}, ${accountId})
          ON CONFLICT (email) DO NOTHING RETURNING id`)
        const userId = made?.id ?? (await requireVouched(tx, accountId, email))
        const [row] = await tx.query<Omit<MemberRow, 'email'>>(statement`
          INSERT INTO memberships (user_id, account_id, role, id, create_time)
          VALUES (${userId}, ${accountId}, ${role}, ${newId()}, ${now})
          ON CONFLICT (user_id, account_id) DO NOTHING RETURNING id, role, create_time`)
        if (!row) throw new Problem('USER_EXISTS', `${email} belongs to the account already.`)
        tx.tell(accountId, `users/${row.id}`)
        return { member: toMember({ ...row, email }), password: made ? new Secret(password) : undefined }
      })
    },

    setRole(accountId: string, id: string, role: Role): Promise<Member> {
      return sql.transaction(async (tx) => {
        const { userId, ...member } = await require(tx, accountId, id)
        await tx.query(statement`
          UPDATE memberships SET role = ${role} WHERE account_id = ${accountId} AND user_id = ${userId}`)
        await checkOwned(tx, accountId, member)
        tx.tell(accountId, `users/${id}`)
        return { ...member, role }
      })
    },

    /** Their sessions have no access any more: memberships are looked up for every request. */
    async remove(accountId: string, id: string) {
      await sql.transaction(async (tx) => {
        const { userId, ...member } = await require(tx, accountId, id)
        await tx.query(statement`DELETE FROM memberships WHERE account_id = ${accountId} AND user_id = ${userId}`)
        await checkOwned(tx, accountId, member)
        await tx.query(statement`
          DELETE FROM users WHERE id = ${userId}
          AND NOT EXISTS (SELECT 1 FROM memberships WHERE user_id = ${userId})`)
        tx.tell(accountId, `users/${id}`)
      })
    },
  }
}

export type Members = ReturnType<typeof createMembers>

/** A user whom the operator made, or this account; or one of its members, whoever made them. */
async function requireVouched(tx: Transaction, accountId: string, email: string): Promise<string> {
  const [vouched] = await tx.query<{ id: string }>(statement`
    SELECT id FROM users WHERE email = ${email} AND (made_by IS NULL OR made_by = ${accountId}
      OR EXISTS (SELECT 1 FROM memberships WHERE user_id = users.id AND account_id = ${accountId}))`)
  if (!vouched) throw new Problem('USER_NOT_VOUCHED')
  return vouched.id
}

const toMember = (row: MemberRow): Member => ({
  id: row.id,
  email: row.email,
  role: row.role,
  createTime: row.create_time,
})
