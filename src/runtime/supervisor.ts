/**
 * Keeps the instances of live deployments running. Each is named by a key: the id of its deployment, and a number after the
 * first one. The states of an instance:
 *
 *   STARTING    started, does not answer yet
 *   RUNNING     answers
 *   RESTARTING  crashed; started again after a pause that grows
 *   CRASH_LOOP  crashed several times in a row; still retried, with long pauses
 *   ASLEEP      frozen or stopped for want of visitors, or of a slot among the awake apps of its account; the next visitor
 *               wakes it: a frozen one goes on where it was. One that is frozen is stopped when its memory is needed
 *
 * STARTING → RUNNING → RESTARTING → RUNNING …; RESTARTING → CRASH_LOOP after a few crashes in a row; RUNNING → ASLEEP →
 * STARTING; STARTING → RESTARTING when one that was live before does not come up; STARTING or RESTARTING → ASLEEP when there is
 * no slot for it; out of every state by `retire`. The process of the state before may still be there, draining, while it is
 * ASLEEP or already STARTING again.
 */
import { settlesWithin } from '../base/index.ts'
import { shortId } from '../contract/index.ts'
import { NO_AWAKE_LIMITS } from './awake-slots.ts'
import { carryOn, type Successor } from './carry.ts'
import {
  type Drain,
  endProcesses,
  keyOf,
  newEntry,
  type Running,
  type StopOptions,
  type SupervisedDeployment,
  stopInstances,
  toAwakeApp,
} from './entries.ts'
import { NO_FROZEN_APPS } from './frozen-apps.ts'
import { writeExpiries } from './hooks.ts'
import type { Instance, InstanceSpec } from './instance.ts'
import { createLifecycle, type LifecycleParts } from './lifecycle.ts'
import { APP_LINES } from './log-lines.ts'
import { createUsage } from './usage.ts'

export { deploymentOf, keyOf, type Running } from './entries.ts'

export function createSupervisor(parts: LifecycleParts) {
  const { engine, clock, log, awakeLimits = NO_AWAKE_LIMITS, frozenLimits = NO_FROZEN_APPS } = parts
  const entries = new Map<string, SupervisedDeployment>()
  /** Retired, and not gone yet. */
  const leaving = new Map<SupervisedDeployment, Promise<void>>()

  /** Those of an account that have a process, be it one that still drains, or are about to have one. */
  const awakeOf = (account: string) =>
    [...entries.values()]
      .filter(({ spec, isComing, instances }) => spec.owner.account === account && (isComing || instances.size > 0))
      .map(toAwakeApp)

  const usage = createUsage({ clock, entries, awakeOf, awakeLimits, frozenLimits })
  const { become, changed, launch, hold, bringUp, sleep, release, onChange, drainBy } = createLifecycle(parts, awakeOf)

  function enter(spec: InstanceSpec): SupervisedDeployment {
    const entry = newEntry(spec, clock.now())
    entries.set(keyOf(spec), entry)
    return entry
  }

  return {
    /**
     * Sets the one listener that is called whenever a deployment's state has changed, it was retired, or its process is gone.
     */
    onChange,

    /**
     * Starts a deployment beside whatever runs; resolves when it answers, rejects with why it does not. From here on the
     * log of the spec is the supervisor's to close.
     */
    async start(spec: InstanceSpec, signal: AbortSignal): Promise<void> {
      const key = keyOf(spec)
      for (let known = entries.get(key); known; known = entries.get(key)) {
        if (known.state === 'RUNNING') return await spec.log.close()
        await this.retire(key)
      }
      const entry = enter(spec)
      become(entry, 'STARTING')
      const launching = launch(entry, AbortSignal.any([signal, entry.retiring.signal]), { mayDisplace: true })
      entry.starting = launching.catch(() => undefined)
      try {
        await launching
      } catch (error) {
        if (entries.get(key) === entry) {
          spec.log.say('ENDED', `Deployment ${shortId(spec.deployment)} did not come up.`)
          await this.retire(key)
        }
        throw error
      }
    },

    /**
     * Gives a deployment what another one of the same build has written while it ran, before it is started. False where that
     * was not possible.
     */
    carry: (from: { runFolder: string }, spec: Successor, signal: AbortSignal): Promise<boolean> =>
      engine.isIsolating ? carryOn(engine, from.runFolder, spec, signal) : Promise.resolve(true),

    /** When this resolves, every process of an environment can read what was revalidated there. */
    async refreshExpiries(environment: string) {
      const specs = [...entries.values(), ...leaving.keys()].map(({ spec }) => spec)
      const ours = specs.filter(({ owner }) => owner.environment === environment)
      await Promise.all(
        ours.map(({ runFolder, expiries }) => (expiries ? writeExpiries(runFolder, expiries) : undefined)),
      )
    },

    /** Takes over a deployment that was live before a restart of the service. It sleeps until it is woken or warmed up. */
    adopt(spec: InstanceSpec) {
      become(enter(spec), 'ASLEEP')
    },

    /** Takes over an instance that answers, whose process another supervisor has started. */
    takeOver(
      spec: InstanceSpec,
      instance: Instance,
      { restarts, unvisitedMs }: Pick<HandedOver, 'restarts' | 'unvisitedMs'>,
    ) {
      const entry = enter(spec)
      entry.restarts = restarts
      entry.visitTime = clock.now() - unvisitedMs
      hold(entry, instance)
      become(entry, 'RUNNING')
    },

    /**
     * Returns everything that is kept running here, for another supervisor. From now on nothing is started here, and the
     * processes that run go on until they are told to stop. Those that drain have ended before, if they do so in time. Those
     * that are frozen end, so that this supervisor ends with the last one that runs.
     */
    async handOver(drainMs: number): Promise<HandedOver[]> {
      await settlesWithin(clock, Promise.allSettled(leaving.values()), drainMs)
      for (const { retiring } of entries.values()) retiring.abort(new Error('another agent has taken over'))
      await Promise.all([...entries.values()].map(({ starting }) => starting))
      for (const entry of entries.values()) {
        release(entry).catch((error) => log.error({ err: error }, 'a frozen app could not be ended'))
      }
      return [...entries.values()].map(({ spec, instance, restarts, visitTime }) => ({
        spec,
        instance,
        restarts,
        unvisitedMs: clock.now() - visitTime,
      }))
    },

    /**
     * Starts a deployment that sleeps before it has a visitor, without putting another app to sleep for it. Resolves when the
     * start has succeeded or failed; a failed one is retried in the background.
     */
    async warmUp(key: string) {
      const entry = entries.get(key)
      if (entry?.state !== 'ASLEEP') return
      become(entry, 'STARTING')
      bringUp(entry, 0, { mayDisplace: false })
      await entry.starting
    },

    /** Sets how requests in flight are drained before an app sleeps. */
    drainBy,

    /** Freezes or stops the process until the next visitor, when requests in flight have ended. */
    async sleep(key: string, drain?: Drain) {
      const entry = entries.get(key)
      if (entry) await sleep(entry, APP_LINES.idle, drain ? { drain } : {})
    },

    /** Stops the process until the next visitor, be it frozen already. */
    async release(key: string) {
      const entry = entries.get(key)
      if (entry?.frozen) await release(entry)
      else if (entry) await sleep(entry, APP_LINES.displaced, { mayFreeze: false })
    },

    /** Records a visit. For apps that were never visited, the time counts from their start. */
    visited(key: string) {
      const entry = entries.get(key)
      if (entry) entry.visitTime = clock.now()
    },
    /** The time since the last visit. */
    unvisitedMs: (key: string): number => clock.now() - (entries.get(key)?.visitTime ?? clock.now()),

    ...usage,

    wake(key: string) {
      const entry = entries.get(key)
      if (entry?.state !== 'ASLEEP') return
      entry.visitTime = clock.now()
      become(entry, 'STARTING')
      bringUp(entry, 0, { mayDisplace: true })
    },

    of: (key: string): Running | undefined => entries.get(key),
    all: (): string[] => [...entries.keys()],
    /** Where the folders are that an instance writes to. */
    folderOf: (key: string): string | undefined => entries.get(key)?.spec.runFolder,
    /** Whether it was retired, and its process still drains. */
    isLeaving: (key: string): boolean => [...leaving.keys()].some(({ spec }) => keyOf(spec) === key),
    leaving: (): string[] => [...leaving.keys()].map(({ spec }) => keyOf(spec)),

    /**
     * Ends a deployment's process for good; resolves when it is gone. The deployment is removed from the table at once: one
     * that is started again meanwhile gets a process of its own, beside the one that ends.
     */
    async retire(key: string, options: StopOptions = {}) {
      const entry = entries.get(key)
      if (entry) {
        entries.delete(key)
        const ended = endProcesses(entry, options).finally(() => {
          leaving.delete(entry)
          changed(key)
        })
        leaving.set(entry, ended)
        changed(key)
      }
      await Promise.all([...leaving].flatMap(([{ spec }, ended]) => (keyOf(spec) === key ? ended : [])))
    },

    /** Ends all processes within this grace period, also those that `retire` gave a longer one. */
    async stop(graceMs: number) {
      const late = [...leaving.keys()].map((entry) => stopInstances(entry, graceMs))
      const retired = [...entries.keys()].map((key) => this.retire(key, { graceMs }))
      await Promise.all([...late, ...retired, ...leaving.values()])
    },
  }
}

/** `instance`: undefined while none answers. */
export type HandedOver = {
  spec: InstanceSpec
  instance: Instance | undefined
  restarts: number
  unvisitedMs: number
}

export type Supervisor = ReturnType<typeof createSupervisor>
