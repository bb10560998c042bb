/**
 * Calls of providers after a push. The signature or the token of the call is what proves it; everything that is wrong has the
 * same answer. A call only asks for a fetch: which commit is deployed is what the repository itself shows then.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Account, Accounts } from '../accounts/index.ts'
import type { Environments } from '../apps/index.ts'
import { type Clock, Secret } from '../base/index.ts'
import { type names, PROBLEMS, Problem, type resources } from '../contract/index.ts'
import type { Sql } from '../storage/index.ts'
import type { Asked, Ledger } from '../triggers/index.ts'
import { checkBranch } from './address.ts'
import { type BranchChange, providerNamed } from './providers/index.ts'
import type { RepositoryRecords } from './records.ts'
import { requesterOf } from './requester.ts'
import type { RepositoryRecord } from './rows.ts'

/** A call as it came, before any check. */
export type PushCall = {
  at: names.EnvironmentPath
  headers: IncomingHttpHeaders
  body: Buffer
  address: string
  userAgent: string
}

/** As those of webhooks. */
type Rates = {
  call(environmentId: string, action: resources.RecordedAction): Problem | undefined
  guess(address: string): Problem | undefined
  isFirstRefusal(environmentId: string, action: resources.RecordedAction): boolean
}

/** What other branches of the repository become. */
export type BranchPreviews = {
  /** Whether a push of this branch makes or updates a preview of the app. */
  areOn(at: { account: Account; appName: string }, branch: string): Promise<boolean>
  /** Resolves to whether the branch had a preview. */
  deleted(gone: { account: Account; appName: string; branch: string; requester: resources.Requester }): Promise<boolean>
}

type Parts = {
  sql: Sql
  clock: Clock
  records: RepositoryRecords
  rates: Rates
  accounts: Pick<Accounts, 'find'>
  environments: Pick<Environments, 'findOpen' | 'all'>
  ledger: Ledger
  previews: BranchPreviews | undefined
  announce(): void
}

type Opened = { account: Account; appName: string; repository: RepositoryRecord }

/** Of one call. */
const MAX_CHANGES = 20
/** The check for a repository that does not exist takes as long as that for one that does. */
const NO_SECRET = new Secret('there is no repository')

export function createPushHooks(parts: Parts) {
  const { sql, clock, records, rates, accounts, environments, ledger, previews } = parts

  async function open(at: names.EnvironmentPath): Promise<Opened | undefined> {
    const account = await accounts.find(at.account)
    const environment = account && (await environments.findOpen(at.app, at.environment))
    if (!environment || environment.accountId !== account.id) return undefined
    const repository = await records.find(sql, at.environment)
    return repository && { account, appName: environment.appName, repository }
  }

  function proved({ repository }: Opened, { headers, body }: PushCall): boolean {
    const { environmentId, provider, sealedHookSecret } = repository
    if (provider === null) return false
    return providerNamed(provider).proves(headers, body, records.open(environmentId, 'hook', sealedHookSecret))
  }

  async function pushed({ account, appName, repository }: Opened, branch: string, asked: Asked) {
    const isOwn = branch === repository.branch
    const at = { account, appName }
    if (!isOwn && !(await isPreviewed(at, repository, branch))) return false
    return sql.transaction(async (tx) => {
      // It may have been disconnected meanwhile.
      const current = await records.find(tx, repository.environmentId)
      return current ? records.wish(tx, current, branch, asked) : false
    })
  }

  async function isFollowed(
    { account, appName }: { account: Account; appName: string },
    { url }: RepositoryRecord,
    branch: string,
  ) {
    const ofApp = (await environments.all(account.id)).filter((one) => one.appName === appName).map(({ id }) => id)
    return records.isFollowed(ofApp, { url, branch })
  }

  /** A branch that another environment of the app follows has a place already. */
  const isPreviewed = async (at: { account: Account; appName: string }, repository: RepositoryRecord, branch: string) =>
    previews !== undefined && !(await isFollowed(at, repository, branch)) && (await previews.areOn(at, branch))

  async function take(opened: Opened, change: BranchChange, asked: Asked): Promise<resources.PushAnswer['state']> {
    const { account, appName, repository } = opened
    const branch = checkBranch(change.branch)
    if (change.kind === 'PUSH') return (await pushed(opened, branch, asked)) ? 'WANTED' : 'IGNORED'
    if (branch === repository.branch || !previews) return 'IGNORED'
    await sql.transaction((tx) => records.forget(tx, repository.environmentId, branch))
    const hadPreview = await previews.deleted({ account, appName, branch, requester: requesterOf(repository) })
    return hadPreview ? 'REMOVED' : 'IGNORED'
  }

  return {
    async call(call: PushCall): Promise<resources.PushAnswer> {
      const { headers, body, address, userAgent } = call
      const opened = await open(call.at)
      const isProved = opened ? proved(opened, call) : providerNamed('GITHUB').proves(headers, body, NO_SECRET)
      if (!opened || !isProved) throw rates.guess(address) ?? new Problem('WEBHOOK_REFUSED')
      const { repository } = opened
      const { environmentId, provider } = repository
      const asked: Asked = {
        action: 'DEPLOY',
        source: 'REPOSITORY',
        requestedBy: requesterOf(repository),
        address,
        userAgent,
        time: clock.now(),
      }
      const refusal = rates.call(environmentId, asked.action)
      if (refusal) {
        const { reason } = refusal
        if (rates.isFirstRefusal(environmentId, asked.action))
          await sql.transaction((tx) =>
            ledger.add(tx, environmentId, [asked], { answer: PROBLEMS[reason].http, reason }),
          )
        throw refusal
      }
      const event = providerNamed(provider as resources.RepositoryProvider).read(headers, body)
      if (event.kind === 'PING') return { state: 'PING', message: 'The hook works. The next push is deployed.' }
      if (event.kind === 'IGNORED') return { state: 'IGNORED', message: event.why }
      const states: resources.PushAnswer['state'][] = []
      for (const change of event.changes.slice(0, MAX_CHANGES)) states.push(await take(opened, change, asked))
      parts.announce()
      return answerOf(states)
    },
  }
}

export type PushHooks = ReturnType<typeof createPushHooks>

function answerOf(states: readonly resources.PushAnswer['state'][]): resources.PushAnswer {
  if (states.includes('WANTED')) return { state: 'WANTED', message: 'It is fetched and deployed.' }
  if (states.includes('REMOVED'))
    return {
      state: 'REMOVED',
      message: 'Previews of branches that are deleted or whose pull request is closed are removed.',
    }
  return { state: 'IGNORED', message: 'No environment follows this branch.' }
}
