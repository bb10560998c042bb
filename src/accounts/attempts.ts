/**
 * Limits how often a log-in is tried. The counts are in the database: they survive restarts and are shared by all processes.
 * Each attempt is counted before the password is verified, so a hundred attempts at once are not a hundred free guesses.
 *
 *   guesses   at one user from one network; a right password gives them back
 *   network   from one network, at any users
 *   user      at one user from all networks together where that user has never logged in
 *
 * Attackers cannot lock a user out: attempts from networks from which the user has logged in are not counted for `user`, and
 * not refused by it. Many machines together get a hundred guesses at a user and then one a minute, and the user can still
 * log in.
 *
 * The arithmetic is that of a leaky bucket kept as one time (GCRA): `paid_until` moves one interval per attempt, and an
 * attempt is refused while that time lies more than the burst ahead.
 */
import type { Clock } from '../base/index.ts'
import { Problem, type Reason } from '../contract/index.ts'
import { type Sql, statement, type Transaction } from '../storage/index.ts'

export type Attempt = {
  email: string
  /** The network of the client's address. */
  network: string
  /** Whether the user has logged in from there before. */
  isKnown: boolean
}
export type AttemptLimit = { burst: number; intervalMs: number }

type Payment = {
  subject: string
  limit: AttemptLimit
  now: number
  /** The reason of a refusal. */
  reason?: Reason
}

export const LOG_IN_LIMITS = {
  guesses: { burst: 10, intervalMs: 60_000 },
  network: { burst: 30, intervalMs: 10_000 },
  user: { burst: 100, intervalMs: 60_000 },
} as const satisfies Record<string, AttemptLimit>

export function createAttempts({ sql, clock }: { sql: Sql; clock: Clock }) {
  async function pay(tx: Transaction, { subject, limit, now, reason = 'TOO_MANY_LOG_INS' }: Payment) {
    const { burst, intervalMs } = limit
    const [row] = await tx.query<{ paid_until: number }>(
      statement`SELECT paid_until FROM log_in_attempts WHERE subject = ${subject}`,
    )
    const known = row?.paid_until ?? 0
    // More than the burst cannot be owed. If it is, the clock was set back, and log-ins would fail until it has caught up.
    const owed = known - now > burst * intervalMs ? 0 : known
    const paidUntil = Math.max(now, owed) + intervalMs
    const waitMs = paidUntil - now - burst * intervalMs
    if (waitMs > 0) {
      throw new Problem(reason, undefined, { retryAfterSeconds: Math.ceil(waitMs / 1000) })
    }
    await tx.query(statement`
      INSERT INTO log_in_attempts (subject, paid_until) VALUES (${subject}, ${paidUntil})
      ON CONFLICT (subject) DO UPDATE SET paid_until = ${paidUntil}`)
  }

  return {
    async take({ email, network, isKnown }: Attempt) {
      const now = clock.now()
      await sql.transaction(async (tx) => {
        await tx.query(statement`DELETE FROM log_in_attempts WHERE paid_until < ${now}`)
        await pay(tx, { subject: `network ${network}`, limit: LOG_IN_LIMITS.network, now })
        await pay(tx, { subject: guessesOf({ email, network }), limit: LOG_IN_LIMITS.guesses, now })
        if (!isKnown) await pay(tx, { subject: `user ${email}`, limit: LOG_IN_LIMITS.user, now })
      })
    },
    /** For other actions than a log-in that must be limited. */
    async takeOne(subject: string, limit: AttemptLimit, reason: Reason) {
      const now = clock.now()
      await sql.transaction((tx) => pay(tx, { subject, limit, now, reason }))
    },
    async forgive(tx: Transaction, attempt: Pick<Attempt, 'email' | 'network'>) {
      await forgiveOne(tx, guessesOf(attempt))
    },
    forgiveOne,
  }
}

async function forgiveOne(tx: Transaction, subject: string) {
  await tx.query(statement`DELETE FROM log_in_attempts WHERE subject = ${subject}`)
}

/** The network comes first and has no blank: so no e-mail address makes it the subject of another user. */
const guessesOf = ({ email, network }: Pick<Attempt, 'email' | 'network'>): string => `guesses ${network} ${email}`
