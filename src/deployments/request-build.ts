/**
 * Asking for a build, by an upload or again from the last archive. Of each environment at most one build runs and one waits:
 * whoever asks while one waits joins it, and a newer upload takes its place. Whoever asks while one runs gets a later one,
 * as it may have read already what changed since. So the queue needs no limit of its own, and nobody is refused for want of
 * room in it: it is never longer than the number of environments, which is limited for each account.
 */
import type { Account } from '../accounts/index.ts'
import type { Environments } from '../apps/index.ts'
import type { Clock } from '../base/index.ts'
import type { Archive, Builds } from '../builds/index.ts'
import { names, Problem } from '../contract/index.ts'
import type { Ending, HandedOn, Operation, OperationPath, Operations } from '../operations/index.ts'
import type { Transaction } from '../storage/index.ts'
import type { Asked, Ledger } from '../triggers/index.ts'
import { requireOpen } from './require-open.ts'

/** A build that is asked for by calls that come in bursts begins when none came for so long, or so long after the first. */
export type Quiet = { ms: number; mostMs: number }

/** Whoever asked before it began may ask together. */
export type Rebuild = { asked: readonly Asked[]; quiet?: Quiet }

type Parts = {
  clock: Clock
  environments: Environments
  operations: Operations
  builds: Builds
  ledger: Ledger
}

type Wanted = {
  trigger: 'UPLOAD' | 'REBUILD' | 'CLEAN_REBUILD'
  isClean: boolean
  archive: Archive
  notBefore?: number | null
}

/** All of them are part of a transaction. Whoever owns it calls `announce` of operations once it is committed. */
export function createBuildRequests({ clock, environments, operations, builds, ledger }: Parts) {
  async function request(tx: Transaction, path: OperationPath, wanted: Wanted): Promise<Operation> {
    const { trigger, isClean, archive, notBefore = null } = wanted
    const id = builds.newId()
    // A guess by what its last build was; the worker looks before it begins.
    const lane = (await builds.lastNeededPrograms(tx, path.environmentId)) ? 'build' : 'light'
    const operation = await operations.request(tx, path, trigger, { lane, build: id, notBefore })
    await builds.insert(tx, path, { id, operationId: operation.id, trigger, isClean, archive })
    return operation
  }

  /** The build that waits, joined; nothing where none waits. The strongest wins of those who join. */
  async function join(tx: Transaction, path: OperationPath, { asked, quiet }: Rebuild): Promise<Operation | undefined> {
    const waiting = await operations.waitingBuild(tx, path)
    if (!waiting) return undefined
    const isClean = asked.some(isForClean)
    if (isClean) {
      await builds.makeClean(tx, waiting.build)
      await operations.makeClean(tx, waiting.id)
    }
    // One that could begin at once is not put off; and whoever does not ask for quiet wants it now.
    const notBefore = waiting.notBefore === null ? null : settlesUntil(waiting.createTime, quiet)
    if (notBefore !== waiting.notBefore) await operations.setNotBefore(tx, waiting.id, notBefore)
    await ledger.add(tx, path.environmentId, asked, { answer: 200, operationId: waiting.id })
    const isRebuild = waiting.trigger === 'REBUILD'
    return { ...waiting, notBefore, trigger: isClean && isRebuild ? 'CLEAN_REBUILD' : waiting.trigger }
  }

  function settlesUntil(firstTime: number, quiet: Quiet | undefined): number | null {
    if (!quiet || quiet.ms === 0) return null
    return Math.min(clock.now() + quiet.ms, firstTime + quiet.mostMs)
  }

  const cancelBuild = (tx: Transaction, { build }: Operation) =>
    builds.end(tx, build, { state: 'CANCELLED', durations: {}, failure: null })

  return {
    /**
     * A newer upload takes the place of one that waits. A rebuild that waits is satisfied by it. What was to be clean stays so,
     * and whoever joined the one that waits is satisfied by this one.
     */
    async upload(tx: Transaction, account: Account, appName: string, id: string, archive: Archive): Promise<Operation> {
      const { path } = await requireOpen(tx, environments, account, appName, id)
      const waiting = await operations.waitingBuild(tx, path)
      const replaced = waiting && (await builds.ofOperation(tx, waiting.id))
      const isClean = replaced?.isClean ?? false
      const operation = await request(tx, path, { trigger: 'UPLOAD', isClean, archive })
      if (!waiting) return operation
      await operations.satisfyBy(tx, waiting.id, operation.id)
      if (waiting.trigger === 'UPLOAD') await operations.abort(tx, waiting.id, superseded(account, operation))
      await cancelBuild(tx, waiting)
      return operation
    },

    /**
     * A build that turned out to need a program, before it began, waits for its turn among those that do. What was asked for
     * while it was looked at is as it would be had it waited: a cancel ends it, and a newer build takes its place.
     */
    async handOn(tx: Transaction, account: Account, operation: Operation): Promise<Ending | HandedOn> {
      if (await operations.isToBeCancelled(tx, operation.id)) {
        await cancelBuild(tx, operation)
        return { error: new Problem('OPERATION_CANCELLED') }
      }
      const newer = await operations.waitingBuild(tx, operation)
      if (!newer) return { lane: 'build' }
      if ((await builds.ofOperation(tx, operation.id))?.isClean) {
        await builds.makeClean(tx, newer.build)
        await operations.makeClean(tx, newer.id)
      }
      await operations.passOn(tx, operation.id, newer.id)
      await cancelBuild(tx, operation)
      return operation.trigger === 'UPLOAD' && newer.trigger === 'UPLOAD'
        ? { error: superseded(account, newer) }
        : { satisfiedBy: newer.id }
    },

    join,

    /** Ends a build that nobody has begun, and tells the ids of the operations that ended with it. */
    async withdraw(tx: Transaction, waiting: Operation): Promise<string[]> {
      await cancelBuild(tx, waiting)
      return operations.abort(tx, waiting.id, new Problem('OPERATION_CANCELLED'))
    },

    /** From the last archive, unless one waits that is joined. All who asked are in the ledger. */
    async rebuild(
      tx: Transaction,
      account: Account,
      appName: string,
      id: string,
      { asked, quiet }: Rebuild,
    ): Promise<Operation> {
      const { path } = await requireOpen(tx, environments, account, appName, id)
      const joined = await join(tx, path, { asked, ...(quiet ? { quiet } : {}) })
      if (joined) return joined
      const archive = await builds.lastArchive(tx, id)
      if (!archive) throw new Problem('NOTHING_UPLOADED')
      const isClean = asked.some(isForClean)
      const trigger = isClean ? 'CLEAN_REBUILD' : 'REBUILD'
      const notBefore = settlesUntil(clock.now(), quiet)
      const operation = await request(tx, path, { trigger, isClean, archive, notBefore })
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
