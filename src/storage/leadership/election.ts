/** What leadership needs of a database. */
import type { Transaction } from '../sql/sql.ts'

/** Another process leads now, or may do so at any moment. A transaction in which this is thrown is rolled back. */
export class LeadershipLost extends Error {
  constructor(message = 'another process leads') {
    super(message)
    this.name = 'LeadershipLost'
  }
}

/** How often the leader renews its lease. */
export const RENEW_MS = 2000
/** So long after it sent the last renewal that was confirmed, the leader stops by itself. */
export const TRUST_MS = 5000
/** So long after the last renewal, by the clock of the database, another process takes over. */
export const STALE_MS = 8000

export type Leader = { term: number; holder: string }

/** The right to lead for one term. */
export type LeaderLease = {
  term: number
  /** Throws LeadershipLost unless the database has this term. No other term begins before the transaction is over. */
  check(tx: Transaction): Promise<void>
  /** Resolves to false if another term has begun. Undefined where no other process can take over. */
  renew?(): Promise<boolean>
  /** When the renewal was sent that is confirmed by this lease itself, in the time of `performance.now()`. */
  sentTime: number
  /** Aborted when the database has ended the session to which the lease belongs. */
  lost: AbortSignal
  release(): Promise<void>
}

export type Election = {
  /** Begins a new term if no process leads. Otherwise resolves to what is known of the leader. */
  run(holder: string): Promise<LeaderLease | { leader: Leader | undefined }>
  close(): Promise<void>
}
