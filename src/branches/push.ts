/**
 * A push, from the moment when git has received and checked its objects. Branches that environments name are built first; the
 * pusher reads the log meanwhile. Then the objects are stored, and one transaction moves all refs, or none. No lock is held: of
 * two pushes to one branch the second to end finds that it has moved, and is refused.
 *
 * The process may die at any line. Before the transaction nothing of the repository has changed: blobs without a row are removed
 * by retention. Builds that were requested go on, as those of uploads do.
 */
import type { Account } from '../accounts/index.ts'
import type { App } from '../apps/index.ts'
import { printableLine } from '../base/index.ts'
import type { SourceArchive } from '../builds/index.ts'
import { errorBody, LIMITS, Problem, type resources } from '../contract/index.ts'
import { buildLogName } from '../deployments/index.ts'
import {
  branchOf,
  type CommitArchive,
  checkRef,
  type Decide,
  type Git,
  INSIDE,
  type Pusher,
  type Received,
  RefMoved,
  type RefUpdate,
  type Remote,
  type Repositories,
  type Staged,
} from '../git/index.ts'
import type { Operation, Operations } from '../operations/index.ts'
import type { LineLogs, Sql } from '../storage/index.ts'
import type { Branches, Deployed, Target } from './branches.ts'

type Parts = {
  sql: Sql
  git: Pick<Git, 'archive' | 'jobs'>
  remote: Pick<Remote, 'keepPack'>
  repositories: Pick<Repositories, 'move'>
  branches: Branches
  operations: Pick<Operations, 'wait' | 'require'>
  logs: Pick<LineLogs, 'follow'>
  isBuildOver(path: { accountId: string; environmentId: string }, build: string): Promise<boolean>
  /** Reserves space on the disk for an archive, and takes it when it is stored. */
  space: {
    forUpload(
      account: Account,
      environmentId: string,
      bytes: number,
    ): Promise<{ cover(bytes: number): Promise<void>; giveBack(): void }>
    received(account: Account, archive: SourceArchive): void
  }
  onError(error: unknown): void
}

export type Pushing = {
  account: Account
  app: Pick<App, 'id' | 'name'>
  requester: resources.Requester
  address: string
  userAgent: string
  /** Where the pusher sees the portal. */
  portalUrl: string
}

/** The push option of those who do not wait for the builds. */
const DETACH = 'headland.detach'

/** A sentence for the pusher: nothing is done. */
class Refused extends Error {}

/** How long one call waits for an operation; it is repeated until the operation is done. */
const WAIT_MS = 60_000

export function createPushes(parts: Parts) {
  const { sql, git, remote, repositories, branches, operations, logs, space } = parts

  /** Git checks that a branch is a commit only after the hook. */
  async function requireCommits({ folder }: Staged, { updates, quarantine }: Received, signal: AbortSignal) {
    const heads = updates.flatMap(({ name, to }) => (branchOf(name) !== undefined && to !== null ? to : []))
    if (heads.length === 0) return
    const kinds = await git.jobs.read(
      { folder, script: 'kinds', args: [INSIDE.repository, quarantine, ...heads], isReading: true, signal },
      LIMITS.refsPerPush * 20,
    )
    if (
      String(kinds)
        .trim()
        .split('\n')
        .some((kind) => kind !== 'commit')
    )
      throw new Refused('A branch must be a commit.')
  }

  /** The tree of a commit, stored as an upload is. */
  async function archiveOf(
    { account }: Pushing,
    { staged, quarantine, target, commit }: { staged: Staged; quarantine: string; target: Target; commit: string },
    signal: AbortSignal,
  ): Promise<CommitArchive> {
    const promised = await space.forUpload(account, target.id, 0)
    try {
      const archive = await git.archive(staged.folder, commit, { signal, quarantine, admit: promised.cover })
      space.received(account, archive)
      return archive
    } finally {
      promised.giveBack()
    }
  }

  async function deployBranch(pushing: Pushing, update: RefUpdate, context: Context): Promise<Deployed[]> {
    const { staged, quarantine, pusher, isDetached } = context
    const branch = branchOf(update.name)
    if (branch === undefined || update.to === null) return []
    const { account, app, requester, address, userAgent } = pushing
    const [first] = await branches.openTargets({ account, app, branch, requester })
    if (!first) {
      pusher.say(`No environment deploys the branch ${branch}, so it is kept and nothing is built.`)
      return []
    }
    const given = { staged, quarantine, target: first, commit: update.to }
    const archive = await archiveOf(pushing, given, pusher.signal)
    // Others read it in the log of the build.
    if (isDetached) for (const note of archive.commit.notes ?? []) pusher.say(note)
    const commit = { ...archive.commit, branch }
    return branches.deploy({ account, app, branch, requester, address, userAgent, archive: { ...archive, commit } })
  }

  /** The log of a build as it is written, and how it ended. */
  async function follow({ account, app }: Pushing, { environment, operation }: Deployed, { say, signal }: Pusher) {
    const path = { accountId: account.id, appName: app.name, environmentId: environment.id }
    const isOver = () => parts.isBuildOver(path, operation.build)
    for await (const { text } of logs.follow(buildLogName(operation.build), 0, isOver, signal)) say(printableLine(text))
    let ended: Operation = operation
    while (ended.doneTime === null) {
      signal.throwIfAborted()
      ended = await operations.wait(path, operation.id, WAIT_MS, signal)
    }
    return ended
  }

  /** Says what becomes of each build, and refuses the push if one fails. */
  async function awaitBuilds(pushing: Pushing, deployed: readonly Deployed[], { pusher, isDetached }: Context) {
    const { account, app, portalUrl } = pushing
    const failures: string[] = []
    for (const one of deployed) {
      const { displayName, id } = one.environment
      const url = `${portalUrl}/${account.name}/apps/${app.name}/environments/${id}/builds/${one.operation.build}`
      pusher.say(`${isDetached ? 'Builds' : 'Building'} for ${displayName}: ${url}`)
      if (isDetached) continue
      const { error, response, isUnchanged } = await follow(pushing, one, pusher)
      if (error) failures.push(`${displayName}: ${reasonOf(error)}. ${error.message} ${url}`)
      else pusher.say(`${isUnchanged ? 'Live, with the same files as before' : 'Live'}: ${urlOf(response)}`)
    }
    if (failures.length > 0) throw new Refused(failures.join('\n'))
  }

  async function record(pushing: Pushing, { staged, quarantine, pusher }: Context, updates: readonly RefUpdate[]) {
    const { account, app } = pushing
    const pack = await remote.keepPack(staged, quarantine, pusher.signal)
    pusher.signal.throwIfAborted()
    const at = { appId: app.id, accountId: account.id }
    await sql.transaction(async (tx) => {
      await repositories.move(tx, at, { changes: updates, pack, seen: staged.repository.packs })
      tx.notify(account.id, `apps/${app.name}`)
    })
  }

  /** Asked again when the builds are done: another push may have moved it meanwhile. */
  function checkUnmoved({ repository: { refs } }: Staged, updates: readonly RefUpdate[]) {
    const targets = new Map(refs.map(({ name, target }) => [name, target]))
    const moved = updates.find(({ name, from }) => (targets.get(name) ?? null) !== from)
    if (moved) throw new RefMoved(moved.name)
  }

  return (pushing: Pushing, staged: Staged): Decide =>
    async (received, pusher) => {
      const { updates, quarantine, options } = received
      const context: Context = { staged, quarantine, pusher, isDetached: options.includes(DETACH) }
      const deployed: Deployed[] = []
      try {
        updates.forEach(checkRef)
        checkUnmoved(staged, updates)
        await requireCommits(staged, received, pusher.signal)
        for (const update of updates) deployed.push(...(await deployBranch(pushing, update, context)))
        await awaitBuilds(pushing, deployed, context)
        await record(pushing, context, updates)
        for (const { name, to } of updates) {
          const branch = branchOf(name)
          if (branch !== undefined && to === null) await branches.deleted({ ...pushing, branch })
        }
        return true
      } catch (error) {
        if (pusher.signal.aborted) return false
        for (const line of inWords(error, deployed).split('\n')) pusher.say(printableLine(line))
        if (!isExpected(error)) parts.onError(error)
        return false
      }
    }
}

export type Pushes = ReturnType<typeof createPushes>

type Context = { staged: Staged; quarantine: string; pusher: Pusher; isDetached: boolean }

const isExpected = (error: unknown): boolean =>
  error instanceof Refused || error instanceof Problem || error instanceof RefMoved

function inWords(error: unknown, deployed: readonly Deployed[]): string {
  if (error instanceof RefMoved) {
    const built = deployed.length > 0 ? ' What was built is live until the next deployment.' : ''
    return `Fetch first: ${error.message} was moved by another push meanwhile.${built}`
  }
  if (error instanceof Refused) return error.message
  if (error instanceof Problem) return `${error.reason}. ${error.message}`
  return errorBody(new Problem('INTERNAL')).error.message
}

type Failure = NonNullable<Operation['error']>

const reasonOf = ({ details }: Failure): string =>
  (details as { reason?: string }[]).find(({ reason }) => reason !== undefined)?.reason ?? 'FAILED'

const urlOf = (response: unknown): string => (response as { url?: string } | null)?.url ?? ''
