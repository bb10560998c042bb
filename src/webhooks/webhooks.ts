/**
 * Calls of webhooks: a caller with the right token asks for a build or a purge, and gets the operation that satisfies the call.
 * The operation is committed before the answer, and nothing else is done before it.
 *
 * A CMS calls in bursts. Calls of one environment that come while others are being recorded are recorded together, in one
 * transaction after theirs; and all of them join the build that waits (`deployments/requests/request-build`).
 */
import type { Account } from '../accounts/index.ts'
import type { Clock } from '../base/index.ts'
import { type Changed, inWords, purgeTagsOf, readNamed, readPayload, united } from '../content/index.ts'
import { LIMITS, type names, PROBLEMS, Problem, resources } from '../contract/index.ts'
import type { BuildRequests, ClearCache, Quiet } from '../deployments/index.ts'
import type { Operation, Operations } from '../operations/index.ts'
import type { Sql } from '../storage/index.ts'
import { type Asked, type Ledger, webhookRequester } from '../triggers/index.ts'
import { createBursts } from './bursts.ts'
import type { WebhookRates } from './rates.ts'
import type { Opened, WebhookSets } from './sets.ts'

/** A call as it came, before any check. */
export type WebhookCall = {
  at: names.EnvironmentPath
  action: string
  token: string
  address: string
  userAgent: string
  /** What changed, as the URL names it. */
  content?: string
  /** Undefined if the body is too long, or does not come. */
  readBody?(maxBytes: number): Promise<Uint8Array | undefined>
}

/** What satisfies a call. Calls that were merged share one object. */
export type Accepted = { account: Account; operation: Operation }

/** A read of the operation that a call was answered with. */
export type WebhookRead = Omit<WebhookCall, 'userAgent' | 'content' | 'readBody'> & { operation: string }

/** `changed` counts for purges. */
type Item = { opened: Opened; asked: Asked; changed: Changed }

type Parts = {
  sql: Sql
  clock: Clock
  sets: WebhookSets
  rates: WebhookRates
  ledger: Ledger
  operations: Pick<Operations, 'announce' | 'requireDoing'>
  buildRequests: Pick<BuildRequests, 'join' | 'rebuild'>
  clearCache: ClearCache
  /** Throws if a build could not begin: the quota is used up, or the machine cannot isolate accounts from each other. */
  admitBuild(account: Account, environmentId: string): Promise<void>
}

export function createWebhooks(parts: Parts) {
  const { sql, clock, sets, rates, ledger, operations, buildRequests, clearCache } = parts
  const builds = createBursts<Item, Accepted>((_, items) => recorded(items, build))
  const purges = createBursts<Item, Accepted>((_, items) => recorded(items, purge))

  async function build(opened: Opened, asked: Asked[]): Promise<Accepted> {
    const { account, appName, environmentId, generation } = opened
    const wanted = { asked, quiet: quietOf(opened) }
    // A waiting build begins anyway: joining it takes no space, and no worker needs to be woken.
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
      return buildRequests.rebuild(tx, { account, appName, environmentId }, wanted)
    })
    operations.announce()
    return { account, operation }
  }

  /** Callers that are answered together get what each of them needs: if one does not know what changed, it is everything. */
  async function purge(opened: Opened, asked: Asked[], changes: readonly Changed[]): Promise<Accepted> {
    const { account, appName, environmentId, generation } = opened
    await sets.requireCurrent(sql, environmentId, generation)
    const changed = united(changes)
    const what = changed === 'everything' ? {} : { tags: purgeTagsOf(changed), content: inWords(changed) }
    return { account, operation: await clearCache({ account, appName, environmentId }, what, asked) }
  }

  /** What a call says that changed. Its body is read only where that matters. */
  async function changedBy({ isLearned }: Opened, { content, readBody }: WebhookCall): Promise<Changed> {
    if (!isLearned) return 'everything'
    if (content !== undefined) return readNamed(content)
    const body = await readBody?.(LIMITS.contentBodyBytes)
    return body ? readPayload(body) : 'everything'
  }

  /** Refused calls are in the ledger too, with the reason, except if the token was replaced after the call came. */
  async function recorded(items: readonly Item[], work: typeof purge | typeof build): Promise<Accepted> {
    const { opened } = items[0] as Item
    const asked = items.map((item) => item.asked)
    try {
      return await work(
        opened,
        asked,
        items.map((item) => item.changed),
      )
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
    async call(call: WebhookCall): Promise<Accepted> {
      const { at, action, token, address, userAgent } = call
      const time = clock.now()
      const opened = await sets.open(at, action, token)
      if (!opened) throw rates.guess(address) ?? new Problem('WEBHOOK_REFUSED')
      const { environmentId } = opened
      const calls = resources.ACTION_OF_WEBHOOK[action as resources.WebhookAction]
      const agent = userAgent.replaceAll(token, '[secret]').replaceAll(/token=[\w-]+/g, 'token=[secret]')
      const requestedBy = webhookRequester(calls, agent)
      const asked: Asked = { action: calls, source: 'WEBHOOK', requestedBy, address, userAgent: agent, time }
      const refusal = rates.call(environmentId, calls)
      if (refusal) {
        if (rates.isFirstRefusal(environmentId, calls)) await record(opened, [asked], refusal)
        throw refusal
      }
      const key = `${environmentId} ${opened.generation}`
      if (asked.action !== 'PURGE_CACHE') return builds.join(key, { opened, asked, changed: 'everything' })
      return purges.join(key, { opened, asked, changed: await changedBy(opened, call) })
    },

    /**
     * The operation that a call of this URL was answered with, or the one that took its place. Any other operation is not
     * found, even one of the same environment.
     */
    async read({ at, action, token, address, operation }: WebhookRead): Promise<Accepted> {
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
