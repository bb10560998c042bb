/**
 * Requests for builds: of an upload, or again of the newest upload or the pinned archive. Of each environment at most one
 * build runs and one waits. A request that comes while one waits joins it, and a newer upload takes its place. A request that
 * comes while one runs gets a later build, as the running one may have read content that changed since. So the queue is never
 * longer than the number of environments, which is limited for each account, and needs no limit of its own.
 */
import type { Account } from '../../accounts/index.ts'
import type { Environments } from '../../apps/index.ts'
import type { SourceArchive } from '../../builds/index.ts'
import { names, Problem, type resources } from '../../contract/index.ts'
import type { Ending, HandedOn, Operation, OperationPath, OperationRecord } from '../../operations/index.ts'
import type { Transaction } from '../../storage/index.ts'
import type { Publishing } from '../publishing/publishing.ts'
import { type BuildQueueParts, createBuildQueue, isForClean, type Rebuild, type WantedBuild } from './build-queue.ts'
import { type EnvironmentRef, requireOpen } from './require-open.ts'

type Parts = BuildQueueParts & {
  environments: Environments
  publishing?: Pick<Publishing, 'calledOff'>
}

/** All of them are part of a transaction. Its owner calls `announce` of operations once it is committed. */
export function createBuildRequests(parts: Parts) {
  const { clock, environments, operations, builds, sources, ledger } = parts
  const queue = createBuildQueue(parts)

  return {
    /**
     * A newer upload takes the place of one that waits. A rebuild that waits is satisfied by it. If the replaced build was to
     * be clean, this one is, and callers that joined the replaced build are satisfied by this one.
     */
    async upload(
      tx: Transaction,
      at: EnvironmentRef,
      archive: SourceArchive,
      requestedBy: resources.Requester | null = null,
    ): Promise<Operation> {
      const { path } = await requireOpen(environments, tx, at)
      const waiting = await operations.waitingBuild(tx, path)
      const replaced = waiting && (await builds.ofOperation(tx, waiting.id))
      const isClean = replaced?.isClean ?? false
      const operation = await queue.request(tx, path, { trigger: 'UPLOAD', isClean, archive, requestedBy })
      await sources.uploaded(tx, at.environmentId, archive)
      if (!waiting) return operation
      await operations.satisfyBy(tx, waiting.id, operation.id)
      if (waiting.trigger === 'UPLOAD') {
        await operations.abort(tx, waiting.id, superseded(at.account, operation))
        await parts.publishing?.calledOff(tx, waiting, 'SUPERSEDED')
      }
      await queue.cancelBuild(tx, waiting)
      return operation
    },

    /**
     * A build that turned out to need a program, before it began, moves to the queue of those that do. Requests that came while
     * it was examined have the effect that they would have had on a waiting build: a cancel ends it, a newer upload takes its
     * place, and a newer rebuild is satisfied by an upload.
     */
    async handOn(tx: Transaction, account: Account, operation: OperationRecord): Promise<Ending | HandedOn> {
      if (await operations.isToBeCancelled(tx, operation.id)) {
        await queue.callOff(tx, operation)
        return { error: new Problem('OPERATION_CANCELLED') }
      }
      const newer = await operations.waitingBuild(tx, operation)
      if (!newer) return { queue: 'build' }
      const [later, isUpload] = [await builds.ofOperation(tx, newer.id), operation.trigger === 'UPLOAD']
      // The rebuild may be of the archive that a rollback pinned, and then the upload would be lost.
      if (isUpload && newer.trigger !== 'UPLOAD') {
        if (later?.isClean) await queue.makeClean(tx, operation)
        await operations.satisfyBy(tx, newer.id, operation.id)
        await queue.cancelBuild(tx, newer)
        return { queue: 'build' }
      }
      const examined = await builds.ofOperation(tx, operation.id)
      if (examined?.isClean) await queue.makeClean(tx, newer)
      if (examined?.isForced) await builds.makeForced(tx, newer.build)
      await operations.passOn(tx, operation.id, newer.id)
      await queue.cancelBuild(tx, operation)
      return isUpload ? { error: superseded(account, newer) } : { satisfiedBy: newer.id }
    },

    join: queue.join,

    /**
     * Moves a waiting rebuild behind everything that was requested since, by a new request in its place. Used when another
     * archive is activated: the activation need not wait for a build that it replaces, and the rebuild then builds that archive
     * with the current content.
     */
    async postpone(tx: Transaction, path: OperationPath) {
      const waiting = await operations.waitingBuild(tx, path)
      const build = waiting && (await builds.ofOperation(tx, waiting.id))
      if (!build || waiting.trigger === 'UPLOAD') return
      const { trigger, isClean, isForced, archive } = build
      const later = await queue.request(tx, path, {
        trigger: trigger as WantedBuild['trigger'],
        isClean,
        isForced,
        archive,
        notBefore: waiting.notBefore,
        requestedBy: waiting.requestedBy,
      })
      await operations.satisfyBy(tx, waiting.id, later.id)
      await builds.end(tx, build.id, { state: 'CANCELLED', durations: {}, failure: null })
    },

    /** Ends a build that no worker has begun. Resolves to the ids of the operations that ended with it. */
    async withdraw(tx: Transaction, waiting: OperationRecord): Promise<string[]> {
      await queue.callOff(tx, waiting)
      await parts.publishing?.calledOff(tx, waiting, 'OPERATION_CANCELLED')
      return operations.abort(tx, waiting.id, new Problem('OPERATION_CANCELLED'))
    },

    /** Builds the newest upload or the pinned archive, or joins a build that waits. The ledger records every caller. */
    async rebuild(
      tx: Transaction,
      at: EnvironmentRef,
      { asked, quiet, isForced = false }: Rebuild,
    ): Promise<Operation> {
      const { path } = await requireOpen(environments, tx, at)
      const joined = await queue.join(tx, path, { asked, isForced, ...(quiet ? { quiet } : {}) })
      if (joined) return joined
      const archive = await sources.current(tx, at.environmentId)
      if (!archive) throw new Problem('NOTHING_UPLOADED')
      const isClean = asked.some(isForClean)
      const trigger = isClean ? 'CLEAN_REBUILD' : 'REBUILD'
      const notBefore = queue.settlesUntil(clock.now(), quiet)
      const requestedBy = asked[0]?.requestedBy ?? null
      const wanted = { trigger, isClean, isForced, archive, notBefore, requestedBy } as const
      const operation = await queue.request(tx, path, wanted)
      await ledger.add(tx, at.environmentId, asked, { answer: 200, operationId: operation.id })
      return operation
    },
  }
}

export type BuildRequests = ReturnType<typeof createBuildRequests>

function superseded(account: Account, { id, appName, environmentId }: OperationRecord): Problem {
  const newer = names.operationResource({ account: account.name, app: appName, environment: environmentId }, id)
  return new Problem('SUPERSEDED', `A newer upload took its place: ${newer}.`, { metadata: { operation: newer } })
}
