/**
 * One of the processes on a database leads. What only one may do at a time is started in it, and stopped when it does not lead
 * any more. The truth is one row: the term, which rises with each new leader, its holder, and when that renewed it last.
 *
 *   state      event                                                                              next
 *   following  no other leads: its session is over, or it has not renewed for STALE_MS            leading, with the next term
 *   leading    it renewed, within TRUST_MS after it sent the renewal that was confirmed before    leading
 *   leading    its session is over, another term has begun, or TRUST_MS have passed; or a stop    stopping
 *   stopping   its work has ended, and the lease is released                                      following, or ended
 *
 * STALE_MS count by the clock of the database, TRUST_MS by that of the process, which cannot be set. The process begins to count
 * earlier and counts less, so that its work has ended before another process begins. Where it has not (the process was frozen,
 * and goes on in the middle of a line), `check` refuses what it writes.
 */
import { hostname } from 'node:os'
import { type Clock, type Log, randomToken, settlesWithin } from '../../base/index.ts'
import type { Transaction } from '../sql/sql.ts'
import { type Election, type Leader, type LeaderLease, LeadershipLost, RENEW_MS, TRUST_MS } from './election.ts'

/** The time for which this process leads. */
export type Term = {
  number: number
  /** Aborted at its end. */
  signal: AbortSignal
  /** Whether another process may lead already. For steps outside of the database: it asks the clock alone. */
  isOver(): boolean
  /** Throws LeadershipLost unless the term goes on, and does so until the transaction is over. To be called first in it. */
  check(tx: Transaction): Promise<void>
}

/** Starts what the leader does. The stop waits for what is under way. */
export type LeaderWork = (term: Term) => { stop(): Promise<unknown> }

type Parts = {
  clock: Clock
  log: Log
  election: Election
  /** Names this process in the database and in logs of others. */
  holder?: string
}

/** How often other processes look whether there is a leader. */
const LOOK_MS = 1000
/** The longest that a timer can wait. */
const FOREVER_MS = 2 ** 31 - 1

/** Until when no other process takes over, in the time of `performance.now()`. */
type Trust = { until: number }

export function createLeadership({ clock, log, election, holder = nameOfProcess() }: Parts) {
  const stopping = new AbortController()
  const { signal } = stopping
  const known = Promise.withResolvers<void>()
  const works: LeaderWork[] = []
  let loop: Promise<void> = Promise.resolve()
  let term: Term | undefined
  let leader: Leader | undefined
  let isFailing = false

  /** Undefined if this process cannot lead now. */
  async function elect(): Promise<LeaderLease | undefined> {
    try {
      const result = await election.run(holder)
      if (isFailing) log.info('it is known again which process leads')
      isFailing = false
      if ('term' in result) return result
      follow(result.leader)
    } catch (error) {
      if (!isFailing && !signal.aborted) log.warn({ err: error }, 'it is not known which process leads')
      isFailing = true
    }
    return undefined
  }

  function follow(found: Leader | undefined) {
    if (!found) return
    if (found.term !== leader?.term) log.info(found, 'another process leads')
    leader = found
    known.resolve()
  }

  async function lead(lease: LeaderLease) {
    const over = new AbortController()
    const trust: Trust = { until: lease.renew ? lease.sentTime + TRUST_MS : Number.POSITIVE_INFINITY }
    const isOver = () => over.signal.aborted || performance.now() >= trust.until
    const mine: Term = {
      number: lease.term,
      signal: over.signal,
      isOver,
      async check(tx) {
        if (isOver()) throw new LeadershipLost()
        await lease.check(tx)
      },
    }
    term = mine
    leader = { term: lease.term, holder }
    // Where it cannot be otherwise, it is not worth a line.
    if (lease.renew) log.info(leader, 'this process leads')
    const running = works.map((work) => work(mine))
    known.resolve()
    const why = await renewUntilOver(lease, trust)
    over.abort()
    term = undefined
    if (!signal.aborted) log.warn({ term: lease.term, why }, 'this process does not lead any more')
    await Promise.all(running.map((one) => one.stop().catch(onStopError)))
    await lease.release()
  }

  const onStopError = (error: unknown) => log.error({ err: error }, 'work of the leader could not be stopped')

  /** Resolves to why the term is over. */
  async function renewUntilOver({ lost, renew }: LeaderLease, trust: Trust): Promise<string> {
    const ending = AbortSignal.any([signal, lost])
    const leftMs = () => trust.until - performance.now()
    let isOvertaken = false
    let fault = ''
    async function renewOnce(sentTime: number) {
      try {
        if (await renew?.()) trust.until = sentTime + TRUST_MS
        else isOvertaken = true
      } catch (error) {
        fault = `: ${(error as Error).message}`
      }
    }
    for (;;) {
      await clock.sleep(renew ? Math.min(RENEW_MS, leftMs()) : FOREVER_MS, ending)
      if (lost.aborted) return `its session with the database is over: ${lost.reason.message}`
      if (signal.aborted) return 'it stops'
      if (renew && leftMs() > 0) await settlesWithin(clock, renewOnce(performance.now()), leftMs())
      if (isOvertaken) return 'another process has taken over'
      if (leftMs() <= 0) return `its renewal was not confirmed in time${fault}`
    }
  }

  return {
    /** To be called before the start. */
    lead(work: LeaderWork) {
      works.push(work)
    },

    start() {
      loop = (async () => {
        while (!signal.aborted) {
          const lease = await elect()
          if (lease && !signal.aborted) await lead(lease)
          else await clock.sleep(LOOK_MS, signal)
        }
      })()
    },

    /** Stops the work, and lets another process lead. */
    async stop(graceMs: number) {
      stopping.abort()
      known.resolve()
      await settlesWithin(clock, loop, graceMs)
      await election.close()
    },

    /** Resolves when it is known for the first time which process leads. */
    known: known.promise,

    /** Undefined if another process leads. */
    term: (): Term | undefined => (term?.isOver() ? undefined : term),

    /** As far as this process knows. */
    leader: (): Leader | undefined => leader,
  }
}

export type Leadership = ReturnType<typeof createLeadership>

const nameOfProcess = (): string => `${hostname()} ${process.pid} ${randomToken().slice(0, 12)}`
