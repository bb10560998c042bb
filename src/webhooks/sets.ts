/**
 * The webhook set of an environment: three tokens, one for each action, so that a leaked URL that purges cannot start a
 * build. They are made, regenerated and deleted together. Only digests are stored, and every call reads them again: an old
 * token stops working when its replacement or deletion is committed, in every process of the service.
 */
import type { Account, Accounts } from '../accounts/index.ts'
import { type Environments, notifyBelow } from '../apps/index.ts'
import { type Clock, digestOf, type NewId, randomToken, Secret, sameDigest } from '../base/index.ts'
import { fieldInvalid, type names, Problem, resources } from '../contract/index.ts'
import { type Reader, type Sql, statement } from '../storage/index.ts'

export type WebhookSet = {
  environmentId: string
  quietSeconds: number
  maxQuietSeconds: number
  createTime: number
  regenerateTime: number
}

export type IssuedSet = WebhookSet & { tokens: Record<resources.WebhookAction, Secret> }

/** The environment that a right token gives access to. */
export type Opened = {
  account: Account
  appName: string
  environmentId: string
  /** Changes with every regeneration. */
  generation: string
  quietSeconds: number
  maxQuietSeconds: number
  /** When the token was made. */
  regenerateTime: number
  /** Pages are kept by their content: it matters what changed. */
  isLearned: boolean
}

type Row = {
  environment_id: string
  quiet_seconds: number
  max_quiet_seconds: number
  create_time: number
  regenerate_time: number
}

type KeyRow = Row & {
  generation: string
  rebuild_digest: string
  clean_rebuild_digest: string
  purge_cache_digest: string
}

const columns = statement`environment_id, quiet_seconds, max_quiet_seconds, create_time, regenerate_time`
const keyColumns = statement`${columns}, generation, rebuild_digest, clean_rebuild_digest, purge_cache_digest`

const QUIET_DEFAULT = { seconds: 0, maxSeconds: 60 }

const DIGEST_COLUMNS = {
  rebuild: 'rebuild_digest',
  cleanRebuild: 'clean_rebuild_digest',
  purgeCache: 'purge_cache_digest',
} as const satisfies Record<resources.WebhookAction, keyof KeyRow>

/** The comparison for a set that does not exist, so that the answer takes the same time. */
const NO_DIGEST = digestOf('')

type Parts = {
  sql: Sql
  clock: Clock
  newId: NewId
  accounts: Pick<Accounts, 'find'>
  environments: Pick<Environments, 'findOpen' | 'stateOf'>
}

export function createWebhookSets({ sql, clock, newId, accounts, environments }: Parts) {
  async function require(reader: Reader, environmentId: string): Promise<WebhookSet> {
    const [row] = await reader.query<Row>(
      statement`SELECT ${columns} FROM webhook_sets WHERE environment_id = ${environmentId}`,
    )
    if (!row) throw new Problem('WEBHOOKS_NOT_FOUND')
    return toSet(row)
  }

  return {
    require: (environmentId: string): Promise<WebhookSet> => require(sql, environmentId),

    async create(environmentId: string): Promise<IssuedSet> {
      const tokens = makeTokens()
      const { rebuild, cleanRebuild, purgeCache } = digestsOf(tokens)
      const now = clock.now()
      const row = await sql.transaction(async (tx) => {
        const state = await environments.stateOf(tx, environmentId)
        if (!state) throw new Problem('ENVIRONMENT_NOT_FOUND')
        if (state === 'DELETING') throw new Problem('ENVIRONMENT_DELETING')
        await notifyBelow(tx, environmentId, 'webhooks')
        const [made] = await tx.query<Row>(statement`
          INSERT INTO webhook_sets (environment_id, generation, rebuild_digest, clean_rebuild_digest, purge_cache_digest,
            quiet_seconds, max_quiet_seconds, create_time, regenerate_time)
          VALUES (${environmentId}, ${newId()}, ${rebuild}, ${cleanRebuild}, ${purgeCache},
            ${QUIET_DEFAULT.seconds}, ${QUIET_DEFAULT.maxSeconds}, ${now}, ${now})
          ON CONFLICT (environment_id) DO NOTHING RETURNING ${columns}`)
        if (!made) throw new Problem('WEBHOOKS_EXIST')
        return made
      })
      return { ...toSet(row), tokens }
    },

    /** When it resolves, the URLs from before are not valid any more. */
    async regenerate(environmentId: string): Promise<IssuedSet> {
      const tokens = makeTokens()
      const { rebuild, cleanRebuild, purgeCache } = digestsOf(tokens)
      const row = await sql.transaction(async (tx) => {
        await notifyBelow(tx, environmentId, 'webhooks')
        const [made] = await tx.query<Row>(statement`
          UPDATE webhook_sets SET generation = ${newId()}, rebuild_digest = ${rebuild},
            clean_rebuild_digest = ${cleanRebuild}, purge_cache_digest = ${purgeCache}, regenerate_time = ${clock.now()}
          WHERE environment_id = ${environmentId} RETURNING ${columns}`)
        if (!made) throw new Problem('WEBHOOKS_NOT_FOUND')
        return made
      })
      return { ...toSet(row), tokens }
    },

    change(environmentId: string, given: resources.ChangedWebhookSet): Promise<WebhookSet> {
      return sql.transaction(async (tx) => {
        const before = await require(tx, environmentId)
        const { quietSeconds, maxQuietSeconds } = { ...before, ...given }
        if (maxQuietSeconds < quietSeconds) {
          throw fieldInvalid('maxQuietSeconds', `must not be less than quietSeconds, which is ${quietSeconds}`)
        }
        await notifyBelow(tx, environmentId, 'webhooks')
        await tx.query(statement`
          UPDATE webhook_sets SET quiet_seconds = ${quietSeconds}, max_quiet_seconds = ${maxQuietSeconds}
          WHERE environment_id = ${environmentId}`)
        return { ...before, quietSeconds, maxQuietSeconds }
      })
    },

    /** When it resolves, the URLs are not valid any more. */
    async remove(environmentId: string) {
      await sql.transaction(async (tx) => {
        await notifyBelow(tx, environmentId, 'webhooks')
        const [gone] = await tx.query(
          statement`DELETE FROM webhook_sets WHERE environment_id = ${environmentId} RETURNING environment_id`,
        )
        if (!gone) throw new Problem('WEBHOOKS_NOT_FOUND')
      })
    },

    /**
     * The environment that this token gives access to for this action; undefined whatever is wrong. All look-ups and the
     * comparison are made in every case, so that the time of the answer does not reveal what is wrong either.
     */
    async open(at: names.EnvironmentPath, action: string, token: string): Promise<Opened | undefined> {
      const [[row], environment, account] = await Promise.all([
        sql.query<KeyRow>(statement`SELECT ${keyColumns} FROM webhook_sets WHERE environment_id = ${at.environment}`),
        environments.findOpen(at.app, at.environment),
        accounts.find(at.account),
      ])
      const isRight = sameDigest(row && isAction(action) ? row[DIGEST_COLUMNS[action]] : NO_DIGEST, digestOf(token))
      if (!row || !isAction(action) || !isRight) return undefined
      if (!account || environment?.accountId !== account.id) return undefined
      return {
        account,
        appName: environment.appName,
        environmentId: row.environment_id,
        generation: row.generation,
        quietSeconds: row.quiet_seconds,
        maxQuietSeconds: row.max_quiet_seconds,
        regenerateTime: row.regenerate_time,
        isLearned: environment.isLearned,
      }
    },

    /** The tokens may have been replaced since the call was checked. */
    async requireCurrent(reader: Reader, environmentId: string, generation: string) {
      const [row] = await reader.query(statement`
        SELECT environment_id FROM webhook_sets
        WHERE environment_id = ${environmentId} AND generation = ${generation}`)
      if (!row) throw new Problem('WEBHOOK_REFUSED')
    },
  }
}

export type WebhookSets = ReturnType<typeof createWebhookSets>

const isAction = (text: string): text is resources.WebhookAction =>
  (resources.WEBHOOK_ACTIONS as readonly string[]).includes(text)

const ofEach = <T>(make: (action: resources.WebhookAction) => T): Record<resources.WebhookAction, T> => ({
  rebuild: make('rebuild'),
  cleanRebuild: make('cleanRebuild'),
  purgeCache: make('purgeCache'),
})

const makeTokens = () => ofEach(() => new Secret(randomToken()))
const digestsOf = (tokens: IssuedSet['tokens']) => ofEach((action) => digestOf(tokens[action].reveal()))

const toSet = (row: Row): WebhookSet => ({
  environmentId: row.environment_id,
  quietSeconds: row.quiet_seconds,
  maxQuietSeconds: row.max_quiet_seconds,
  createTime: row.create_time,
  regenerateTime: row.regenerate_time,
})
