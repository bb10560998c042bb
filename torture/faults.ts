/** Faults, one after the other: each is caused, lasts for a while, and is reverted. */
import { setTimeout as wait } from 'node:timers/promises'
import type { Journal, Spoils } from './journal.ts'
import { now } from './journal.ts'
import type { FaultAct, WorldFault } from './plan.ts'
import { signalTo } from './processes.ts'
import type { Pause, PreparedFault, System } from './system.ts'
import type { Mood, World } from './world.ts'

type Parts = {
  system: System
  journal: Journal
  next: () => FaultAct
  count(kind: string): void
}

/** Resolves when every fault is reverted. */
export async function runFaults({ system, journal, next, count }: Parts, signal: AbortSignal) {
  const pause = (ms: number) => wait(ms, undefined, { signal }).catch(() => undefined)

  async function commit(given: FaultAct) {
    const { spoils, edge, run, detail = '' } = system.faultOf(given, pause)
    count(given.kind)
    const fault = journal.fault(given.kind, { spoils, detail, edge })
    await run()
    fault.ended = now() + system.aftermathMs
  }

  while (!signal.aborted) {
    const given = next()
    const { meanwhile, forMs, pauseMs } = given
    const more = meanwhile === 'nothing' ? undefined : { ...given, kind: meanwhile, meanwhile: 'nothing' }
    await Promise.all([commit(given), more && pause(forMs / 2).then(() => commit(more))])
    await pause(pauseMs)
  }
}

type Pids = readonly (number | undefined)[]

export const killed = (spoils: Spoils, pids: Pids): PreparedFault => ({
  spoils,
  async run() {
    for (const pid of pids) if (pid !== undefined) signalTo(pid, 'SIGKILL')
  },
})

/** Stopped for a while, as on a machine that hangs. */
export const stopped = (spoils: Spoils, pids: Pids, pause: () => Promise<unknown>): PreparedFault => ({
  spoils,
  async run() {
    const found = pids.filter((pid) => pid !== undefined && signalTo(pid, 'SIGSTOP')) as number[]
    await pause()
    for (const pid of found) signalTo(pid, 'SIGCONT')
  },
})

/** One of them, or none if there is none. */
export const oneOf = <T>(items: readonly T[], which: number): T[] =>
  items.slice(which % Math.max(1, items.length)).slice(0, 1)

/** Faults of the servers that builds call. */
export function worldFaults(world: World, { forMs }: FaultAct, pause: Pause): Record<WorldFault, () => PreparedFault> {
  const mood = (of: 'cms' | 'registry', to: Mood) => (): PreparedFault => ({
    spoils: of === 'cms' ? 'cms' : 'packages',
    async run() {
      world.setMood(of, to)
      await pause(forMs)
      world.setMood(of, 'answers')
    },
  })
  return {
    cmsHangs: mood('cms', 'hangs'),
    cmsFails: mood('cms', 'fails'),
    cmsRefuses: mood('cms', 'refuses'),
    registryHangs: mood('registry', 'hangs'),
    registryFails: mood('registry', 'fails'),
  }
}
