/**
 * Takes operations and runs their handlers, a bounded number at a time. A handler may run more than once for the same
 * operation (the process can die at any line), so its work must be safe to repeat; its end is recorded exactly once, in the
 * transaction that commits its result.
 */
import { once } from 'node:events'
import { type Clock, type Log, processName, repeat, settlesWithin } from '../base/index.ts'
import { Problem, type resources } from '../contract/index.ts'
import {
  doneWithDatabase,
  isDatabaseAway,
  type Reader,
  type Sql,
  type Transaction,
  toStorageProblem,
} from '../storage/index.ts'
import { doing } from '../watchdog/index.ts'
import { type Claim, createClaims, LEASE_MS } from './claim.ts'
import type { Operations } from './operations.ts'
import { type Ending, type HandedOn, type OperationRecord, QUEUES, type Queue } from './types.ts'

/** The last part of a handler's work, run in the transaction that records the end. */
export type Finish = (tx: Transaction) => Promise<Ending>
/** The same, or how the operation is handed on if the handler did not begin. */
type FinishOrHandOn = (tx: Transaction) => Promise<Ending | HandedOn>

/**
 * Does the work and returns how to finish. When the signal is aborted with a Problem as its reason, the work was
 * cancelled: the handler undoes what should not stay, and finishes with that Problem or with success if it was too late.
 */
export type Handler = (operation: OperationRecord, work: Work) => Promise<FinishOrHandOn>

export type Work = {
  signal: AbortSignal
  /** The queue that it waited in. */
  queue: Queue
  /** Records the phase for clients that follow the operation. */
  enter(phase: resources.Phase): Promise<void>
}

export const isCancelled = ({ signal }: Work): boolean =>
  signal.reason instanceof Problem && signal.reason.reason === 'OPERATION_CANCELLED'

/** The operation as it was when the worker claimed it, and how it ended. */
export type OnEnd = (tx: Transaction, operation: OperationRecord, ending: Ending) => Promise<void>

/** A purge is done when it is recorded, and never waits for a worker. */
export type Handlers = Record<Exclude<resources.Trigger, 'PURGE_CACHE'>, Handler>

/** An operation that was tried this often without an end most likely kills the process each time. */
export const MAX_ATTEMPTS = 5

/** How often to poll for work that another process requested, and for the cancellation of running operations. */
const POLL_MS = 1000

class LeaseLost extends Error {}

type Parts = {
  sql: Sql
  clock: Clock
  log: Log
  operations: Operations
  handlers: Handlers
  /** How many operations of each queue run at a time. */
  concurrency: Record<Queue, number>
  /** How many of them may be of one account; never all of them if there are other accounts. */
  perAccount?: Partial<Record<Queue, number>>
  /** No operation is claimed before. At once where it is not given. */
  mayBegin?: Promise<void>
  /** Whether the service has more than one account. */
  hasSeveralAccounts(reader: Reader): Promise<boolean>
  /** Part of the transaction that records an end. If it fails, the end is recorded without it. */
  onEnd?: OnEnd
}

/** What is told of an end failed, and the end itself did not. */
class NotTold extends Error {}

export function startWorker(parts: Parts) {
  const { sql, clock, log, operations, handlers, concurrency, perAccount, hasSeveralAccounts, mayBegin } = parts
  const owner = processName()
  const claims = createClaims({
    sql,
    clock,
    owner,
    concurrency,
    hasSeveralAccounts,
    ...(perAccount ? { perAccount } : {}),
  })
  const stopping = new AbortController()
  const running = new Map<string, { queue: Queue; done: Promise<void> }>()
  let alarm = new AbortController()
  let isLeaving = false

  const forget = operations.onRequested(() => alarm.abort())
  const loop = look()

  const runningIn = (queue: Queue) => [...running.values()].filter((one) => one.queue === queue).length

  async function look() {
    await Promise.race([mayBegin, once(stopping.signal, 'abort')])
    await claims
      .releaseDead()
      .catch((error) => log.error({ err: error }, 'cannot look for operations of dead processes'))
    while (!stopping.signal.aborted) {
      alarm = new AbortController()
      const found = await claimNext()
      if (!found) await clock.sleep(POLL_MS, AbortSignal.any([alarm.signal, stopping.signal]))
    }
  }

  async function claimNext(): Promise<boolean> {
    const queues = isLeaving ? [] : QUEUES.filter((queue) => runningIn(queue) < concurrency[queue])
    if (queues.length === 0) return false
    try {
      const claim = (await claims.isAnyWaiting(queues)) ? await claims.next(queues, [...running.keys()]) : undefined
      if (!claim) return false
      const { id } = claim.operation
      const done = run(claim).finally(() => {
        running.delete(id)
        alarm.abort()
      })
      running.set(id, { queue: claim.queue, done })
      return true
    } catch (error) {
      // The database does not answer. An operation that was claimed is found again when its lease runs out.
      log.error({ err: error }, 'cannot look for work')
      return false
    }
  }

  async function run({ operation, attempt, isCancelled, queue }: Claim) {
    const { id } = operation
    const work = new AbortController()
    if (isCancelled) work.abort(new Problem('OPERATION_CANCELLED'))
    const lease = keepLease(id, work)
    try {
      const signal = AbortSignal.any([work.signal, stopping.signal])
      const finish = await decide(operation, attempt, { signal, queue })
      await lease.stop()
      if (await record(operation, finish)) operations.ended(id)
    } catch (error) {
      if (error instanceof LeaseLost) log.warn({ operation: id }, 'another worker took this operation over')
      else if (stopping.signal.aborted) await claims.handBack(id)
      else if (isDatabaseAway(error)) await handBackLater(id)
      // Without an end it is tried again when the lease runs out, and ended as abandoned after a few attempts.
      else log.error({ err: error, operation: id, attempt }, 'an operation could not be ended')
    } finally {
      await lease.stop()
    }
  }

  /** Resolves to whether the operation is over. */
  async function record(operation: OperationRecord, finish: FinishOrHandOn, { isTold = true } = {}): Promise<boolean> {
    const { id } = operation
    const isWanted = isTold && parts.onEnd !== undefined
    try {
      return await sql.transaction(async (tx) => {
        const ending = await finish(tx)
        const isEnd = 'response' in ending || 'error' in ending
        const isRecorded = isEnd
          ? await operations.end(tx, id, owner, ending)
          : await operations.handOn(tx, id, owner, ending)
        // The rollback undoes what `finish` wrote as well.
        if (!isRecorded) throw new LeaseLost()
        if (isEnd && isWanted) await tell(tx, operation, ending)
        return isEnd
      })
    } catch (error) {
      if (!(error instanceof NotTold)) throw error
      log.error({ err: error.cause, operation: id }, 'what is told of an end could not be recorded')
      return record(operation, finish, { isTold: false })
    }
  }

  /** A fault of the database is that of the transaction, which may be repeated by it. */
  async function tell(tx: Transaction, operation: OperationRecord, ending: Ending) {
    try {
      await parts.onEnd?.(tx, operation, ending)
    } catch (error) {
      throw isDatabaseAway(error) ? error : new NotTold('the end is recorded without it', { cause: error })
    }
  }

  /** The database was lost while it ran: it is no fault of the operation, which begins again when the database is back. */
  async function handBackLater(id: string) {
    log.warn({ operation: id }, 'the database was lost during this operation, which will begin again')
    await doneWithDatabase({ clock, signal: stopping.signal }, () => claims.handBack(id))
  }

  async function decide(
    operation: OperationRecord,
    attempt: number,
    work: Omit<Work, 'enter'>,
  ): Promise<FinishOrHandOn> {
    if (attempt > MAX_ATTEMPTS) return async () => ({ error: new Problem('OPERATION_ABANDONED') })
    try {
      const { id, trigger } = operation
      const enter = (phase: resources.Phase) => {
        doing(`operation ${id}, ${trigger}, ${phase}`)
        return operations.setPhase(id, owner, phase)
      }
      doing(`operation ${id}, ${trigger}`)
      return await handlers[trigger as keyof Handlers](operation, { ...work, enter })
    } catch (error) {
      if (stopping.signal.aborted || isDatabaseAway(error)) throw error
      if (!(error instanceof Problem)) log.error({ err: error, operation: operation.id, attempt }, 'a handler failed')
      const problem = error instanceof Problem ? error : toStorageProblem(error)
      return async () => ({ error: problem ?? new Problem('INTERNAL', undefined, { cause: error }) })
    }
  }

  /** Renews the lease until it is stopped, and aborts the work when the operation is cancelled or taken over. */
  function keepLease(id: string, work: AbortController) {
    let renewTime = clock.now()
    return repeat(clock, POLL_MS, async () => {
      try {
        // Also when the clock was set back: other processes ignore a lease that seems to last for hours.
        const isDue = clock.now() >= renewTime + LEASE_MS / 3 || clock.now() < renewTime
        const lease = isDue ? await claims.renew(id) : await claims.look(id)
        if (isDue) renewTime = clock.now()
        if (lease === 'cancelled') work.abort(new Problem('OPERATION_CANCELLED'))
        if (lease === 'lost') work.abort(new Problem('INTERNAL', 'The lease on the operation was lost.'))
      } catch (error) {
        log.error({ err: error, operation: id }, 'the lease on this operation could not be read')
      }
    })
  }

  return {
    /** Takes no more work; running operations may end within the grace period, then they are aborted and handed back. */
    async stop(graceMs: number) {
      forget()
      // From here on nothing is claimed, but running operations may still finish.
      isLeaving = true
      const settled = Promise.all([...running.values()].map(({ done }) => done))
      alarm.abort()
      await settlesWithin(clock, settled, graceMs)
      stopping.abort(new Problem('STOPPING'))
      await Promise.all([loop, settled])
    },
    runningCount: () => running.size,
  }
}

export type Worker = ReturnType<typeof startWorker>
