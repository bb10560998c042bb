/**
 * The leader sends what is due. Of one target one delivery is under way at a time, so that notices keep their order as far as they
 * can, and of one account a few, so that one with many slow receivers does not hold up the others.
 */
import type { Accounts } from '../accounts/index.ts'
import type { Clock, Log } from '../base/index.ts'
import type { Claimed, Outbox, Outcome, TargetRecord, TargetRecords } from '../notices/index.ts'
import { LeadershipLost, type Sql, type Term } from '../storage/index.ts'
import { MAX_TRIES, pauseAfter } from './backoff.ts'
import { type Message, wholeLink } from './formats/message.ts'
import type { Result } from './senders/result.ts'
import type { Send } from './senders/send.ts'

type Parts = {
  sql: Sql
  clock: Clock
  log: Log
  accounts: Pick<Accounts, 'requireById'>
  targets: TargetRecords
  outbox: Outbox
  send: Send
  /** That of this process as the leader. */
  term: Pick<Term, 'check'>
  publicUrl(): string
  random?(): number
}

/** Another control process may have recorded a notice, so the leader looks at least this often. */
const LOOK_MS = 2000
/** After which a delivery whose result could not be written is sent again. Longer than one try can take. */
const LEASE_MS = 120_000
const AT_ONCE = 16
const OF_ACCOUNT = 4
const FORGET_EVERY_MS = 60 * 60_000

export function createDeliveries(parts: Parts) {
  const { sql, clock, log, accounts, targets, outbox, send, term, publicUrl, random = Math.random } = parts
  const running = new Map<string, { accountId: string; done: Promise<void> }>()
  const stopping = new AbortController()
  const { signal } = stopping
  let forgetTime = 0
  let isReleased = false

  const runningOf = (account: string) => [...running.values()].filter(({ accountId }) => accountId === account).length

  /** Starts what is due, as far as there are places. */
  async function fill(): Promise<void> {
    const due = (await outbox.due()).filter(({ targetId }) => !running.has(targetId))
    while (running.size < AT_ONCE && !signal.aborted) {
      const open = due.filter(({ accountId }) => runningOf(accountId) < OF_ACCOUNT)
      const next = open.reduce<(typeof due)[number] | undefined>(
        (best, one) => (best && runningOf(best.accountId) <= runningOf(one.accountId) ? best : one),
        undefined,
      )
      if (!next) return
      due.splice(due.indexOf(next), 1)
      const done = attempt(next).finally(() => running.delete(next.targetId))
      running.set(next.targetId, { accountId: next.accountId, done })
    }
  }

  /** One that cannot be settled, as the database is away, is sent again when its lease is over. */
  async function attempt(due: Awaited<ReturnType<Outbox['due']>>[number]): Promise<void> {
    try {
      const claimed = await outbox.claim(due, { term, leaseMs: LEASE_MS })
      if (claimed) await deliver(claimed)
    } catch (error) {
      if (error instanceof LeadershipLost) return
      log.error({ err: error, delivery: due.id }, 'a notice could not be sent')
    }
  }

  async function deliver(claimed: Claimed): Promise<void> {
    const target = await targets.find(sql, claimed.accountId, claimed.targetId)
    // Deleted or switched off in the meantime, with its deliveries.
    if (!target?.isEnabled) return
    if (claimed.attempts > MAX_TRIES)
      return settle(claimed, target, { isDelivered: false, error: 'It was tried too often.' })
    const account = await accounts.requireById(sql, claimed.accountId)
    const result = await send(target, toMessage(claimed, account.name, publicUrl()), signal)
    await settle(claimed, target, result)
  }

  async function settle(claimed: Claimed, target: TargetRecord, result: Result): Promise<void> {
    const outcome = outcomeOf(result, claimed.attempts)
    if (outcome.state === 'FAILED') {
      log.warn(
        { delivery: claimed.id, target: target.id, status: result.status, why: result.error },
        'a notice was not delivered',
      )
    }
    await sql.transaction(async (tx) => {
      const isInTime = await outbox.settle(tx, claimed, outcome)
      if (isInTime && result.isGone) await targets.disable(tx, target, 'GONE', clock.now())
    })
  }

  function outcomeOf(result: Result, attempts: number): Outcome {
    const { isDelivered, mayPass, pauseMs, isPostponed, status, error } = result
    const seen = { ...(status === undefined ? {} : { status }), ...(error === undefined ? {} : { error }) }
    if (isDelivered) return { state: 'DELIVERED', ...seen }
    // This process stops: another one sends it at once.
    if (signal.aborted) return { state: 'WAITING', nextTime: clock.now(), isTry: false }
    if (isPostponed) return { state: 'WAITING', nextTime: clock.now() + (pauseMs ?? 0), isTry: false, ...seen }
    const pause = mayPass ? pauseAfter(attempts, random(), pauseMs) : undefined
    return pause === undefined
      ? { state: 'FAILED', ...seen }
      : { state: 'WAITING', nextTime: clock.now() + pause, ...seen }
  }

  /** Once in a term: no other process leads, so what is claimed is not under way any more. */
  async function release(): Promise<void> {
    if (isReleased) return
    await outbox.release(term)
    isReleased = true
  }

  async function forget(): Promise<void> {
    if (clock.now() < forgetTime) return
    forgetTime = clock.now() + FORGET_EVERY_MS
    await outbox.forgetOld(term)
  }

  const untilOneEnds = () => Promise.race([...running.values()].map(({ done }) => done))

  async function pauseMs(): Promise<number> {
    const next = (await outbox.nextTime()) ?? Number.POSITIVE_INFINITY
    return Math.min(Math.max(next - clock.now(), MIN_PAUSE_MS), LOOK_MS)
  }

  return {
    /** Sends what is due, and waits until that is done. */
    async round(): Promise<void> {
      await release()
      await fill()
      await Promise.all([...running.values()].map(({ done }) => done))
    },

    forget,

    /** Looks for as long as this process leads. */
    start() {
      const done = (async () => {
        while (!signal.aborted) {
          const ms = await release()
            .then(fill)
            .then(forget)
            .then(pauseMs)
            .catch((error) => {
              if (!(error instanceof LeadershipLost)) log.error({ err: error }, 'cannot look for notices to send')
              return LOOK_MS
            })
          const slept = clock.sleep(ms, signal)
          await (running.size > 0 ? Promise.race([slept, untilOneEnds()]) : slept)
        }
        await Promise.all([...running.values()].map((one) => one.done))
      })()
      return {
        stop() {
          stopping.abort()
          return done
        },
      }
    },
  }
}

/** What is due and cannot be started must not be looked for without a pause. */
const MIN_PAUSE_MS = 200

export function toMessage({ id, notice }: Pick<Claimed, 'id' | 'notice'>, account: string, publicUrl: string): Message {
  const { kind, appName, environmentId, resource, title, text, link, createTime } = notice
  return {
    id,
    kind,
    account,
    app: appName,
    environment: environmentId,
    resource,
    title,
    text,
    link: wholeLink(link, publicUrl),
    time: createTime,
  }
}
