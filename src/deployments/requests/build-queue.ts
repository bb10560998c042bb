/** The steps that all requests for builds share: to put a build into the queue, to join one that waits, to take one out. */
import type { Clock } from '../../base/index.ts'
import type { Builds, SourceArchive, Sources } from '../../builds/index.ts'
import type { resources } from '../../contract/index.ts'
import type { Operation, OperationPath, OperationRecord, Operations } from '../../operations/index.ts'
import type { Transaction } from '../../storage/index.ts'
import type { Asked, Ledger } from '../../triggers/index.ts'

/** A build that is requested by bursts of calls begins when no call came for `ms`, at the latest `maxMs` after the first. */
export type Quiet = { ms: number; maxMs: number }

/** Callers that asked before it began may share one request. `isForced`: it goes live even if its output is suspicious. */
export type Rebuild = { asked: readonly Asked[]; quiet?: Quiet; isForced?: boolean }

export type BuildQueueParts = {
  clock: Clock
  operations: Operations
  builds: Builds
  sources: Sources
  ledger: Ledger
}

export type WantedBuild = {
  trigger: 'UPLOAD' | 'REBUILD' | 'CLEAN_REBUILD'
  isClean: boolean
  isForced?: boolean
  archive: SourceArchive
  notBefore?: number | null
  requestedBy: resources.Requester | null
}

export function createBuildQueue({ clock, operations, builds, sources, ledger }: BuildQueueParts) {
  function settlesUntil(firstTime: number, quiet: Quiet | undefined): number | null {
    if (!quiet || quiet.ms === 0) return null
    return Math.min(clock.now() + quiet.ms, firstTime + quiet.maxMs)
  }

  async function makeClean(tx: Transaction, { id, build }: OperationRecord) {
    await builds.makeClean(tx, build)
    await operations.makeClean(tx, id)
  }

  const cancelBuild = (tx: Transaction, { build }: OperationRecord) =>
    builds.end(tx, build, { state: 'CANCELLED', durations: {}, failure: null })

  return {
    settlesUntil,
    makeClean,
    cancelBuild,

    async request(tx: Transaction, path: OperationPath, wanted: WantedBuild): Promise<Operation> {
      const { trigger, isClean, isForced = false, archive, notBefore = null, requestedBy } = wanted
      const id = builds.newId()
      // A guess by the last build of the environment; the worker looks into the archive before it begins.
      const queue = (await builds.lastNeededPrograms(tx, path.environmentId)) ? 'build' : 'light'
      const asked = { queue, build: id, notBefore, requestedBy } as const
      const operation = await operations.request(tx, path, trigger, asked)
      await builds.insert(tx, path, { id, operationId: operation.id, trigger, isClean, isForced, archive })
      return { ...operation, message: archive.message ?? '', commit: archive.commit ?? null }
    },

    /** The waiting build, joined; undefined if none waits. It becomes clean or forced if one of the callers wants that. */
    async join(
      tx: Transaction,
      path: OperationPath,
      { asked, quiet, isForced }: Rebuild,
    ): Promise<Operation | undefined> {
      const waiting = await operations.waitingRecord(tx, path)
      if (!waiting) return undefined
      const isClean = asked.some(isForClean)
      if (isClean) await makeClean(tx, waiting)
      if (isForced) await builds.makeForced(tx, waiting.build)
      // A build that could begin at once is not delayed, and a call without a quiet period ends that of the others.
      const notBefore = waiting.notBefore === null ? null : settlesUntil(waiting.createTime, quiet)
      if (notBefore !== waiting.notBefore) await operations.setNotBefore(tx, waiting.id, notBefore)
      const outcome = { answer: 200, operationId: waiting.id }
      const [operation] = await Promise.all([
        operations.described(tx, waiting),
        ledger.add(tx, path.environmentId, asked, outcome),
      ])
      const isRebuild = waiting.trigger === 'REBUILD'
      return { ...operation, notBefore, trigger: isClean && isRebuild ? 'CLEAN_REBUILD' : waiting.trigger }
    },

    /** The archive of a cancelled upload is not what the next rebuild builds. */
    async callOff(tx: Transaction, operation: OperationRecord) {
      const build = await builds.ofOperation(tx, operation.id)
      if (build?.trigger === 'UPLOAD') await sources.uploadCancelled(tx, build.environmentId, build.archive)
      await cancelBuild(tx, operation)
    },
  }
}

export const isForClean = ({ action }: Asked): boolean => action === 'CLEAN_REBUILD'
