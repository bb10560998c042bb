/**
 * Retention in rounds: at the start and every hour deployments are discarded, unused files are removed and folders are
 * measured, and after each switch the same is done for its environment. One task runs at a time, so that the disk stays free
 * for visitors and builds. A fault is logged, and the next round tries again.
 *
 * Every process has rounds, for its own disk. In those of the leader, rows go too and what is in shared stores; a process that
 * becomes the leader begins one at once. After a switch, the process that made it does the whole: no other works on the
 * environment then, and what it discards is decided in the transaction that discards it.
 */
import type { Environments } from '../apps/index.ts'
import { type Clock, type Log, type Repetition, repeat, settlesWithin } from '../base/index.ts'
import type { BuildRetention, Outputs } from '../builds/index.ts'
import { type Ballast, createCurrentTerm, LeadershipLost, type Term } from '../storage/index.ts'
import { doing } from '../watchdog/index.ts'
import type { Collect } from './collect.ts'
import type { Ages, Figures } from './figures.ts'
import type { Forget } from './history.ts'
import type { Retain } from './retain.ts'

type Parts = {
  clock: Clock
  ballast: Ballast
  freeBytes(): Promise<number>
  log: Log
  environments: Pick<Environments, 'all'>
  buildRetention: Pick<BuildRetention, 'unmeasuredOutputs' | 'measuredOutput'>
  outputs: Pick<Outputs, 'sizeOf'>
  retain: Retain
  forget: Forget
  collect: Collect
  figures: Pick<Figures, 'measure'>
  /** Removes files of earlier deployments whose time is over. */
  tendEarlierFiles(environmentId: string): Promise<void>
}

export const ROUND_MS = 60 * 60_000
/** The shortest time between two rounds, however often a request is refused for lack of space. */
export const SOONEST_MS = 60_000

/** Ballast that was thrown out is loaded again when its size is free this many times. */
const FREE_PER_BALLAST = 4
export const BALLAST_MS = 5000

/** A task may be cut off at any line: what is left of it changes nothing that matters, as its term is over. */
const STOP_MS = 2000

/** What is discarded, by whom: the leader in its term, or the process that made a switch. */
type By = Term | 'switch' | undefined

const AFTER_SWITCH: Ages = { CACHES: 0, LOGS: 0, RUNS: 0, EARLIER: 0 }
const IN_PASSING: Ages = { CACHES: 24 * 60 * 60_000, LOGS: ROUND_MS / 2, RUNS: ROUND_MS / 2, EARLIER: ROUND_MS / 2 }

export function createRounds(parts: Parts) {
  const { clock, log, environments, buildRetention, outputs, retain, forget, collect, figures, ballast } = parts
  const stopping = new AbortController()
  const { signal } = stopping
  const currentTerm = createCurrentTerm()
  let work: Promise<void> = Promise.resolve()
  let alarm = new AbortController()
  let lastRound = Number.NEGATIVE_INFINITY
  let rounds: Promise<void> | undefined
  let ballastLoads: Repetition | undefined
  let discarding: Promise<void> = Promise.resolve()

  async function attempt(what: string, task: () => Promise<void>) {
    if (signal.aborted) return
    doing(`retention, ${what}`)
    await task().catch((error) => {
      if (!signal.aborted && !(error instanceof LeadershipLost))
        log.error({ err: error, what }, 'a retention task failed; the next ones go on')
    })
  }

  /** Runs the task after all earlier ones. Never rejects. */
  function enqueue(what: string, task: () => Promise<void>): Promise<void> {
    work = work.then(() => attempt(what, task))
    return work
  }

  async function discardRows(environmentId: string, term: Term | undefined) {
    const { discard } = await retain(environmentId, term)
    if (discard.length > 0) log.info({ environment: environmentId, discard }, 'deployments were discarded')
    const forgotten = await forget(environmentId, term)
    if (forgotten > 0) log.info({ environment: environmentId, rows: forgotten }, 'old history was removed')
  }

  async function tend(environmentId: string, ages: Ages, by: By) {
    if (by) {
      discarding = discardRows(environmentId, by === 'switch' ? undefined : by)
      await discarding
    }
    await parts.tendEarlierFiles(environmentId)
    await figures.measure(environmentId, ages)
  }

  async function round() {
    lastRound = clock.now()
    // The collection comes first, as it writes no rows: on a full disk that may be all that is possible.
    const removed = await collect(signal, currentTerm.get())
    if (Object.keys(removed).length > 0) log.info({ removed }, 'unused files were removed')
    for (const { id } of await environments.all())
      await attempt(`environment ${id}`, () => tend(id, IN_PASSING, currentTerm.get()))
    for (const digest of await buildRetention.unmeasuredOutputs())
      await attempt(digest, async () => buildRetention.measuredOutput(digest, await outputs.sizeOf(digest)))
  }

  async function loadBallast() {
    if ((await parts.freeBytes()) > FREE_PER_BALLAST * ballast.bytes) await ballast.load()
  }

  async function loopRounds(after: Promise<void> | undefined) {
    if (after) await after
    while (!signal.aborted) {
      alarm = new AbortController()
      await enqueue('round', round)
      await clock.sleep(ROUND_MS, AbortSignal.any([alarm.signal, signal]))
    }
  }

  return {
    /** `after`: when the first round begins, if not at once. */
    start(after?: Promise<void>) {
      rounds = loopRounds(after)
      ballastLoads = repeat(clock, BALLAST_MS, () => attempt('ballast', loadBallast), { isImmediate: true })
    },

    /** This process leads from now on, until the stop. */
    lead(term: Term): { stop(): Promise<unknown> } {
      currentTerm.begin(term)
      alarm.abort()
      return {
        stop() {
          currentTerm.end()
          // Collections look at the term before each removal. A fault is reported by the task.
          return settlesWithin(
            clock,
            discarding.catch(() => undefined),
            STOP_MS,
          )
        },
      }
    },

    /** To be called when a deployment is live. */
    switched(environmentId: string) {
      enqueue(`environment ${environmentId}`, () => tend(environmentId, AFTER_SWITCH, 'switch'))
    },

    /** Called when space is short: the next round begins now, unless the last one was just before. */
    hurry() {
      if (clock.now() - lastRound >= SOONEST_MS) alarm.abort()
    },

    /** Resolves when all queued tasks are done. */
    settled: (): Promise<void> => work,

    /** A task may be cut off at any line, so the stop does not wait longer than the grace period. */
    async stop(graceMs: number) {
      stopping.abort()
      await settlesWithin(clock, Promise.all([rounds, ballastLoads?.stop(), work]), graceMs)
    },
  }
}

export type Rounds = ReturnType<typeof createRounds>
