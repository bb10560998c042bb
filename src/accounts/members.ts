/**
 * Members: the users of an account, as its owners see and choose them. The account owns the membership; of the user it
 * sees only the e-mail address.
 *
 * An owner who adds a new e-mail address makes a user, and sees the first password. It is not proved that the address
 * belongs to that person. So only the operator can add such a user to another account: otherwise an owner could make users
 * with other people's addresses, and wait until another account lets them in.
 *
 * An existing user is invited, and listed beside the members until they have answered.
 *
 * A user who no longer belongs to any account, and has no invitation, is removed, and the address is free again.
 */
import { type Clock, type NewId, randomToken, Secret } from '../base/index.ts'
import { Problem, type resources } from '../contract/index.ts'
import { type Page, type PageOf, pageOf, type Sql, statement, type Transaction } from '../storage/index.ts'
import { type AttemptLimit, createAttempts } from './attempts.ts'
import { removeStray } from './invitations.ts'
import { hashPassword, passwordQueue } from './passwords.ts'
import { foldEmail } from './users.ts'

type Role = resources.Role

type State = resources.UserState

export type Member = { id: string; email: string; role: Role; state: State; createTime: number }
type MemberRow = { id: string; email: string; role: Role; state: State; create_time: number }

/** The limit for one account. Each addition costs a slow hash, and reveals whether an address is taken. */
export const NEW_USER_LIMIT: AttemptLimit = { burst: 20, intervalMs: 30_000 }

type Parts = { sql: Sql; clock: Clock; newId: NewId }

export function createMembers({ sql, clock, newId }: Parts) {
  const attempts = createAttempts({ sql, clock })

  async function require(tx: Transaction, accountId: string, id: string): Promise<Member & { userId: string }> {
    const [row] = await tx.query<MemberRow & { user_id: string }>(statement`
      SELECT * FROM (${peopleOf(accountId)}) AS people WHERE id = ${id}`)
    if (!row) throw new Problem('USER_NOT_FOUND')
    return { ...toMember(row), userId: row.user_id }
  }

  /**
   * Checked after a change of a member, within its transaction: an account that has an owner who can log in must keep
   * one. (Accounts that only programs use have none.)
   */
  async function checkOwned(tx: Transaction, accountId: string, { role, state }: Member) {
    if (role !== 'owner' || state !== 'ACTIVE') return
    const [owner] = await tx.query(
      statement`SELECT id FROM memberships WHERE account_id = ${accountId} AND role = 'owner' LIMIT 1`,
    )
    if (!owner) throw new Problem('LAST_OWNER')
  }

  return {
    async list(accountId: string, page: Page): Promise<PageOf<Member>> {
      // As a sub-select, because the condition and the order of a page use the column `id`.
      const rows = await sql.query<MemberRow>(statement`
        SELECT * FROM (${peopleOf(accountId)}) AS people WHERE ${page.after} ${page.order}`)
      return pageOf(rows.map(toMember), page)
    },

    /** The password of a new user; an existing user keeps theirs, and is invited. */
    async add(
      accountId: string,
      { email: given, role, inviter }: { email: string; role: Role; inviter: string },
    ): Promise<{ member: Member; password: Secret | undefined }> {
      await attempts.takeOne(`users of ${accountId}`, NEW_USER_LIMIT, 'TOO_MANY_NEW_USERS')
      const email = foldEmail(given)
      const password = randomToken()
      // Also hashed if it is not needed, so that the time of the answer reveals nothing.
      const guest = { client: `account ${accountId}`, kind: 'known', crowded: 'TOO_MANY_NEW_USERS' } as const
      const passwordHash = await passwordQueue.admit(guest, (turn) => hashPassword(password, turn))
      return sql.transaction(async (tx) => {
        const [id, now] = [newId(), clock.now()]
        const [made] = await tx.query<{ id: string }>(statement`
          INSERT INTO users (id, email, password_hash, create_time, made_by)
          VALUES (${newId()}, ${email}, ${passwordHash}, ${now}, ${accountId})
          ON CONFLICT (email) DO NOTHING RETURNING id`)
        if (made)
          await tx.query(statement`
            INSERT INTO memberships (user_id, account_id, role, id, create_time)
            VALUES (${made.id}, ${accountId}, ${role}, ${id}, ${now})`)
        else await invite(tx, { id, accountId, email, role, inviter, now })
        tx.notify(accountId, `users/${id}`, { title: email })
        const state = made ? 'ACTIVE' : 'INVITED'
        return {
          member: { id, email, role, state, createTime: now },
          password: made ? new Secret(password) : undefined,
        }
      })
    },

    setRole(accountId: string, id: string, role: Role): Promise<Member> {
      return sql.transaction(async (tx) => {
        const { userId, ...member } = await require(tx, accountId, id)
        const table = tableOf(member)
        await tx.query(statement`
          UPDATE ${table} SET role = ${role} WHERE account_id = ${accountId} AND user_id = ${userId}`)
        await checkOwned(tx, accountId, member)
        tx.notify(accountId, `users/${id}`, { title: member.email })
        return { ...member, role }
      })
    },

    /** Their sessions lose access, since memberships are looked up for every request. */
    async remove(accountId: string, id: string) {
      await sql.transaction(async (tx) => {
        const { userId, ...member } = await require(tx, accountId, id)
        const table = tableOf(member)
        await tx.query(statement`DELETE FROM ${table} WHERE account_id = ${accountId} AND user_id = ${userId}`)
        await checkOwned(tx, accountId, member)
        await removeStray(tx, userId)
        tx.notify(accountId, `users/${id}`, { title: member.email })
      })
    },
  }
}

export type Members = ReturnType<typeof createMembers>

/** A user that was made by the operator or by this account, or a member of this account. */
async function requireVouched(tx: Transaction, accountId: string, email: string): Promise<string> {
  const [vouched] = await tx.query<{ id: string }>(statement`
    SELECT id FROM users WHERE email = ${email} AND (made_by IS NULL OR made_by = ${accountId}
      OR EXISTS (SELECT 1 FROM memberships WHERE user_id = users.id AND account_id = ${accountId}))`)
  if (!vouched) throw new Problem('USER_NOT_VOUCHED')
  return vouched.id
}

type Invite = { id: string; accountId: string; email: string; role: Role; inviter: string; now: number }

async function invite(tx: Transaction, { id, accountId, email, role, inviter, now }: Invite) {
  const userId = await requireVouched(tx, accountId, email)
  const [member] = await tx.query(
    statement`SELECT id FROM memberships WHERE account_id = ${accountId} AND user_id = ${userId}`,
  )
  if (member) throw new Problem('USER_EXISTS', `${email} belongs to the account already.`)
  const [row] = await tx.query(statement`
    INSERT INTO invitations (id, user_id, account_id, role, inviter, create_time)
    VALUES (${id}, ${userId}, ${accountId}, ${role}, ${inviter}, ${now})
    ON CONFLICT (user_id, account_id) DO NOTHING RETURNING id`)
  if (!row) throw new Problem('USER_EXISTS', `${email} is invited already, and has not answered yet.`)
}

/** All users that the account lists: its members, and those it has invited. */
const peopleOf = (accountId: string) => statement`
  SELECT m.id, u.email, m.role, 'ACTIVE' AS state, m.create_time, m.user_id
  FROM memberships m JOIN users u ON u.id = m.user_id WHERE m.account_id = ${accountId}
  UNION ALL
  SELECT i.id, u.email, i.role, 'INVITED' AS state, i.create_time, i.user_id
  FROM invitations i JOIN users u ON u.id = i.user_id WHERE i.account_id = ${accountId}`

const tableOf = ({ state }: Member) => (state === 'ACTIVE' ? statement`memberships` : statement`invitations`)

const toMember = (row: MemberRow): Member => ({
  id: row.id,
  email: row.email,
  role: row.role,
  state: row.state,
  createTime: row.create_time,
})
