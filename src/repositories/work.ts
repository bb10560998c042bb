/**
 * Fetches one branch and requests its build. The request, the record of the commit and the end of the lease are one transaction:
 * so a commit is deployed once, whatever dies when.
 */
import type { Account, Accounts } from '../accounts/index.ts'
import type { Environment, Environments } from '../apps/index.ts'
import type { Clock, Log, Secret } from '../base/index.ts'
import type { SourceArchive } from '../builds/index.ts'
import { PROBLEMS, Problem, type resources } from '../contract/index.ts'
import type { BuildRequests } from '../deployments/index.ts'
import type { Operations } from '../operations/index.ts'
import type { Sql, Transaction } from '../storage/index.ts'
import type { Ledger } from '../triggers/index.ts'
import { checkBranch, readAddress } from './address.ts'
import { ClaimLost } from './claims.ts'
import { nextLook } from './plan.ts'
import type { RepositoryRecords } from './records.ts'
import { requesterOf } from './requester.ts'
import type { Claim, RepositoryRecord, StoredProblem } from './rows.ts'
import type { StatusRecords } from './status-records.ts'

/** A branch of a repository elsewhere, and how it is reached. */
export type FetchSource = {
  url: string
  branch: string
  username: string
  token?: Secret
  privateKey?: Secret
  /** Empty: the server's key is learned. */
  knownHosts: string
}

export type FetchOptions = {
  /** Nothing is fetched if the branch has this commit. */
  known: string | null
  signal: AbortSignal
  /** Called as bytes of the archive arrive. When it throws, the rest is not read. */
  admit(bytes: number): Promise<void>
}

/** `archive` is absent if the commit is the known one. `knownHosts`: keys of the server that were learned. */
export type FetchResult = { commit: string; archive?: SourceArchive; knownHosts?: string }

/** A Problem of it may have learned keys, too: the server answered, and refused. */
export type FetchBranch = (source: FetchSource, options: FetchOptions) => Promise<FetchResult>

/** A commit of another branch, for its preview. */
export type DeployBranch = (push: {
  account: Account
  appName: string
  branch: string
  archive: SourceArchive
  requester: resources.Requester
}) => Promise<{ environmentId: string; operationId: string }[]>

export type FetchWorkParts = {
  sql: Sql
  clock: Clock
  log: Log
  records: RepositoryRecords
  statuses: Pick<StatusRecords, 'add'>
  accounts: Pick<Accounts, 'requireById'>
  environments: Pick<Environments, 'byId'>
  operations: Pick<Operations, 'announce'>
  ledger: Ledger
  buildRequests: Pick<BuildRequests, 'upload'>
  fetchBranch: FetchBranch
  deployBranch: DeployBranch | undefined
  /** Throws if a build could not begin. */
  admitBuild(account: Account, environmentId: string): Promise<void>
  /** Space for an archive, as for that of an upload. */
  promise(
    account: Account,
    environmentId: string,
  ): Promise<{ cover(bytes: number): Promise<void>; received(archive: SourceArchive): void; giveBack(): void }>
}

export function createFetchWork(parts: FetchWorkParts) {
  const { sql, clock, log, records, statuses, accounts, environments, operations, ledger, buildRequests } = parts

  async function work(claim: Claim, signal: AbortSignal) {
    const { repository, wish } = claim
    const environment = await environments.byId(sql, repository.environmentId)
    // Deleted with its environment in a moment.
    if (!environment || environment.state === 'DELETING') return end(claim, { isWell: false, isPassing: true })
    const account = await accounts.requireById(sql, environment.accountId)
    try {
      const found = await fetch(claim, { account, environment, signal })
      signal.throwIfAborted()
      if (wish.isOwn) await deployOwn(claim, { account, environment }, found)
      else await deployOther(claim, { account, environment }, found)
    } catch (error) {
      if (error instanceof ClaimLost || signal.aborted) throw error
      const isKnown = error instanceof Problem
      if (!isKnown) log.error({ err: error, environment: environment.id }, 'a repository could not be fetched')
      await fail(claim, isKnown ? error : new Problem('INTERNAL'))
    }
  }

  type Place = { account: Account; environment: Environment }

  async function fetch({ repository, wish }: Claim, { account, environment, signal }: Place & { signal: AbortSignal }) {
    await parts.admitBuild(account, environment.id)
    const promised = await parts.promise(account, environment.id)
    try {
      const found = await parts.fetchBranch(sourceOf(repository, wish.branch), {
        known: isForced(claimedBy(wish.asked)) || !wish.isOwn ? null : repository.lastCommit,
        signal,
        admit: promised.cover,
      })
      if (found.archive) promised.received(found.archive)
      return found
    } finally {
      promised.giveBack()
    }
  }

  function sourceOf(repository: RepositoryRecord, branch: string): FetchSource {
    const { environmentId, username, sealedToken, sealedKey, knownHosts } = repository
    // They may come from a backup.
    const { url } = readAddress(repository.url)
    checkBranch(branch)
    return {
      ...{ url, branch, username, knownHosts },
      ...(sealedToken === null ? {} : { token: records.open(environmentId, 'token', sealedToken) }),
      ...(sealedKey === null ? {} : { privateKey: records.open(environmentId, 'key', sealedKey) }),
    }
  }

  async function deployOwn(claim: Claim, { account, environment }: Place, found: FetchResult) {
    const { repository, wish } = claim
    const { environmentId } = repository
    const at = { account, appName: environment.appName, environmentId }
    const archive = found.archive && described(found.archive, repository, wish.branch)
    await sql.transaction(async (tx) => {
      await records.release(tx, claim)
      const operation = archive && (await buildRequests.upload(tx, at, archive, requesterOf(repository)))
      await looked(tx, environmentId, { ...found, ...(operation ? { operation: operation.id } : {}) })
      if (operation)
        await addStatus(tx, repository, { sha: found.commit, target: environmentId, operation: operation.id })
      await answer(tx, claim, { answer: 200, ...(operation ? { operationId: operation.id } : {}) })
      await schedule(tx, claim, { isWell: true })
    })
    if (archive) operations.announce()
  }

  async function deployOther(claim: Claim, { account, environment }: Place, found: FetchResult) {
    const { repository, wish } = claim
    const { appName } = environment
    const requester = requesterOf({ ...repository, branch: wish.branch })
    const archive = found.archive && described(found.archive, repository, wish.branch)
    // The branch may have been deleted meanwhile, and its preview with it.
    const isWanted = (await records.wishOf(sql, repository.environmentId, wish.branch)) !== undefined
    const push = archive && isWanted && { account, appName, branch: wish.branch, archive, requester }
    const deployed = push ? ((await parts.deployBranch?.(push)) ?? []) : []
    await sql.transaction(async (tx) => {
      await records.release(tx, claim)
      for (const { environmentId: target, operationId: operation } of deployed)
        await addStatus(tx, repository, { sha: found.commit, target, operation })
      await answer(tx, claim, { answer: 200 })
      await schedule(tx, claim, { isWell: true })
    })
  }

  const looked = (tx: Transaction, environmentId: string, found: FetchResult & { operation?: string }) =>
    records.looked(tx, environmentId, {
      time: clock.now(),
      commit: found.commit,
      problem: null,
      ...(found.operation === undefined ? {} : { operation: found.operation }),
      ...(found.knownHosts === undefined ? {} : { knownHosts: found.knownHosts }),
    })

  async function addStatus(
    tx: Transaction,
    { environmentId, url, provider, sealedToken, sendsStatuses }: RepositoryRecord,
    of: { sha: string; target: string; operation: string },
  ) {
    if (!sendsStatuses || provider === null || sealedToken === null) return
    await statuses.add(tx, { environmentId, url, ...of })
  }

  async function fail(claim: Claim, problem: Problem) {
    const { reason, message } = problem
    const isPassing = PROBLEMS[reason].retryable || reason === 'GIT_UNAVAILABLE'
    const { knownHosts } = problem.metadata as { knownHosts?: string }
    await sql.transaction(async (tx) => {
      await records.release(tx, claim)
      const next = await schedule(tx, claim, { isWell: false, isPassing })
      const time = clock.now()
      const stored: StoredProblem = { reason, message, time, ...(next.time === null ? {} : { retryTime: next.time }) }
      if (claim.wish.isOwn) {
        const learned = knownHosts === undefined ? {} : { knownHosts }
        await records.looked(tx, claim.repository.environmentId, { time, problem: stored, ...learned })
      }
      if (next.isAnswered) await answer(tx, claim, { answer: PROBLEMS[reason].http, reason })
    })
  }

  /** Nothing was found or failed, as it was not tried. */
  async function end(claim: Claim, outcome: Parameters<typeof nextLook>[1]) {
    await sql.transaction(async (tx) => {
      await records.release(tx, claim)
      await schedule(tx, claim, outcome)
    })
  }

  async function answer(tx: Transaction, { repository, wish }: Claim, outcome: Parameters<Ledger['add']>[3]) {
    // Each source has a share of its own in the ledger.
    for (const source of new Set(wish.asked.map((one) => one.source))) {
      const asked = wish.asked.filter((one) => one.source === source)
      await ledger.add(tx, repository.environmentId, asked, outcome)
    }
  }

  async function schedule(tx: Transaction, { repository, wish }: Claim, outcome: Parameters<typeof nextLook>[1]) {
    const { environmentId, pollMinutes } = repository
    const current = await records.wishOf(tx, environmentId, wish.branch)
    const next = nextLook(
      {
        now: clock.now(),
        pollMinutes: wish.isOwn ? pollMinutes : null,
        attempts: wish.attempts,
        isAskedAgain: current !== undefined && current.wishes !== wish.wishes,
        spread: Math.random(),
      },
      outcome,
    )
    const answered = next.isAnswered ? wish.asked.length : 0
    await records.schedule(tx, environmentId, wish, { time: next.time, attempts: next.attempts, answered })
    return next
  }

  return work
}

/** Someone pressed the button: the commit is deployed also if it was before. */
const isForced = (sources: ReadonlySet<resources.TriggerSource>): boolean => sources.has('API')
const claimedBy = (asked: Claim['wish']['asked']) => new Set(asked.map(({ source }) => source))

/** The commit as builds, deployments and triggers show it. */
function described(archive: SourceArchive, { url }: RepositoryRecord, branch: string): SourceArchive {
  const { commit } = archive
  return commit ? { ...archive, message: '', commit: { ...commit, branch, repository: url } } : archive
}
