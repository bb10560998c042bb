/**
 * Retries builds that failed or were held because of an outage: probes the servers that could not be reached, and requests a
 * rebuild when they answer. The retries are recorded in the database, so that a restart of the service loses none. Of several
 * processes, the leader does it.
 */
import type { Account, Accounts } from '../accounts/index.ts'
import type { Environments } from '../apps/index.ts'
import { type Clock, type Log, repeat } from '../base/index.ts'
import { Problem } from '../contract/index.ts'
import type { Answers } from '../engines/index.ts'
import type { Operations } from '../operations/index.ts'
import { LeadershipLost, type Sql, type Term, type Transaction } from '../storage/index.ts'
import { SERVICE_REQUESTER } from '../triggers/index.ts'
import { MAX_REBUILDS, type Retries, type Retry } from './records/retries.ts'
import type { BuildRequests } from './requests/request-build.ts'

type Parts = {
  sql: Sql
  clock: Clock
  log: Log
  accounts: Pick<Accounts, 'requireById'>
  environments: Pick<Environments, 'byId'>
  operations: Pick<Operations, 'announce' | 'unfinishedOf'>
  buildRequests: Pick<BuildRequests, 'rebuild'>
  retries: Retries
  /** Undefined if the machine has no networks for builds: then it is not recorded which servers were not reached, either. */
  answers: Answers | undefined
  /** Throws if a build could not begin. */
  admitBuild(account: Account, environmentId: string): Promise<void>
  /** Part of the transaction that records that it is not tried any more. */
  onGivenUp?(tx: Transaction, retry: Retry, appName: string): Promise<void>
  /** That of this process as the leader. */
  term: Pick<Term, 'check'>
  /** How often to look for due retries; 0 if nothing is retried. */
  lookMs: number
}

/** Retries that are handled at a time. */
const AT_ONCE = 8

export function createRetry(parts: Parts) {
  const { sql, clock, log, accounts, environments, operations, buildRequests, retries } = parts

  /** One round: all retries that are due. */
  async function round(): Promise<void> {
    const due = await retries.due()
    const take = async () => {
      for (let next = due.shift(); next; next = due.shift()) await tryAgain(next)
    }
    await Promise.all(Array.from({ length: AT_ONCE }, take))
  }

  /** A retry that fails is due again later, and does not stop the others. */
  async function tryAgain(retry: Retry) {
    try {
      if (await retries.claim(retry)) await decide(retry)
    } catch (error) {
      if (error instanceof LeadershipLost) return
      log.error({ err: error, environment: retry.environmentId }, 'a rebuild could not be retried')
    }
  }

  async function decide(retry: Retry) {
    const { environmentId } = retry
    const environment = await environments.byId(sql, environmentId)
    if (!environment || environment.state === 'DELETING') return sql.transaction((tx) => retries.end(tx, environmentId))
    if (retry.rebuilds >= MAX_REBUILDS || clock.now() >= retry.untilTime) return giveUp(retry, environment.appName)
    // An unfinished operation may already be the rebuild that is wanted.
    if ((await operations.unfinishedOf(sql, environmentId)).length > 0) return retries.putOff(retry)
    if (!(await areThere(retry))) return retries.putOff(retry)
    await rebuild(retry, environment.accountId, environment.appName)
  }

  async function areThere({ endpoints }: Retry): Promise<boolean> {
    const { answers } = parts
    if (!answers) return true
    for (const endpoint of endpoints) if (!(await answers(endpoint))) return false
    return true
  }

  async function rebuild(retry: Retry, accountId: string, appName: string) {
    const { environmentId } = retry
    const account = await accounts.requireById(sql, accountId)
    try {
      await parts.admitBuild(account, environmentId)
      await sql.transaction(async (tx) => {
        // A process that was frozen since its claim would request what another one has requested.
        await parts.term.check(tx)
        await retries.rebuilt(tx, retry)
        const caller = { source: 'SERVICE', requestedBy: SERVICE_REQUESTER, address: '', userAgent: '' } as const
        const asked = [{ action: 'REBUILD', ...caller, time: clock.now() } as const]
        await buildRequests.rebuild(tx, { account, appName, environmentId }, { asked })
      })
      operations.announce()
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      // The reason may be temporary, such as a full quota.
      log.warn({ environment: environmentId, reason: error.reason }, 'a held rebuild could not be requested')
      await retries.putOff(retry)
    }
  }

  async function giveUp(retry: Retry, appName: string) {
    log.info({ environment: retry.environmentId, rebuilds: retry.rebuilds }, 'a held rebuild is not retried any more')
    await sql.transaction(async (tx) => {
      await retries.giveUp(tx, retry)
      await parts.onGivenUp?.(tx, retry, appName)
    })
  }

  return {
    round,

    /** Looks for as long as this process leads. */
    start() {
      const look = () => round().catch((error) => log.error({ err: error }, 'cannot look for held rebuilds'))
      if (parts.lookMs === 0) return { stop: async () => undefined }
      return repeat(clock, parts.lookMs, look, { isImmediate: true })
    },
  }
}
