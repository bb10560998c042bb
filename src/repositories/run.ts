/**
 * Looks for repositories that are due. Every process that runs programs of tenants does it: the lease on a repository's row makes
 * sure that one of them at a time works for an environment.
 */
import { type Clock, type Log, settlesWithin } from '../base/index.ts'
import { ClaimLost } from './claims.ts'
import type { RepositoryRecords } from './records.ts'
import type { Claim } from './rows.ts'

type Parts = {
  clock: Clock
  log: Log
  records: RepositoryRecords
  /** Does what was claimed, and ends the claim. */
  work(claim: Claim, signal: AbortSignal): Promise<void>
}

/** Another process may have asked, so each looks at least this often. */
const LOOK_MS = 2000
const LEASE_MS = 60_000
const RENEW_MS = 15_000
/** Fetches of one process at a time. */
const AT_ONCE = 2

export function createFetchRuns(parts: Parts) {
  const { clock, log, records, work } = parts

  /** Works on one that is due. False if none is, or if it could not be done. */
  async function runOne(stopping: AbortSignal): Promise<boolean> {
    const claim = await records.claim(clock.now(), clock.now() + LEASE_MS)
    if (!claim) return false
    const over = new AbortController()
    const signal = AbortSignal.any([stopping, over.signal])
    const renewing = keep(claim, over)
    try {
      await work(claim, signal)
    } catch (error) {
      if (!(error instanceof ClaimLost) && !signal.aborted)
        log.error({ err: error, environment: claim.repository.environmentId }, 'a repository could not be fetched')
      await records.giveUp(claim).catch(() => undefined)
      return false
    } finally {
      over.abort()
      await renewing
    }
    return true
  }

  /** Renews the lease until it is over; ends the work if it is lost. */
  async function keep(claim: Claim, over: AbortController) {
    const { signal } = over
    while (!signal.aborted) {
      await clock.sleep(RENEW_MS, signal)
      if (signal.aborted) return
      const isKept = await records.renew(claim, clock.now() + LEASE_MS).catch(() => true)
      if (!isKept) over.abort(new ClaimLost())
    }
  }

  const stopping = new AbortController()
  let done: Promise<unknown> = Promise.resolve()
  /** Those that wait for the next look. */
  const waiting = new Set<AbortController>()

  return {
    runOne,

    /** Something is due: the next look is now. */
    announce() {
      for (const one of waiting) one.abort()
    },

    start() {
      if (!stopping.signal.aborted) done = Promise.all(Array.from({ length: AT_ONCE }, look))
    },

    /** What is under way is given up, and is due again at once. */
    async stop(graceMs: number) {
      stopping.abort()
      await settlesWithin(clock, done, graceMs)
    },
  }

  async function look() {
    const { signal } = stopping
    while (!signal.aborted) {
      const isDone = await runOne(signal).catch((error) => {
        if (!signal.aborted) log.error({ err: error }, 'cannot look for repositories that are due')
        return false
      })
      if (isDone || signal.aborted) continue
      const woken = new AbortController()
      waiting.add(woken)
      await clock.sleep(LOOK_MS, AbortSignal.any([signal, woken.signal]))
      waiting.delete(woken)
    }
  }
}

export type FetchRuns = ReturnType<typeof createFetchRuns>
