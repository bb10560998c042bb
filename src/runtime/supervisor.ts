/**
 * Keeps the processes of live deployments running. The states of a deployment's process:
 *
 *   STARTING    started, does not answer yet
 *   RUNNING     answers
 *   RESTARTING  crashed; started again after a pause that grows
 *   CRASH_LOOP  crashed several times in a row; still retried, with long pauses
 *   ASLEEP      stopped for want of visitors, or of a slot among the awake apps of its account; the next visitor wakes it
 *
 * STARTING → RUNNING → RESTARTING → RUNNING …; RESTARTING → CRASH_LOOP after a few crashes in a row; RUNNING → ASLEEP →
 * STARTING; STARTING → RESTARTING when one that was live before does not come up; STARTING or RESTARTING → ASLEEP when there is
 * no slot for it; out of every state by `retire`. The process of the state before may still be there, draining, while it is
 * ASLEEP or already STARTING again.
 */
import { shortId } from '../contract/index.ts'
import { appsToSleep, countApps, NO_AWAKE_LIMITS, totalMemoryBytes } from './awake-slots.ts'
import { carryOn } from './carry.ts'
import { writeExpiries } from './hooks.ts'
import type { InstanceSpec } from './instance.ts'
import {
  createLifecycle,
  type Drain,
  endProcesses,
  type LifecycleParts,
  newEntry,
  type Running,
  type StopOptions,
  type SupervisedDeployment,
  stopInstances,
  toAwakeApp,
} from './lifecycle.ts'

export type { Running } from './lifecycle.ts'

export function createSupervisor(parts: LifecycleParts) {
  const { engine, clock, awakeLimits = NO_AWAKE_LIMITS } = parts
  const entries = new Map<string, SupervisedDeployment>()
  /** Retired, and not gone yet. */
  const leaving = new Map<SupervisedDeployment, Promise<void>>()

  /** Those of an account that have a process, be it one that still drains, or are about to have one. */
  const awakeOf = (account: string) =>
    [...entries.values()]
      .filter(({ spec, isComing, instances }) => spec.owner.account === account && (isComing || instances.size > 0))
      .map(toAwakeApp)

  const { become, launch, bringUp, sleep, onChange, drainBy } = createLifecycle(parts, awakeOf)

  function enter(spec: InstanceSpec): SupervisedDeployment {
    const entry = newEntry(spec, clock.now())
    entries.set(spec.deployment, entry)
    return entry
  }

  return {
    /**
     * Sets the one listener that is called whenever a deployment's state has changed. The first start and the end are not
     * reported: the caller of `start` and `retire` knows them.
     */
    onChange,

    /**
     * Starts a deployment beside whatever runs; resolves when it answers, rejects with why it does not. From here on the
     * log of the spec is the supervisor's to close.
     */
    async start(spec: InstanceSpec, signal: AbortSignal): Promise<void> {
      const { deployment } = spec
      for (let known = entries.get(deployment); known; known = entries.get(deployment)) {
        if (known.state === 'RUNNING') return await spec.log.close()
        await this.retire(deployment)
      }
      const entry = enter(spec)
      const launching = launch(entry, AbortSignal.any([signal, entry.retiring.signal]), { mayDisplace: true })
      entry.starting = launching.catch(() => undefined)
      try {
        await launching
      } catch (error) {
        if (entries.get(deployment) === entry) {
          spec.log.say('ENDED', `Deployment ${shortId(deployment)} did not come up.`)
          await this.retire(deployment)
        }
        throw error
      }
    },

    /**
     * Gives a deployment what another one of the same build has written while it ran, before it is started. False where that
     * was not possible.
     */
    carry: (from: { runFolder: string }, spec: InstanceSpec, signal: AbortSignal): Promise<boolean> =>
      engine.isIsolating ? carryOn(engine, from.runFolder, spec, signal) : Promise.resolve(true),

    /** When this resolves, every process of an environment can read what was revalidated there. */
    async refreshExpiries(environment: string) {
      const specs = [...entries.values(), ...leaving.keys()].map(({ spec }) => spec)
      const ours = specs.filter(({ owner }) => owner.environment === environment)
      await Promise.all(
        ours.map(({ runFolder, expiries }) => (expiries ? writeExpiries(runFolder, expiries) : undefined)),
      )
    },

    /** Takes over a deployment that was live before a restart of the service: it is started in the background, with retries. */
    adopt(spec: InstanceSpec) {
      bringUp(enter(spec), 0, { mayDisplace: false })
    },

    /** Sets how requests in flight are drained before an app sleeps. */
    drainBy,

    /** Stops the process until the next visitor, when requests in flight have ended. */
    async sleep(deployment: string, drain?: Drain) {
      const entry = entries.get(deployment)
      if (entry) await sleep(entry, 'No visitors for a while: the app sleeps until the next one.', drain)
    },

    /** Records a visit. For apps that were never visited, the time counts from their start. */
    visited(deployment: string) {
      const entry = entries.get(deployment)
      if (entry) entry.visitTime = clock.now()
    },
    /** The time since the last visit. */
    unvisitedMs: (deployment: string): number => clock.now() - (entries.get(deployment)?.visitTime ?? clock.now()),

    /** Deployments that have to sleep because the awake apps of their account use more memory than the account may. */
    excess(): string[] {
      const accounts = new Set([...entries.values()].map(({ spec }) => spec.owner.account))
      return [...accounts].flatMap((account) =>
        appsToSleep(awakeOf(account), awakeLimits).map(({ entry }) => entry.spec.deployment),
      )
    },

    /** How many apps of an account are awake, and what they use together. */
    awake(account: string): { apps: number; memoryBytes: number } {
      const awake = awakeOf(account)
      return { apps: countApps(awake), memoryBytes: totalMemoryBytes(awake) }
    },

    wake(deployment: string) {
      const entry = entries.get(deployment)
      if (entry?.state !== 'ASLEEP') return
      entry.visitTime = clock.now()
      become(entry, 'STARTING')
      bringUp(entry, 0, { mayDisplace: true })
    },

    of: (deployment: string): Running | undefined => entries.get(deployment),
    all: (): string[] => [...entries.keys()],
    /** Whether it has a process or is about to have one, be it one that was retired and still drains. */
    holds: (deployment: string): boolean =>
      entries.has(deployment) || [...leaving.keys()].some(({ spec }) => spec.deployment === deployment),

    /**
     * Ends a deployment's process for good; resolves when it is gone. The deployment is removed from the table at once: one
     * that is started again meanwhile gets a process of its own, beside the one that ends.
     */
    async retire(deployment: string, options: StopOptions = {}) {
      const entry = entries.get(deployment)
      if (entry) {
        entries.delete(deployment)
        const ended = endProcesses(entry, options).finally(() => leaving.delete(entry))
        leaving.set(entry, ended)
      }
      await Promise.all([...leaving].flatMap(([{ spec }, ended]) => (spec.deployment === deployment ? ended : [])))
    },

    /** Ends all processes within this grace period, also those that `retire` gave a longer one. */
    async stop(graceMs: number) {
      const late = [...leaving.keys()].map((entry) => stopInstances(entry, graceMs))
      const retired = [...entries.keys()].map((deployment) => this.retire(deployment, { graceMs }))
      await Promise.all([...late, ...retired, ...leaving.values()])
    },
  }
}

export type Supervisor = ReturnType<typeof createSupervisor>
