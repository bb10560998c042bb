/** Faults, one after the other: each is caused, lasts for a while, and is reverted. */
import { createHash } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import type { Journal, Spoils } from './journal.ts'
import { now } from './journal.ts'
import type { FaultAct, FaultKind } from './plan.ts'
import { jobsOf, roleOf, signalTo } from './processes.ts'
import type { TortureService } from './service.ts'
import type { Mood, World } from './world.ts'

const HOUR_MS = 60 * 60_000
/** The effects of a fault outlast it a little: a build that got an error of a full disk has not ended yet. */
const AFTERMATH_MS = 3000

type Parts = {
  service: TortureService
  world: World
  journal: Journal
  next: () => FaultAct
  count(kind: string): void
}

/** Resolves when every fault is reverted. */
export async function runFaults({ service, world, journal, next, count }: Parts, signal: AbortSignal) {
  const pause = (ms: number) => wait(ms, undefined, { signal }).catch(() => undefined)
  const group = groupOf(service.dataDir)

  const stand = (pids: readonly (number | undefined)[], whileMs: number) => async () => {
    const stopped = pids.filter((pid) => pid !== undefined && signalTo(pid, 'SIGSTOP')) as number[]
    await pause(whileMs)
    for (const pid of stopped) signalTo(pid, 'SIGCONT')
  }
  const kill = (pids: readonly (number | undefined)[]) => async () => {
    for (const pid of pids) if (pid !== undefined) signalTo(pid, 'SIGKILL')
  }
  const mood = (of: 'cms' | 'registry', to: Mood, forMs: number) => async () => {
    world.setMood(of, to)
    await pause(forMs)
    world.setMood(of, 'answers')
  }

  function actOf({ kind, forMs, hours, which }: FaultAct): { spoils: Spoils; run(): Promise<void>; detail?: string } {
    const role = (name: Parameters<typeof roleOf>[1]) => roleOf(service.pid(), name)
    const one = (pids: readonly number[]) => pids.slice(which % Math.max(1, pids.length)).slice(0, 1)
    const acts: Record<FaultKind, () => { spoils: Spoils; run(): Promise<void>; detail?: string }> = {
      killService: () => ({ spoils: 'nothing', run: service.killAndRestart }),
      killControl: () => ({ spoils: 'nothing', run: kill([role('control')]) }),
      killEdge: () => ({ spoils: 'nothing', run: kill([role('edge')]) }),
      killAgent: () => ({ spoils: 'starts', run: kill([role('agent')]) }),
      reload: () => ({ spoils: 'nothing', run: async () => void signalTo(service.pid(), 'SIGHUP') }),
      killBuild: () => ({ spoils: 'builds', run: kill(one(jobsOf(group, 'torture-build'))) }),
      killApp: () => ({ spoils: 'starts', run: kill(one(jobsOf(group, 'torture-app'))) }),
      stopControl: () => ({ spoils: 'nothing', run: stand([role('control')], forMs) }),
      stopEdge: () => ({ spoils: 'nothing', run: stand([role('edge')], forMs) }),
      stopAgent: () => ({ spoils: 'starts', run: stand([role('agent')], forMs) }),
      stopApp: () => ({ spoils: 'starts', run: stand(one(jobsOf(group, 'torture-app')), forMs) }),
      fillDisk: () => ({ spoils: 'everything', run: () => fullDisk(forMs) }),
      clockForward: () => ({ spoils: 'nothing', run: () => service.moveClock(hours * HOUR_MS), detail: `${hours} h` }),
      clockBack: () => ({ spoils: 'nothing', run: () => service.moveClock(-hours * HOUR_MS), detail: `${hours} h` }),
      cmsHangs: () => ({ spoils: 'cms', run: mood('cms', 'hangs', forMs) }),
      cmsFails: () => ({ spoils: 'cms', run: mood('cms', 'fails', forMs) }),
      cmsRefuses: () => ({ spoils: 'cms', run: mood('cms', 'refuses', forMs) }),
      registryHangs: () => ({ spoils: 'packages', run: mood('registry', 'hangs', forMs) }),
      registryFails: () => ({ spoils: 'packages', run: mood('registry', 'fails', forMs) }),
    }
    return acts[kind]()
  }

  async function fullDisk(forMs: number) {
    await service.fillDisk()
    try {
      await pause(forMs)
    } finally {
      await service.freeDisk()
    }
  }

  async function commit(given: FaultAct) {
    const { spoils, run, detail = '' } = actOf(given)
    count(given.kind)
    const fault = journal.fault(given.kind, spoils, detail)
    await run()
    fault.ended = now() + AFTERMATH_MS
  }

  while (!signal.aborted) {
    const given = next()
    const { meanwhile, forMs, pauseMs } = given
    const more = meanwhile === 'nothing' ? undefined : { ...given, kind: meanwhile, meanwhile: 'nothing' as const }
    await Promise.all([commit(given), more && pause(forMs / 2).then(() => commit(more))])
    await pause(pauseMs)
  }
}

/** The name of the cgroup that contains everything the service starts. */
export const groupOf = (dataDir: string): string =>
  `headland-${createHash('sha256').update(dataDir).digest('hex').slice(0, 12)}`
