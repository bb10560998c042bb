/**
 * Sessions of the portal. The cookie contains 256 random bits; the database contains their digest. A session ends when
 * it is deleted, when its user's password is reset or changed elsewhere, or when it expires.
 */
import { type Clock, digestOf, randomToken, Secret } from '../base/index.ts'
import { Problem } from '../contract/index.ts'
import { clientNetwork } from '../http/index.ts'
import { type Sql, statement } from '../storage/index.ts'
import { createAttempts, LOG_IN_LIMITS } from './attempts.ts'
import { createKnownNetworks } from './known-networks.ts'
import { hashPassword, passwordQueue, verifyPassword } from './passwords.ts'
import { foldEmail, notifyAccounts, type User } from './users.ts'

export const SESSION_MS = 14 * 24 * 60 * 60 * 1000

export type Session = { user: User; expireTime: number }
export type ChangedPassword = { password: string; newPassword: string }

export function createSessions({ sql, clock }: { sql: Sql; clock: Clock }) {
  const attempts = createAttempts({ sql, clock })
  const networks = createKnownNetworks({ sql, clock })

  return {
    async logIn(emailGiven: string, password: string, address: string): Promise<{ token: Secret; session: Session }> {
      const email = foldEmail(emailGiven)
      const network = clientNetwork(address)
      const isKnown = await networks.isKnown(email, network)
      return passwordQueue.admit({ client: network, kind: isKnown ? 'known' : 'unknown' }, async (turn) => {
        await attempts.take({ email, network, isKnown })
        const [user] = await sql.query<{ id: string; email: string; password_hash: string }>(
          statement`SELECT id, email, password_hash FROM users WHERE email = ${email}`,
        )
        const isRight = await verifyPassword(password, user?.password_hash, turn)
        if (!user || !isRight) throw new Problem('LOG_IN_FAILED')

        const token = randomToken()
        const now = clock.now()
        const expireTime = now + SESSION_MS
        await sql.transaction(async (tx) => {
          await attempts.forgive(tx, { email, network })
          await tx.query(statement`DELETE FROM sessions WHERE expire_time <= ${now}`)
          // The password may have been changed while it was verified, which ended every session but this one.
          const [opened] = await tx.query(statement`
            INSERT INTO sessions (digest, user_id, create_time, expire_time)
            SELECT ${digestOf(token)}, id, ${now}, ${expireTime} FROM users
            WHERE id = ${user.id} AND password_hash = ${user.password_hash} RETURNING user_id`)
          if (!opened) throw new Problem('LOG_IN_FAILED')
          await networks.remember(tx, user.id, network)
          await notifyAccounts(tx, user)
        })
        return { token: new Secret(token), session: { user: { id: user.id, email: user.email }, expireTime } }
      })
    },

    async find(token: string): Promise<Session | undefined> {
      const [row] = await sql.query<{ id: string; email: string; expire_time: number }>(statement`
        SELECT u.id, u.email, s.expire_time FROM sessions s JOIN users u ON u.id = s.user_id
        WHERE s.digest = ${digestOf(token)} AND s.expire_time > ${clock.now()}`)
      return row && { user: { id: row.id, email: row.email }, expireTime: row.expire_time }
    },

    async logOut(token: string) {
      await sql.transaction((tx) => tx.query(statement`DELETE FROM sessions WHERE digest = ${digestOf(token)}`))
    },

    /** Every session of the user ends, this one too. */
    async logOutEverywhere(userId: string) {
      await sql.transaction((tx) => tx.query(statement`DELETE FROM sessions WHERE user_id = ${userId}`))
    },

    /**
     * Every session but this one ends. The current password is required although the user is logged in: access to an
     * open browser must not be enough. Guesses are counted for the user across all networks: only a client with a
     * session can make them, so other clients cannot use them up.
     */
    async changePassword({ token, user }: { token: string; user: User }, given: ChangedPassword, address: string) {
      const subject = `password of ${user.id}`
      const network = clientNetwork(address)
      await passwordQueue.admit({ client: network, kind: 'known' }, async (turn) => {
        await attempts.takeOne(subject, LOG_IN_LIMITS.guesses, 'TOO_MANY_LOG_INS')
        const [row] = await sql.query<{ password_hash: string }>(
          statement`SELECT password_hash FROM users WHERE id = ${user.id}`,
        )
        if (!(await verifyPassword(given.password, row?.password_hash, turn))) throw new Problem('PASSWORD_WRONG')
        const next = await hashPassword(given.newPassword, turn)
        await sql.transaction(async (tx) => {
          const [changed] = await tx.query(statement`
            UPDATE users SET password_hash = ${next}
            WHERE id = ${user.id} AND password_hash = ${row?.password_hash ?? ''} RETURNING id`)
          // Another request changed it at the same moment: this is no longer the password.
          if (!changed) throw new Problem('PASSWORD_WRONG')
          await attempts.forgiveOne(tx, subject)
          await tx.query(statement`DELETE FROM sessions WHERE user_id = ${user.id} AND digest <> ${digestOf(token)}`)
          await networks.forget(tx, user.id)
          await networks.remember(tx, user.id, network)
          await notifyAccounts(tx, user)
        })
      })
    },
  }
}

export type Sessions = ReturnType<typeof createSessions>
