/**
 * Slots among the awake apps of an account, by rows: whether there is one is decided in the transaction that takes it, so the
 * processes of a cluster need not agree in another way. What apps use is not measured in a cluster: the limit of their number
 * counts alone.
 */
import type { Clock } from '../base/index.ts'
import { APP_LINES, type AwakeApp, type AwakeLimits, noSlot, slotFor } from '../runtime/index.ts'
import type { AppLines } from './app-lines.ts'
import type { Change } from './record-changes.ts'
import type { AppRecords } from './records.ts'

type Parts = {
  clock: Clock
  records: Pick<AppRecords, 'change' | 'awakeOf' | 'setAsleep'>
  lines: AppLines
  limits: AwakeLimits
  /** How long a slot is waited for. */
  waitMs: number
}

type Wanted = { deployment: string; environment: string; account: string }

const POLL_MS = 500

export function createAwakeSlots({ clock, records, lines, limits, waitMs }: Parts) {
  /** The app that was put to sleep for it; null where none was; or why there is no slot now. */
  async function tryOnce<T>({ deployment, environment, account }: Wanted, mayDisplace: boolean, take: Take<T>) {
    return records.change(async (change) => {
      const awake = (await records.awakeOf(account, change.tx)).filter((app) => app.deployment !== deployment)
      const others = awake.map((app) => ({
        deployment: app.deployment,
        environment: app.environment,
        memoryBytes: 0,
        visitTime: app.visitTime,
        isRunning: app.ready > 0,
      }))
      const wanted: AwakeApp = { environment, memoryBytes: 0, visitTime: clock.now(), isRunning: false }
      const slot = slotFor(wanted, others, limits)
      if (slot === 'none' || (slot !== 'free' && !mayDisplace)) return { why: noSlot(others, limits) }
      const displaced = slot === 'free' ? null : slot.deployment
      if (displaced !== null) await records.setAsleep(change, displaced, Number.MAX_SAFE_INTEGER)
      return { displaced, taken: await take(change) }
    })
  }

  return {
    /**
     * Calls `take` in the transaction in which there is a slot. Only for a deploy or a visitor may another app be put to sleep.
     * Rejects where there is none in time.
     */
    async take<T>(wanted: Wanted, { mayDisplace, signal }: TakeOptions, take: Take<T>): Promise<T> {
      for (let waitedMs = 0; ; waitedMs += POLL_MS) {
        signal.throwIfAborted()
        const result = await tryOnce(wanted, mayDisplace, take)
        if (!('why' in result)) {
          if (result.displaced !== null) await lines.sayOf(result.displaced, 'ASLEEP', APP_LINES.displaced)
          return result.taken
        }
        if (!mayDisplace || waitedMs >= waitMs) throw result.why
        await clock.sleep(POLL_MS, signal)
      }
    },
  }
}

type Take<T> = (change: Change) => Promise<T>
type TakeOptions = { mayDisplace: boolean; signal: AbortSignal }

export type AwakeSlots = ReturnType<typeof createAwakeSlots>
