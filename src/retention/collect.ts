/**
 * Removes everything on the disk that nobody refers to any more. Names are looked at before rows, and whoever makes
 * something writes the row first: so what comes meanwhile is never taken for left over. What must be out of sight before it
 * is half gone is moved away first. However it ends, the next collection goes on. What somebody is copying stays for now: that
 * is asked when it is certain that nobody refers to it.
 */
import type { Environments } from '../apps/index.ts'
import type { Archives } from '../archives/index.ts'
import type { Clock, Log } from '../base/index.ts'
import type { BuildRetention, Builds, Outputs, PackageStore, Toolchains } from '../builds/index.ts'
import {
  buildLogName,
  type DeploymentHead,
  type Deployments,
  type Folders,
  runtimeLogName,
} from '../deployments/index.ts'
import type { Operations } from '../operations/index.ts'
import type { Supervisor } from '../runtime/index.ts'
import { isHeld, type LineLogs, type Reader } from '../storage/index.ts'
import type { Figures } from './figures.ts'

type Parts = {
  sql: Reader
  clock: Clock
  log: Log
  environments: Pick<Environments, 'all'>
  operations: Pick<Operations, 'isAny' | 'unfinishedOf'>
  deployments: Pick<Deployments, 'kept'>
  archives: Pick<Archives, 'collect'>
  builds: Pick<Builds, 'isOver' | 'toolsInUse'>
  buildRetention: BuildRetention
  outputs: Pick<Outputs, 'collect'>
  packages: Pick<PackageStore, 'collect'>
  toolchains: Pick<Toolchains, 'collect' | 'sweep'>
  supervisor: Pick<Supervisor, 'holds'>
  folders: Folders
  logs: LineLogs
  figures: Pick<Figures, 'forgetAllBut'>
}

/** Longer than a process that is retired has to end. */
const LEAVING_MS = 5 * 60_000

const isInUse = ({ state, retireTime }: DeploymentHead, now: number): boolean =>
  state === 'LIVE' || (retireTime !== null && now - retireTime < LEAVING_MS)

const EVERYTHING = { has: () => true }

/** How many of each were removed. */
export type Removed = Record<string, number>

export function createCollect(parts: Parts) {
  const { sql, clock, log, environments, operations, deployments, supervisor, figures } = parts
  const { archives, builds, buildRetention, outputs, packages, toolchains, folders, logs } = parts

  const steps: Record<string, () => Promise<number>> = {
    archives: () =>
      archives.collect(async () => {
        const needed = new Set((await buildRetention.archives()).map(({ key }) => key))
        return (await isCopied()) ? EVERYTHING : needed
      }),
    outputs: () => outputs.collect(async (digest) => (await buildRetention.isOutputReferenced(digest)) || isCopied()),
    packages: () => packages.collect(),
    work: () => folders.sweepWork(builds.isOver),

    async environments() {
      const there = await folders.ids()
      const known = await environmentIds()
      const gone = (await isCopied()) ? [] : there.filter((id) => !known.has(id))
      for (const id of gone) await folders.remove(id)
      await figures.forgetAllBut(known)
      return gone.length
    },

    async runs() {
      let count = 0
      for (const id of await folders.ids()) {
        // Another process may be about to start one, or run it: what it writes down is seen here.
        if ((await operations.unfinishedOf(sql, id)).length > 0) continue
        const kept = await deployments.kept(sql, id)
        const inUse = new Set(kept.filter((one) => isInUse(one, clock.now())).map((one) => one.id))
        count += await folders.sweepRuns(id, (deployment) => inUse.has(deployment) || supervisor.holds(deployment))
      }
      return count
    },

    async logs() {
      const there = [...(await logs.list('builds')), ...(await logs.list('runtime'))]
      const known = new Set<string>()
      for (const id of await environmentIds()) {
        known.add(runtimeLogName(id))
        for (const build of await buildRetention.withLogs(id)) known.add(buildLogName(build))
      }
      const leftOver = (await isCopied()) ? [] : there.filter((name) => !known.has(name))
      for (const name of leftOver) await logs.remove(name)
      return leftOver.length
    },

    async tools() {
      await toolchains.sweep()
      return (await toolchains.collect(await builds.toolsInUse())).length
    },
  }

  const isCopied = () => isHeld(sql, clock.now())

  async function environmentIds(): Promise<Set<string>> {
    return new Set((await environments.all()).map(({ id }) => id))
  }

  return async function collect(signal: AbortSignal): Promise<Removed> {
    // A database in which nobody ever asked for anything is a new one. In an old data folder that means that the right one is
    // missing, and will be put back.
    if (!(await operations.isAny())) return {}
    const removed: Removed = {}
    for (const [what, step] of Object.entries(steps)) {
      if (signal.aborted) break
      try {
        const count = await step()
        if (count > 0) removed[what] = count
      } catch (error) {
        // The others may make the very room that this one lacks.
        log.error({ err: error, what }, 'what is left over could not be removed')
      }
    }
    return removed
  }
}

export type Collect = ReturnType<typeof createCollect>
