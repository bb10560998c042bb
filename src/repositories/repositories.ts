/** Connected repositories as users make and change them. What is wanted of them is fetched elsewhere (`run.ts`). */
import { etagOf, type Preconditions, requireEtag } from '../apps/index.ts'
import { type Clock, toRfc3339 } from '../base/index.ts'
import { fieldInvalid, names, PROBLEMS, type resources } from '../contract/index.ts'
import type { EnvironmentRef } from '../deployments/index.ts'
import type { Reader, Sql, Transaction } from '../storage/index.ts'
import type { Asked } from '../triggers/index.ts'
import { type Address, checkBranch, readAddress } from './address.ts'
import { checkKnownHosts, type DeployKey, makeDeployKey, readDeployKey } from './deploy-keys.ts'
import { pollTime } from './plan.ts'
import { newHookSecret, providerOf } from './providers/index.ts'
import type { RepositoryRecords } from './records.ts'
import type { RepositoryRecord, StoredProblem } from './rows.ts'

type Parts = {
  sql: Sql
  clock: Clock
  records: RepositoryRecords
  requireOpen(reader: Reader, ref: EnvironmentRef): Promise<{ path: { appName: string; environmentId: string } }>
  /** Called when something is to be fetched: the process that fetches need not wait for its next look. */
  announce(): void
}

type Change = { given: resources.ChangedRepository; preconditions: Preconditions; publicUrl: string }

export function createConnectedRepositories({ sql, clock, records, requireOpen, announce }: Parts) {
  async function show(at: names.EnvironmentPath, publicUrl: string): Promise<resources.Repository> {
    const record = await records.require(sql, at.environment)
    return render(at, record, { publicUrl, isFetching: await records.isFetching(at.environment, clock.now()) })
  }

  const poll = ({ pollMinutes }: Pick<RepositoryRecord, 'pollMinutes'>) =>
    pollTime({ now: clock.now(), pollMinutes, spread: Math.random() })

  return {
    get: show,

    /** It is fetched at once. Resolves with the secret of the hook, which is not shown again. */
    async connect(
      ref: EnvironmentRef,
      { given, publicUrl, asked }: { given: resources.NewRepository; publicUrl: string; asked: Asked },
    ): Promise<resources.IssuedRepository> {
      const address = readAddress(given.url)
      const branch = checkBranch(given.branch ?? 'main')
      const knownHosts = checkKnownHosts(given.knownHosts ?? '')
      const [hookSecret, now] = [newHookSecret().reveal(), clock.now()]
      const at = await sql.transaction(async (tx) => {
        const at = await open(tx, ref)
        const key = keyFor(address, { given: given.deployKey, comment: commentOf(at) })
        const seal = sealFor(at.environment)
        const record = {
          environmentId: at.environment,
          url: address.url,
          branch,
          provider: given.provider === undefined ? (providerOf(address.url) ?? null) : given.provider,
          username: given.username ?? '',
          sealedToken: seal('token', given.token),
          sealedKey: seal('key', key?.privateKey),
          publicKey: key?.publicKey ?? '',
          knownHosts,
          sealedHookSecret: records.seal(at.environment, 'hook', hookSecret),
          pollMinutes: given.pollMinutes ?? null,
          sendsStatuses: given.sendsStatuses ?? true,
          createTime: now,
          updateTime: now,
        }
        await records.insert(tx, record)
        const made = await records.require(tx, at.environment)
        await records.follow(tx, made, poll(made))
        // A key that was just made is not known to the server yet.
        const mayWork = given.deployKey !== undefined || key === undefined
        if (mayWork) await records.wish(tx, made, branch, asked)
        return at
      })
      announce()
      return { ...(await show(at, publicUrl)), hookSecret }
    },

    /** What was changed is tried at once. */
    async change(ref: EnvironmentRef, { given, preconditions, publicUrl }: Change): Promise<resources.Repository> {
      const at = await sql.transaction(async (tx) => {
        const at = await open(tx, ref)
        const before = await records.require(tx, at.environment)
        requireEtag(preconditions, repositoryEtag(before), 'repository')
        const after = changed(at, before, given)
        await records.update(tx, after)
        await records.follow(tx, after, isElsewhere(before, after) ? clock.now() : poll(after))
        return at
      })
      announce()
      return show(at, publicUrl)
    },

    async regenerate(ref: EnvironmentRef, publicUrl: string): Promise<resources.IssuedRepository> {
      const hookSecret = newHookSecret().reveal()
      const at = await sql.transaction(async (tx) => {
        const at = await open(tx, ref)
        await records.require(tx, at.environment)
        await records.setHookSecret(tx, at.environment, records.seal(at.environment, 'hook', hookSecret))
        return at
      })
      return { ...(await show(at, publicUrl)), hookSecret }
    },

    disconnect: (environmentId: string, preconditions: Preconditions): Promise<void> =>
      sql.transaction(async (tx) => {
        requireEtag(preconditions, repositoryEtag(await records.require(tx, environmentId)), 'repository')
        await records.remove(tx, environmentId)
      }),

    /** Deploy now: the branch is looked at, and deployed if it has another commit than the last. */
    async fetch(ref: EnvironmentRef, { asked, publicUrl }: { asked: Asked; publicUrl: string }) {
      const at = await sql.transaction(async (tx) => {
        const at = await open(tx, ref)
        const record = await records.require(tx, at.environment)
        await records.wish(tx, record, record.branch, asked)
        return at
      })
      announce()
      return show(at, publicUrl)
    },
  }

  function changed(
    at: names.EnvironmentPath,
    before: RepositoryRecord,
    given: resources.ChangedRepository,
  ): RepositoryRecord {
    const address = readAddress(given.url ?? before.url)
    const isOtherHost = address.host !== readAddress(before.url).host
    const seal = sealFor(at.environment)
    // A secret for one host is not sent to another that someone typed in.
    const keptToken = isOtherHost ? null : before.sealedToken
    const sealedToken = given.token === undefined ? keptToken : seal('token', given.token ?? undefined)
    const isKeyKept = given.deployKey === undefined && before.sealedKey !== null && address.transport === 'ssh'
    const key = isKeyKept ? undefined : keyFor(address, { given: given.deployKey, comment: commentOf(at) })
    const provider = given.provider === undefined && !isOtherHost ? before.provider : given.provider
    const url = address.url
    const branch = checkBranch(given.branch ?? before.branch)
    const isSame = url === before.url && branch === before.branch
    return {
      ...before,
      url,
      branch,
      provider: provider === undefined ? (providerOf(url) ?? null) : provider,
      username: given.username ?? before.username,
      sealedToken,
      ...(isKeyKept ? {} : { sealedKey: seal('key', key?.privateKey), publicKey: key?.publicKey ?? '' }),
      knownHosts: checkKnownHosts(given.knownHosts ?? (isOtherHost ? '' : before.knownHosts)),
      pollMinutes: given.pollMinutes === undefined ? before.pollMinutes : given.pollMinutes,
      sendsStatuses: given.sendsStatuses ?? before.sendsStatuses,
      lastCommit: isSame ? before.lastCommit : null,
      updateTime: clock.now(),
    }
  }

  function sealFor(environmentId: string) {
    return (use: 'token' | 'key', secret: string | undefined): string | null =>
      secret === undefined ? null : records.seal(environmentId, use, secret)
  }

  async function open(tx: Transaction, ref: EnvironmentRef): Promise<names.EnvironmentPath> {
    const { path } = await requireOpen(tx, ref)
    return { account: ref.account.name, app: path.appName, environment: path.environmentId }
  }
}

export type ConnectedRepositories = ReturnType<typeof createConnectedRepositories>

/** Only for ssh: made here unless one is given. */
function keyFor(
  { transport }: Address,
  { given, comment }: { given: string | undefined; comment: string },
): DeployKey | undefined {
  if (transport === 'ssh') {
    return given === undefined || given === '' ? makeDeployKey(comment) : readDeployKey(given, comment)
  }
  if (given) throw fieldInvalid('deployKey', 'is for an address of ssh; over https, set a token')
  return undefined
}

const commentOf = ({ app }: names.EnvironmentPath): string => `headland-${app}`

/** Whether something else is fetched, or in another way. */
const isElsewhere = (before: RepositoryRecord, after: RepositoryRecord): boolean =>
  (['url', 'branch', 'username', 'sealedToken', 'sealedKey', 'knownHosts'] as const).some(
    (field) => before[field] !== after[field],
  )

/** Learned keys of the server, fetches and their results leave it as it is; so does the secret of the hook. */
const repositoryEtag = (record: RepositoryRecord): string =>
  etagOf([
    ...[record.environmentId, record.createTime, record.url, record.branch, record.provider, record.username],
    ...[record.sealedToken, record.publicKey, record.pollMinutes, record.sendsStatuses],
  ])

function render(
  at: names.EnvironmentPath,
  record: RepositoryRecord,
  { publicUrl, isFetching }: { publicUrl: string; isFetching: boolean },
): resources.Repository {
  const { problem, statusProblem, lastFetchTime, lastOperation } = record
  return {
    name: names.repositoryResource(at),
    url: record.url,
    branch: record.branch,
    provider: record.provider,
    username: record.username,
    hasToken: record.sealedToken !== null,
    publicKey: record.publicKey,
    knownHosts: record.knownHosts,
    pollMinutes: record.pollMinutes,
    sendsStatuses: record.sendsStatuses,
    hookUrl: `${publicUrl}/wh/v1/${names.repositoryResource(at)}:push`,
    fetching: isFetching,
    lastCommit: record.lastCommit ?? '',
    ...(lastFetchTime === null ? {} : { lastFetchTime: toRfc3339(lastFetchTime) }),
    lastOperation: lastOperation === null ? '' : names.operationResource(at, lastOperation),
    problem: problem && renderProblem(problem),
    statusProblem: statusProblem && renderProblem(statusProblem),
    createTime: toRfc3339(record.createTime),
    updateTime: toRfc3339(record.updateTime),
    etag: repositoryEtag(record),
  }
}

const renderProblem = ({ reason, message, time, retryTime }: StoredProblem) => ({
  reason,
  message: `${message} ${PROBLEMS[reason].todo}`,
  time: toRfc3339(time),
  ...(retryTime === undefined ? {} : { retryTime: toRfc3339(retryTime) }),
})
