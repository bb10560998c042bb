/**
 * The election on PostgreSQL, on a session of its own.
 *
 * The row alone would do: who has not renewed for STALE_MS, by the clock of the server, is replaced. What it lacks is that a
 * process that dies is replaced at once. So the leader also has an advisory lock, which the server frees when the session ends.
 * Each term has a lock of its own: a process that is frozen and keeps its session holds up no other.
 *
 * Fenced transactions lock the row FOR KEY SHARE. A renewal changes no key and passes beside them. A new term changes one: it
 * waits for those that are under way, and those that come later see it. Serializable transactions alone would not do that: one
 * of the old term could be committed after one of the new term, as if it had been before.
 */
import { type DatabaseAddress, settlesWithin, systemClock } from '../../../base/index.ts'
import {
  type Election,
  type Leader,
  type LeaderLease,
  LeadershipLost,
  STALE_MS,
  TRUST_MS,
} from '../../leadership/election.ts'
import { type Row, type Statement, statement, type Transaction } from '../sql.ts'
import { createConnect, type Session } from './client.ts'
import { createStatements } from './statements.ts'

/** The first number of the advisory locks of terms; the second is the term. */
const TERMS = 0x4846

/** The server ends a fenced transaction that waits so long for its next statement: a process that is frozen has no hold on the row. */
const FENCED_IDLE_MS = 3000

/** A new term waits for fenced transactions, and no longer than this. */
const STATEMENT_MS = 3000
const ANSWER_MS = STATEMENT_MS + 1000

/**
 * The server ends the session of a machine that has vanished, and not before the leader has stopped by itself: TRUST_MS after its
 * last renewal.
 */
const SETTINGS = [
  'default_transaction_read_only=off',
  'default_transaction_isolation=read\\ committed',
  'tcp_keepalives_idle=3',
  'tcp_keepalives_interval=1',
  'tcp_keepalives_count=3',
  `tcp_user_timeout=${TRUST_MS + 1000}`,
]

const NOW = statement`CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)`

type Found = Leader & { age: number; is_over: number }

type Open = { session: Session; lost: AbortController }

export function createElection(address: DatabaseAddress): Election {
  const connect = createConnect(address, {
    statement_timeout: STATEMENT_MS,
    options: SETTINGS.map((setting) => `-c ${setting}`).join(' '),
  })
  const render = createStatements()
  let open: Open | undefined

  async function current(): Promise<Open> {
    if (open && !open.session.isOver()) return open
    const lost = new AbortController()
    open = { session: await connect((error) => lost.abort(error)), lost }
    return open
  }

  async function ask<R extends Row>({ session }: Open, asked: Statement): Promise<R[]> {
    const answer = session.query(render(asked))
    const isAnswered = await settlesWithin(systemClock, answer, ANSWER_MS)
    if (!isAnswered) session.destroy(new Error('no answer came'))
    return (await answer).rows as R[]
  }

  /** With its session, this process gives up every lock that it has. */
  async function giveUp({ session }: Open) {
    if (session === open?.session) open = undefined
    if (!(await settlesWithin(systemClock, session.end(), CLOSE_MS).catch(() => false))) session.discard()
  }

  async function begin(on: Open, holder: string, before: number | undefined): Promise<LeaderLease | undefined> {
    const term = (before ?? 0) + 1
    // Before the row names the term: from then on, others look for the lock.
    const [locked] = await ask(on, statement`SELECT pg_try_advisory_lock(${TERMS}, ${term}) AS is_mine`)
    if (locked?.is_mine !== 1) return undefined
    const sentTime = performance.now()
    const [begun] = await ask(
      on,
      statement`
        INSERT INTO leadership (name, term, holder, time) VALUES ('control', ${term}, ${holder}, ${NOW})
        ON CONFLICT (name) DO UPDATE SET term = excluded.term, holder = excluded.holder, time = ${NOW}
        WHERE leadership.term = ${before ?? 0} RETURNING term`,
    )
    if (!begun) {
      await giveUp(on)
      return undefined
    }
    return {
      term,
      sentTime,
      lost: on.lost.signal,
      check: (tx) => check(tx, { term, holder }),
      async renew() {
        const renewed = await ask(
          on,
          statement`UPDATE leadership SET time = ${NOW}
            WHERE name = 'control' AND term = ${term} AND holder = ${holder} RETURNING term`,
        )
        return renewed.length > 0
      },
      release: () => giveUp(on),
    }
  }

  return {
    async run(holder) {
      const on = await current()
      try {
        // For the length of the statement. The lock is to be had if the session of the leader is over.
        const [found] = await ask<Found>(
          on,
          statement`
            SELECT term, holder, ${NOW} - time AS age,
              pg_try_advisory_xact_lock_shared(${TERMS}, CAST(term AS INTEGER)) AS is_over
            FROM leadership WHERE name = 'control'`,
        )
        // A renewal in the future is of a clock that was set back.
        if (found && found.is_over === 0 && Math.abs(found.age) < STALE_MS)
          return { leader: { term: found.term, holder: found.holder } }
        return (await begin(on, holder, found?.term)) ?? { leader: undefined }
      } catch (error) {
        await giveUp(on)
        throw error
      }
    },

    async close() {
      if (open) await giveUp(open)
    },
  }
}

const CLOSE_MS = 1000

async function check(tx: Transaction, { term, holder }: Leader) {
  const [found] = await tx.query<Leader>(statement`
    SELECT term, holder, set_config('idle_in_transaction_session_timeout', ${String(FENCED_IDLE_MS)}, true)
    FROM leadership WHERE name = 'control' FOR KEY SHARE`)
  // After a failover that lost the last commits, two processes may have had the same number.
  if (found?.term !== term || found.holder !== holder) throw new LeadershipLost()
}
