/**
 * The call of a webhook: who has the right token asks for a build or a purge, and is answered with the operation that
 * satisfies the call. Nothing but that is done before the answer, and what was answered with it is on the disk.
 *
 * A CMS calls in bursts. Calls of one environment that come while others are being written down are written down together,
 * in one transaction after theirs; and a build that waits is joined, however many calls there are (`deployments/request-build`).
 */
import type { Account } from '../accounts/index.ts'
import type { Clock } from '../base/index.ts'
import { type names, PROBLEMS, Problem, resources } from '../contract/index.ts'
import type { BuildRequests, ClearCache, Quiet } from '../deployments/index.ts'
import type { Operation, Operations } from '../operations/index.ts'
import type { Sql } from '../storage/index.ts'
import { type Asked, type Ledger, webhookRequester } from '../triggers/index.ts'
import { createBursts } from './bursts.ts'
import type { WebhookRates } from './rates.ts'
import type { Opened, WebhookSets } from './sets.ts'

/** A call as it came; nothing of it is known to be true. */
export type WebhookCall = {
  at: names.EnvironmentPath
  action: string
  token: string
  address: string
  userAgent: string
}

/** What satisfies a call. One object for all that were taken together. */
export type Taken = { account: Account; operation: Operation }

/** A question what became of a call. */
export type WebhookRead = Omit<WebhookCall, 'userAgent'> & { operation: string }

type Item = { opened: Opened; asked: Asked }

type Parts = {
  sql: Sql
  clock: Clock
  sets: WebhookSets
  rates: WebhookRates
  ledger: Ledger
  operations: Pick<Operations, 'announce' | 'requireDoing'>
  buildRequests: Pick<BuildRequests, 'join' | 'rebuild'>
  clearCache: ClearCache
  /** Throws where a build could not be begun anyway: the account is full, or the machine cannot keep accounts apart. */
  admitBuild(account: Account, environmentId: string): Promise<void>
}

export function createWebhooks(parts: Parts) {
  const { sql, clock, sets, rates, ledger, operations, buildRequests, clearCache } = parts
  const builds = createBursts<Item, Taken>((_, items) => recorded(items, build))
  const purges = createBursts<Item, Taken>((_, items) => recorded(items, purge))

  async function build(opened: Opened, asked: Asked[]): Promise<Taken> {
    const { account, appName, environmentId, generation } = opened
    const wanted = { asked, quiet: quietOf(opened) }
    // What waits is begun anyway: joining it takes no room, and wakes nobody.
    const joined = await sql.transaction(async (tx) => {
      const current = sets.requireCurrent(tx, environmentId, generation)
      const path = { accountId: account.id, appName, environmentId }
      const [, operation] = await Promise.all([current, buildRequests.join(tx, path, wanted)])
      return operation
    })
    if (joined) return { account, operation: joined }
    await parts.admitBuild(account, environmentId)
    const operation = await sql.transaction(async (tx) => {
      await sets.requireCurrent(tx, environmentId, generation)
      return buildRequests.rebuild(tx, account, appName, environmentId, wanted)
    })
    operations.announce()
    return { account, operation }
  }

  async function purge({ account, appName, environmentId, generation }: Opened, asked: Asked[]): Promise<Taken> {
    await sets.requireCurrent(sql, environmentId, generation)
    return { account, operation: await clearCache(account, appName, environmentId, {}, asked) }
  }

  /** Whoever is refused is in the ledger too, with the reason; but for tokens that were replaced since the call came. */
  async function recorded(items: readonly Item[], work: typeof build): Promise<Taken> {
    const { opened } = items[0] as Item
    const asked = items.map((item) => item.asked)
    try {
      return await work(opened, asked)
    } catch (error) {
      if (error instanceof Problem && error.reason !== 'WEBHOOK_REFUSED') await record(opened, asked, error)
      throw error
    }
  }

  async function record({ environmentId }: Opened, asked: Asked[], { reason }: Problem) {
    const { http } = PROBLEMS[reason]
    await sql.transaction((tx) => ledger.add(tx, environmentId, asked, { answer: http, reason }))
  }

  return {
    async call({ at, action, token, address, userAgent }: WebhookCall): Promise<Taken> {
      const time = clock.now()
      const opened = await sets.open(at, action, token)
      if (!opened) throw rates.guess(address) ?? new Problem('WEBHOOK_REFUSED')
      const { environmentId } = opened
      const calls = resources.ACTION_OF_WEBHOOK[action as resources.WebhookAction]
      const agent = userAgent.replaceAll(token, '[secret]').replaceAll(/token=[\w-]+/g, 'token=[secret]')
      const requestedBy = webhookRequester(calls, agent)
      const asked: Asked = { action: calls, source: 'WEBHOOK', requestedBy, address, userAgent: agent, time }
      const refusal = rates.call(environmentId, asked.action)
      if (refusal) {
        if (rates.isFirstRefusal(environmentId, asked.action)) await record(opened, [asked], refusal)
        throw refusal
      }
      const bursts = asked.action === 'PURGE_CACHE' ? purges : builds
      return bursts.join(`${environmentId} ${opened.generation}`, { opened, asked })
    },

    /**
     * The operation that a call of this very URL was answered with, or the one that took its place. Any other operation is
     * not there, be it one of the same environment.
     */
    async read({ at, action, token, address, operation }: WebhookRead): Promise<Taken> {
      const opened = await sets.open(at, action, token)
      if (!opened) throw rates.guess(address) ?? new Problem('WEBHOOK_REFUSED')
      const { account, appName, environmentId, regenerateTime } = opened
      const refusal = rates.read(environmentId)
      if (refusal) throw refusal
      const asked = { action: resources.ACTION_OF_WEBHOOK[action as resources.WebhookAction], since: regenerateTime }
      if (!(await ledger.isAnsweredWith(environmentId, operation, asked))) throw new Problem('OPERATION_NOT_FOUND')
      const path = { accountId: account.id, appName, environmentId }
      return { account, operation: await operations.requireDoing(path, operation) }
    },
  }
}

export type Webhooks = ReturnType<typeof createWebhooks>

const quietOf = ({ quietSeconds, maxQuietSeconds }: Pick<Opened, 'quietSeconds' | 'maxQuietSeconds'>): Quiet => ({
  ms: quietSeconds * 1000,
  maxMs: maxQuietSeconds * 1000,
})
