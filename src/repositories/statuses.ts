/**
 * Tells providers how the builds of their commits go. The leader does it: it reads the operation of each build, and sends its
 * state whenever that is another one than the provider has. So nothing is lost when a process dies, and no build waits for a
 * provider. What cannot be sent is tried again, later each time, and given up in the end.
 */
import type { Account, Accounts } from '../accounts/index.ts'
import type { Environment, Environments } from '../apps/index.ts'
import type { Clock, Log } from '../base/index.ts'
import { LIMITS, names, PROBLEMS, type Reason } from '../contract/index.ts'
import type { Operation, Operations } from '../operations/index.ts'
import { LeadershipLost, type Sql, type Term, type Transaction } from '../storage/index.ts'
import { type CommitStatus, type HttpCall, providerNamed } from './providers/index.ts'
import type { RepositoryRecords } from './records.ts'
import type { RepositoryRecord, StoredProblem } from './rows.ts'
import type { StatusRecord, StatusRecords, StatusState } from './status-records.ts'

/** As the module for calls to other hosts has it. */
type Send = (
  call: HttpCall,
  limits: { maxBytes: number; timeoutMs: number; signal: AbortSignal },
) => Promise<{ status: number; body: Buffer }>

type Parts = {
  sql: Sql
  clock: Clock
  log: Log
  records: RepositoryRecords
  statuses: StatusRecords
  accounts: Pick<Accounts, 'requireById'>
  environments: Pick<Environments, 'byId'>
  operations: Pick<Operations, 'requireDoing'>
  send: Send
  /** Whether a call would not be made at another time either. */
  isRefused(error: unknown): boolean
  siteUrl(hostLabel: string): string
  /** The address of the portal. */
  publicUrl(): string
  /** That of this process as the leader. */
  term: Pick<Term, 'check'>
}

const LOOK_MS = 2000
const BATCH = 50
const AT_ONCE = 4
const LIMITS_OF_CALL = { maxBytes: 8192, timeoutMs: 10_000 }
const FIRST_RETRY_MS = 10_000
const MAX_RETRY_MS = 60 * 60_000
/** No build takes so long. */
const GIVEN_UP_AFTER_MS = 24 * 60 * 60_000

export function createStatusSending(parts: Parts) {
  const { sql, clock, log, records, statuses, accounts, environments, operations } = parts

  async function round(signal: AbortSignal): Promise<void> {
    const due = await statuses.due(BATCH)
    const take = async () => {
      for (let next = due.shift(); next && !signal.aborted; next = due.shift()) await attempt(next, signal)
    }
    await Promise.all(Array.from({ length: AT_ONCE }, take))
  }

  async function attempt(status: StatusRecord, signal: AbortSignal) {
    try {
      await tell(status, signal)
    } catch (error) {
      if (error instanceof LeadershipLost || signal.aborted) return
      log.error({ err: error, status: status.id }, 'a commit status could not be worked on')
    }
  }

  async function tell(status: StatusRecord, signal: AbortSignal) {
    const repository = await records.find(sql, status.environmentId)
    const environment = await environments.byId(sql, status.target)
    const isOld = clock.now() - status.createTime > GIVEN_UP_AFTER_MS
    // The address, and with it the host, may have been changed since: what is stored now is not for the one of before.
    const isWanted = repository?.url === status.url && repository.sendsStatuses && !isOld
    if (!isWanted || !environment) return change((tx) => statuses.remove(tx, status))
    const account = await accounts.requireById(sql, environment.accountId)
    const path = { accountId: account.id, appName: environment.appName, environmentId: environment.id }
    const operation = await operations.requireDoing(path, status.operation)
    const state = stateOf(operation)
    if (state === status.sentState) return putOff(status, { ms: LOOK_MS, attempts: 0, sent: state })
    const call = callOf(repository, status, describe({ account, environment, operation, state }))
    if (!call) return change((tx) => statuses.remove(tx, status))
    await send(status, { repository, state, call, signal })
  }

  function callOf(repository: RepositoryRecord, { url, sha }: StatusRecord, described: CommitStatus) {
    const { environmentId, provider, sealedToken } = repository
    if (provider === null || sealedToken === null) return undefined
    return providerNamed(provider).status(url, sha, described, records.open(environmentId, 'token', sealedToken))
  }

  type Sending = { repository: RepositoryRecord; state: StatusState; call: HttpCall; signal: AbortSignal }

  async function send(status: StatusRecord, { repository, state, call, signal }: Sending) {
    const answer = await parts.send(call, { ...LIMITS_OF_CALL, signal }).catch((error: unknown) => error as Error)
    signal.throwIfAborted()
    if (answer instanceof Error) return retry(status, answer.message, parts.isRefused(answer))
    const { provider } = repository
    if (provider !== null && providerNamed(provider).accepted(answer.status, answer.body.toString('utf8'))) {
      return change(async (tx) => {
        if (state === 'PENDING') {
          await statuses.putOff(tx, status, { time: clock.now() + LOOK_MS, attempts: 0, sent: state })
        } else await statuses.remove(tx, status)
        if (repository.statusProblem) await records.statusSent(tx, status.environmentId, null)
      })
    }
    const isFinal = answer.status < 500 && answer.status !== 429 && answer.status !== 408
    return retry(status, `The provider answered with ${answer.status}.`, isFinal)
  }

  async function retry(status: StatusRecord, why: string, isFinal: boolean) {
    const attempts = status.attempts + 1
    const isOver = isFinal || attempts >= LIMITS.statusAttempts
    const [reason, time]: [Reason, number] = ['REPOSITORY_STATUS_REFUSED', clock.now()]
    const later = Math.min(FIRST_RETRY_MS * 2 ** status.attempts, MAX_RETRY_MS)
    const message = `${PROBLEMS[reason].meaning} ${why}`
    const problem: StoredProblem = { reason, message, time, ...(isOver ? {} : { retryTime: time + later }) }
    await change(async (tx) => {
      if (isOver) await statuses.remove(tx, status)
      else await statuses.putOff(tx, status, { time: time + later, attempts, sent: status.sentState })
      await records.statusSent(tx, status.environmentId, problem)
    })
  }

  const putOff = (status: StatusRecord, { ms, attempts, sent }: { ms: number; attempts: number; sent: StatusState }) =>
    change((tx) => statuses.putOff(tx, status, { time: clock.now() + ms, attempts, sent }))

  /** A process that was frozen since its look would overwrite what another one has done. */
  const change = (work: (tx: Transaction) => Promise<void>) =>
    sql.transaction(async (tx) => {
      await parts.term.check(tx)
      await work(tx)
    })

  type Told = { account: Account; environment: Environment; operation: Operation; state: StatusState }

  function describe({ account, environment, operation, state }: Told): CommitStatus {
    const { appName, displayName, hostLabel } = environment
    const at = { account: account.name, app: appName, environment: environment.id }
    const site = hostLabel === null ? '' : parts.siteUrl(hostLabel)
    // A page of the portal is the name of its resource without `accounts/`.
    const page = `${parts.publicUrl()}/${names.buildResource(at, operation.build).slice('accounts/'.length)}`
    const isLive = state === 'SUCCESS' && site !== ''
    const descriptions: Record<StatusState, string> = {
      PENDING: `${displayName} is being built.`,
      SUCCESS: `${displayName} is live.`,
      FAILURE: `${reasonOf(operation)}: ${PROBLEMS[reasonOf(operation)].meaning}`,
    }
    return {
      state,
      description: descriptions[state],
      targetUrl: isLive ? site : page,
      context: `headland/${appName}/${displayName}`,
      branch: operation.commit?.branch,
    }
  }

  return {
    round,

    /** For as long as this process leads. */
    start() {
      const stopping = new AbortController()
      const { signal } = stopping
      const done = (async () => {
        while (!signal.aborted) {
          await round(signal).catch((error) => {
            if (!signal.aborted) log.error({ err: error }, 'cannot look for commit statuses')
          })
          await clock.sleep(LOOK_MS, signal)
        }
      })()
      return {
        stop() {
          stopping.abort()
          return done
        },
      }
    },
  }
}

function stateOf({ doneTime, error }: Operation): StatusState {
  if (doneTime === null) return 'PENDING'
  return error === null ? 'SUCCESS' : 'FAILURE'
}

/** The first detail of an error is its ErrorInfo. A reason of an earlier version may no longer be in the table. */
function reasonOf({ error }: Operation): Reason {
  const reason = String((error?.details[0] as { reason?: unknown } | undefined)?.reason ?? '')
  return Object.hasOwn(PROBLEMS, reason) ? (reason as Reason) : 'INTERNAL'
}
