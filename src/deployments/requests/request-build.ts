/**
 * Asking for a build, by an upload or again from the newest upload or the pinned archive. Of each environment at most one build runs and one waits:
 * whoever asks while one waits joins it, and a newer upload takes its place. Whoever asks while one runs gets a later one,
 * as it may have read already what changed since. So the queue needs no limit of its own, and nobody is refused for want of
 * room in it: it is never longer than the number of environments, which is limited for each account.
 */
import type { Account } from '../../accounts/index.ts'
import type { Environments } from '../../apps/index.ts'
import type { Clock } from '../../base/index.ts'
import type { Builds, SourceArchive, Sources } from '../../builds/index.ts'
import { names, Problem, type resources } from '../../contract/index.ts'
import type { Ending, HandedOn, Operation, OperationPath, Operations } from '../../operations/index.ts'
import type { Transaction } from '../../storage/index.ts'
import type { Asked, Ledger } from '../../triggers/index.ts'
import { requireOpen } from './require-open.ts'

/** A build that is asked for by calls that come in bursts begins when none came for so long, or so long after the first. */
export type Quiet = { ms: number; maxMs: number }

/** Whoever asked before it began may ask together. `isForced`: it goes live, whatever its output looks like. */
export type Rebuild = { asked: readonly Asked[]; quiet?: Quiet; isForced?: boolean }

type Parts = {
  clock: Clock
  environments: Environments
  operations: Operations
  builds: Builds
  sources: Sources
  ledger: Ledger
}

type Wanted = {
  trigger: 'UPLOAD' | 'REBUILD' | 'CLEAN_REBUILD'
  isClean: boolean
  isForced?: boolean
  archive: SourceArchive
  notBefore?: number | null
  requestedBy: resources.Requester | null
}

/** All of them are part of a transaction. Whoever owns it calls `announce` of operations once it is committed. */
export function createBuildRequests({ clock, environments, operations, builds, sources, ledger }: Parts) {
  async function request(tx: Transaction, path: OperationPath, wanted: Wanted): Promise<Operation> {
    const { trigger, isClean, isForced = false, archive, notBefore = null, requestedBy } = wanted
    const id = builds.newId()
    // A guess by what its last build was; the worker looks before it begins.
    const queue = (await builds.lastNeededPrograms(tx, path.environmentId)) ? 'build' : 'light'
    const asked = { queue, build: id, notBefore, requestedBy } as const
    const operation = await operations.request(tx, path, trigger, asked)
    await builds.insert(tx, path, { id, operationId: operation.id, trigger, isClean, isForced, archive })
    return { ...operation, message: archive.message ?? '', commit: archive.commit ?? null }
  }

  /** The build that waits, joined; nothing where none waits. The strongest wins of those who join. */
  async function join(
    tx: Transaction,
    path: OperationPath,
    { asked, quiet, isForced }: Rebuild,
  ): Promise<Operation | undefined> {
    const waiting = await operations.waitingBuild(tx, path)
    if (!waiting) return undefined
    const isClean = asked.some(isForClean)
    if (isClean) await makeClean(tx, waiting)
    if (isForced) await builds.makeForced(tx, waiting.build)
    // One that could begin at once is not put off; and whoever does not ask for quiet wants it now.
    const notBefore = waiting.notBefore === null ? null : settlesUntil(waiting.createTime, quiet)
    if (notBefore !== waiting.notBefore) await operations.setNotBefore(tx, waiting.id, notBefore)
    await ledger.add(tx, path.environmentId, asked, { answer: 200, operationId: waiting.id })
    const isRebuild = waiting.trigger === 'REBUILD'
    return { ...waiting, notBefore, trigger: isClean && isRebuild ? 'CLEAN_REBUILD' : waiting.trigger }
  }

  function settlesUntil(firstTime: number, quiet: Quiet | undefined): number | null {
    if (!quiet || quiet.ms === 0) return null
    return Math.min(clock.now() + quiet.ms, firstTime + quiet.maxMs)
  }

  async function makeClean(tx: Transaction, { id, build }: Operation) {
    await builds.makeClean(tx, build)
    await operations.makeClean(tx, id)
  }

  const cancelBuild = (tx: Transaction, { build }: Operation) =>
    builds.end(tx, build, { state: 'CANCELLED', durations: {}, failure: null })

  /** An upload that was called off is not what the next rebuild builds. */
  async function callOff(tx: Transaction, operation: Operation) {
    const build = await builds.ofOperation(tx, operation.id)
    if (build?.trigger === 'UPLOAD') await sources.uploadCancelled(tx, build.environmentId, build.archive)
    await cancelBuild(tx, operation)
  }

  return {
    /**
     * A newer upload takes the place of one that waits. A rebuild that waits is satisfied by it. What was to be clean stays so,
     * and whoever joined the one that waits is satisfied by this one.
     */
    async upload(
      tx: Transaction,
      account: Account,
      appName: string,
      id: string,
      archive: SourceArchive,
      requestedBy: resources.Requester | null = null,
    ): Promise<Operation> {
      const { path } = await requireOpen(tx, environments, account, appName, id)
      const waiting = await operations.waitingBuild(tx, path)
      const replaced = waiting && (await builds.ofOperation(tx, waiting.id))
      const isClean = replaced?.isClean ?? false
      const operation = await request(tx, path, { trigger: 'UPLOAD', isClean, archive, requestedBy })
      await sources.uploaded(tx, id, archive)
      if (!waiting) return operation
      await operations.satisfyBy(tx, waiting.id, operation.id)
      if (waiting.trigger === 'UPLOAD') await operations.abort(tx, waiting.id, superseded(account, operation))
      await cancelBuild(tx, waiting)
      return operation
    },

    /**
     * A build that turned out to need a program, before it began, waits for its turn among those that do. What was asked for
     * while it was looked at is as it would be had it waited: a cancel ends it, a newer upload takes its place, and a newer
     * rebuild is satisfied by an upload.
     */
    async handOn(tx: Transaction, account: Account, operation: Operation): Promise<Ending | HandedOn> {
      if (await operations.isToBeCancelled(tx, operation.id)) {
        await callOff(tx, operation)
        return { error: new Problem('OPERATION_CANCELLED') }
      }
      const newer = await operations.waitingBuild(tx, operation)
      if (!newer) return { queue: 'build' }
      const [later, isUpload] = [await builds.ofOperation(tx, newer.id), operation.trigger === 'UPLOAD']
      // A rebuild may be of the archive that a rollback pinned: the upload would be lost in it.
      if (isUpload && newer.trigger !== 'UPLOAD') {
        if (later?.isClean) await makeClean(tx, operation)
        await operations.satisfyBy(tx, newer.id, operation.id)
        await cancelBuild(tx, newer)
        return { queue: 'build' }
      }
      const looked = await builds.ofOperation(tx, operation.id)
      if (looked?.isClean) await makeClean(tx, newer)
      if (looked?.isForced) await builds.makeForced(tx, newer.build)
      await operations.passOn(tx, operation.id, newer.id)
      await cancelBuild(tx, operation)
      return isUpload ? { error: superseded(account, newer) } : { satisfiedBy: newer.id }
    },

    join,

    /**
     * A rebuild that waits comes after what was asked for since: its place is taken by a new one. For an activation of another
     * archive, which need not wait for a build that it replaces; the rebuild then builds that archive, with the content of now.
     */
    async postpone(tx: Transaction, path: OperationPath) {
      const waiting = await operations.waitingBuild(tx, path)
      const build = waiting && (await builds.ofOperation(tx, waiting.id))
      if (!build || waiting.trigger === 'UPLOAD') return
      const { trigger, isClean, isForced, archive } = build
      const later = await request(tx, path, {
        trigger: trigger as Wanted['trigger'],
        isClean,
        isForced,
        archive,
        notBefore: waiting.notBefore,
        requestedBy: waiting.requestedBy,
      })
      await operations.satisfyBy(tx, waiting.id, later.id)
      await builds.end(tx, build.id, { state: 'CANCELLED', durations: {}, failure: null })
    },

    /** Ends a build that nobody has begun, and tells the ids of the operations that ended with it. */
    async withdraw(tx: Transaction, waiting: Operation): Promise<string[]> {
      await callOff(tx, waiting)
      return operations.abort(tx, waiting.id, new Problem('OPERATION_CANCELLED'))
    },

    /** From the newest upload, or from the pinned archive, unless one waits that is joined. All who asked are in the ledger. */
    async rebuild(
      tx: Transaction,
      account: Account,
      appName: string,
      id: string,
      { asked, quiet, isForced = false }: Rebuild,
    ): Promise<Operation> {
      const { path } = await requireOpen(tx, environments, account, appName, id)
      const joined = await join(tx, path, { asked, isForced, ...(quiet ? { quiet } : {}) })
      if (joined) return joined
      const archive = await sources.current(tx, id)
      if (!archive) throw new Problem('NOTHING_UPLOADED')
      const isClean = asked.some(isForClean)
      const trigger = isClean ? 'CLEAN_REBUILD' : 'REBUILD'
      const notBefore = settlesUntil(clock.now(), quiet)
      const requestedBy = asked[0]?.requestedBy ?? null
      const operation = await request(tx, path, { trigger, isClean, isForced, archive, notBefore, requestedBy })
      await ledger.add(tx, id, asked, { answer: 200, operationId: operation.id })
      return operation
    },
  }
}

function superseded(account: Account, { id, appName, environmentId }: Operation): Problem {
  const newer = names.operationResource({ account: account.name, app: appName, environment: environmentId }, id)
  return new Problem('SUPERSEDED', `A newer upload took its place: ${newer}.`, { metadata: { operation: newer } })
}

const isForClean = ({ action }: Asked): boolean => action === 'CLEAN_REBUILD'

export type BuildRequests = ReturnType<typeof createBuildRequests>
