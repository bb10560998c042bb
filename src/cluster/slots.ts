/**
 * Slots among the awake apps of an account, by rows: whether there is one is decided in the transaction that takes it, so the
 * processes of a cluster need not agree in another way. What instances use is measured on their nodes, and on record.
 */
import type { Clock } from '../base/index.ts'
import {
  APP_LINES,
  type AwakeApp,
  type AwakeLimits,
  appsToSleep,
  noSlot,
  slotFor,
  totalMemoryBytes,
} from '../runtime/index.ts'
import type { AppLines } from './app-lines.ts'
import type { Change } from './record-changes.ts'
import type { AppRecords } from './records.ts'
import type { AwakeRow } from './rows.ts'

type Parts = {
  clock: Clock
  records: Pick<AppRecords, 'change' | 'awakeOf' | 'eachBytesOf' | 'setAsleep' | 'setReplicas'>
  lines: AppLines
  limits: AwakeLimits
  /** How long a slot is waited for. */
  waitMs: number
}

type Wanted = { deployment: string; environment: string; account: string }

/** One of the instances of an awake app: the first one is the app itself, others sleep before any app does. */
export type AwakeInstance = AwakeApp & { deployment: string; replicas: number; isFirst: boolean }

const POLL_MS = 500

/** As many as it should have: those that are not measured yet count as its others do. */
export function toAwakeInstances({ deployment, environment, replicas, ...app }: AwakeRow): AwakeInstance[] {
  return Array.from({ length: replicas }, (_, at) => ({
    deployment,
    environment,
    replicas,
    memoryBytes: app.eachBytes,
    visitTime: at === 0 ? app.visitTime : 0,
    isRunning: app.ready > at,
    isFirst: at === 0,
  }))
}

/** Whether an account has memory for another instance of an app, beside its awake ones. */
export const fitsBeside = (awake: readonly AwakeApp[], eachBytes: number, { memoryBytes }: AwakeLimits): boolean =>
  memoryBytes === 0 || totalMemoryBytes(awake) + eachBytes <= memoryBytes

export function createAwakeSlots({ clock, records, lines, limits, waitMs }: Parts) {
  /** Those that were put to sleep for it, or why there is no slot now. */
  async function tryOnce<T>({ deployment, environment, account }: Wanted, mayDisplace: boolean, take: Take<T>) {
    return records.change(async (change) => {
      const awake = (await records.awakeOf(account, change.tx)).filter((app) => app.deployment !== deployment)
      const memoryBytes = await records.eachBytesOf(deployment, change.tx)
      const wanted: AwakeApp = { environment, memoryBytes, visitTime: clock.now(), isRunning: false }
      const others = awake.flatMap(toAwakeInstances)
      const displaced = displacedBy(wanted, others, limits)
      if (!Array.isArray(displaced)) return { why: displaced }
      if (displaced.length > 0 && !mayDisplace) return { why: noSlot(others, limits) }
      return { asleep: await putToSleep(change, displaced), taken: await take(change) }
    })
  }

  /** Resolves to the deployments that sleep now; the others have fewer instances. */
  async function putToSleep(change: Change, displaced: readonly AwakeInstance[]): Promise<string[]> {
    const asleep: string[] = []
    for (const [deployment, own] of Map.groupBy(displaced, (one) => one.deployment)) {
      const before = own[0]?.replicas ?? 0
      if (!own.some(({ isFirst }) => isFirst))
        await records.setReplicas(change, deployment, { before, replicas: before - own.length })
      else if (await records.setAsleep(change, deployment, Number.MAX_SAFE_INTEGER)) asleep.push(deployment)
    }
    return asleep
  }

  const sayAsleep = async (deployments: readonly string[]) => {
    for (const deployment of deployments) await lines.sayOf(deployment, 'ASLEEP', APP_LINES.displaced)
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
          await sayAsleep(result.asleep)
          return result.taken
        }
        if (!mayDisplace || waitedMs >= waitMs) throw result.why
        await clock.sleep(POLL_MS, signal)
      }
    },

    /** Whether the account has memory for one more instance of an awake app, in the transaction that adds it. */
    async fits({ account, deployment }: Pick<Wanted, 'account' | 'deployment'>, { tx }: Change): Promise<boolean> {
      if (limits.memoryBytes === 0) return true
      const awake = (await records.awakeOf(account, tx)).flatMap(toAwakeInstances)
      const own = awake.find((one) => one.deployment === deployment)
      return fitsBeside(awake, own?.memoryBytes ?? 0, limits)
    },

    /** Accounts whose awake apps use more memory than they may have some put to sleep. */
    async sleepExcess(term: Parameters<AppRecords['change']>[1]): Promise<void> {
      if (limits.memoryBytes === 0) return
      const accounts = Map.groupBy(await records.awakeOf(undefined), ({ account }) => account)
      for (const [account, awake] of accounts) {
        if (appsToSleep(awake.flatMap(toAwakeInstances), limits).length === 0) continue
        const asleep = await records.change(async (change) => {
          const now = (await records.awakeOf(account, change.tx)).flatMap(toAwakeInstances)
          return putToSleep(change, appsToSleep(now, limits))
        }, term)
        await sayAsleep(asleep)
      }
    },
  }
}

/**
 * The instances that have to sleep so that there is a slot, or why there is none. Where memory is short, further instances sleep
 * before any app; where apps are too many, an app with all of its instances does.
 */
function displacedBy(wanted: AwakeApp, others: readonly AwakeInstance[], limits: AwakeLimits) {
  const displaced: AwakeInstance[] = []
  let left = [...others]
  const firsts = () => left.filter(({ isFirst }) => isFirst)
  for (;;) {
    const forMemory = slotFor(wanted, left, { ...limits, apps: 0 })
    const slot = forMemory === 'free' ? slotFor(wanted, firsts(), { ...limits, memoryBytes: 0 }) : forMemory
    if (slot === 'free') return displaced
    if (slot === 'none') return noSlot(others, limits)
    displaced.push(slot)
    left = left.filter((one) => one !== slot && !(slot.isFirst && one.deployment === slot.deployment))
  }
}

type Take<T> = (change: Change) => Promise<T>
type TakeOptions = { mayDisplace: boolean; signal: AbortSignal }

export type AwakeSlots = ReturnType<typeof createAwakeSlots>
