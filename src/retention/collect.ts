/**
 * Garbage collection: removes files that no row refers to any more. Names of files are read before rows, and every writer
 * writes the row first: so new files are never taken for garbage. Folders that must not be seen half removed are moved away
 * first. If a collection is cut off, the next one continues. Files that a backup may be copying stay; that is checked after the
 * rows were read. Every process removes what is on its own disk; what is in stores that all processes share, the leader removes.
 */
import type { Environments } from '../apps/index.ts'
import type { Archives } from '../archives/index.ts'
import type { Clock, Log } from '../base/index.ts'
import type {
  BuildRetention,
  Builds,
  Outputs,
  PackageStore,
  StoredCaches,
  TarballStore,
  Toolchains,
} from '../builds/index.ts'
import {
  buildLogName,
  type DeploymentHead,
  type Deployments,
  type Folders,
  runtimeLogName,
} from '../deployments/index.ts'
import type { Repositories } from '../git/index.ts'
import type { Images } from '../images/index.ts'
import type { StoredKv } from '../kv/index.ts'
import type { Operations } from '../operations/index.ts'
import { requestLogName } from '../request-log/index.ts'
import type { Instances } from '../runtime/index.ts'
import type { SnapshotRecords } from '../snapshots/index.ts'
import {
  type Digest,
  hasRetentionHold,
  type LineLogs,
  type Reader,
  type StoredParts,
  type Term,
} from '../storage/index.ts'
import type { Figures } from './figures.ts'

type Parts = {
  sql: Reader
  clock: Clock
  log: Log
  environments: Pick<Environments, 'all'>
  operations: Pick<Operations, 'isAny' | 'unfinishedOf'>
  deployments: Pick<Deployments, 'kept'>
  archives: Pick<Archives, 'collect'>
  /** Their packs are in the same store as archives. */
  repositories: Pick<Repositories, 'digests'>
  /** So are content snapshots. */
  snapshotRecords: Pick<SnapshotRecords, 'digests'>
  /** Whether archives are in a store that all processes share. */
  sharesArchives?: boolean
  builds: Pick<Builds, 'isOver' | 'toolsInUse'>
  buildRetention: BuildRetention
  outputs: Pick<Outputs, 'collect'>
  /** Undefined where no registry is set. */
  images?: Pick<Images, 'collect'> | undefined
  packages: Pick<PackageStore, 'collect'>
  tarballs: Pick<TarballStore, 'collect'>
  toolchains: Pick<Toolchains, 'collect' | 'sweep'>
  instances: Pick<Instances, 'holds'>
  folders: Folders
  logs: LineLogs
  /** Undefined where there is no object store. */
  storedCaches?: Pick<StoredCaches, 'collect'> | undefined
  /** Undefined where all logs are in their files. */
  storedLogs?: Pick<StoredParts, 'collect'> | undefined
  /** Undefined where values of the key-value store are files. */
  storedValues?: Pick<StoredKv, 'collect'> | undefined
  figures: Pick<Figures, 'forgetAllBut'>
}

/** Longer than the time that a retired process has to end. */
const RETIRING_MS = 5 * 60_000

const isInUse = ({ state, retireTime }: DeploymentHead, now: number): boolean =>
  state === 'LIVE' || (retireTime !== null && now - retireTime < RETIRING_MS)

const EVERYTHING = { has: () => true }

type Leading = Pick<Term, 'isOver' | 'signal'>

/** Removes what is not needed any more, and resolves to how many. */
type Step = (term: Leading | undefined) => Promise<number>

const ofLeader =
  (step: (term: Leading) => Promise<number>): Step =>
  async (term) =>
    term && !term.isOver() ? step(term) : 0

/** How many of each were removed. */
export type Removed = Record<string, number>

export function createCollect(parts: Parts) {
  const { sql, clock, log, environments, operations, deployments, instances, figures } = parts
  const { archives, builds, buildRetention, outputs, packages, tarballs, toolchains, folders, logs } = parts

  const collectArchives = (term?: Leading) =>
    archives.collect(async () => {
      const archived = (await buildRetention.archives()).map(({ key }) => key)
      const needed = new Set<string>([
        ...archived,
        ...(await parts.repositories.digests()),
        ...(await parts.snapshotRecords.digests()),
      ])
      return (await isBeingCopied()) ? EVERYTHING : needed
    }, term?.isOver)

  const steps: Record<string, Step> = {
    archives: parts.sharesArchives ? ofLeader(collectArchives) : () => collectArchives(),
    outputs: () => outputs.collect(isOutputNeeded),
    images: ofLeader(
      async (term) => parts.images?.collect(async (digest) => term.isOver() || (await isOutputNeeded(digest))) ?? 0,
    ),
    packages: () => packages.collect(),
    tarballs: () => tarballs.collect(async () => new Set((await environments.all()).map(({ accountId }) => accountId))),
    work: () => folders.sweepWork(builds.isOver),

    async environments() {
      const there = await folders.ids()
      const known = await environmentIds()
      const gone = (await isBeingCopied()) ? [] : there.filter((id) => !known.has(id))
      for (const id of gone) await folders.remove(id)
      await figures.forgetAllBut(known)
      return gone.length
    },

    async runs() {
      let count = 0
      for (const id of await folders.ids()) {
        // Another process of the service may be starting an app here; its unfinished operation shows that.
        if ((await operations.unfinishedOf(sql, id)).length > 0) continue
        const kept = await deployments.kept(sql, id)
        const inUse = new Set(kept.filter((one) => isInUse(one, clock.now())).map((one) => one.id))
        count += await folders.sweepRuns(id, (deployment) => inUse.has(deployment) || instances.holds(deployment))
      }
      return count
    },

    async logs() {
      const there: string[] = []
      for (const folder of ['builds', 'runtime', 'requests']) there.push(...(await logs.list(folder)))
      const known = new Set<string>()
      for (const id of await environmentIds()) {
        known.add(runtimeLogName(id))
        known.add(requestLogName(id))
        for (const build of await buildRetention.withLogs(id)) known.add(buildLogName(build))
      }
      const leftOver = (await isBeingCopied()) ? [] : there.filter((name) => !known.has(name))
      for (const name of leftOver) await logs.remove(name)
      return leftOver.length
    },
    storedCaches: ofLeader(async ({ isOver }) => (await parts.storedCaches?.collect(isBeingCopied, isOver)) ?? 0),
    storedLogs: ofLeader(async ({ isOver }) => (await parts.storedLogs?.collect(isBeingCopied, isOver)) ?? 0),
    storedValues: ofLeader(async ({ isOver }) => (await parts.storedValues?.collect(isOver)) ?? 0),

    async tools() {
      await toolchains.sweep()
      return (await toolchains.collect(await builds.toolsInUse())).length
    },
  }

  const isOutputNeeded = async (digest: Digest): Promise<boolean> =>
    (await buildRetention.isOutputReferenced(digest)) || isBeingCopied()

  const isBeingCopied = () => hasRetentionHold(sql, clock.now())

  async function environmentIds(): Promise<Set<string>> {
    return new Set((await environments.all()).map(({ id }) => id))
  }

  /** `term`: this process leads. */
  return async function collect(signal: AbortSignal, term?: Leading): Promise<Removed> {
    // A database without any operation is new. In an old data folder that means that the right one is missing, and will be
    // put back.
    if (!(await operations.isAny())) return {}
    const removed: Removed = {}
    for (const [what, step] of Object.entries(steps)) {
      if (signal.aborted) break
      try {
        const count = await step(term)
        if (count > 0) removed[what] = count
      } catch (error) {
        // The other steps may free the space that this one lacks.
        log.error({ err: error, what }, 'unused files could not be removed')
      }
    }
    return removed
  }
}

export type Collect = ReturnType<typeof createCollect>
