/**
 * Purges that come from outside of the edge: from a caller of the API, an app or a webhook. Each is done when the edges confirm
 * it, and only then recorded in the ledger, which shows later why a page is new.
 *
 * What a caller or a webhook purges expires in the app's own cache first, if the service has a hook in it. An app that
 * revalidates has done that by itself; what it revalidated is recorded for its next processes.
 */
import type { Environment } from '../apps/index.ts'
import type { Clock } from '../base/index.ts'
import { Problem, type resources } from '../contract/index.ts'
import type { Edges } from '../edge/index.ts'
import type { Instances } from '../runtime/index.ts'
import type { Sql } from '../storage/index.ts'
import { APP_REQUESTER, type Asked, type Ledger, type PurgeSummary } from '../triggers/index.ts'
import type { PurgePublish } from './publishing/publishing.ts'
import { type Revalidations, tagsOfPurge } from './records/revalidations.ts'

/**
 * Everything of the environment if neither paths nor tags are given; otherwise what matches one of the entries. `content` is given where
 * the tags are those of content that changed, and names it in words.
 */
export type Purged = { paths?: readonly string[]; tags?: readonly string[]; content?: readonly string[] }

/** Reported by an app, by tag: the time before which entries are expired, and the time at which it made pages. */
export type AppTimes = { revalidated?: Readonly<Record<string, number>>; made?: Readonly<Record<string, number>> }

export type PurgeRecord = {
  id: string
  source: resources.TriggerSource
  /** With only the first entries of each. */
  what: Purged
  /** The number of all entries; 0 if everything was purged. */
  count: number
  time: number
}

const ENTRIES_KEPT = 20
const ENTRY_LENGTH_KEPT = 200

/** An edge that does not answer is fenced with the end of its lease, which is certain after this further time. */
const MARGIN_MS = 5000
const RETRY_AFTER_SECONDS = 5

type Parts = {
  sql: Sql
  clock: Clock
  ledger: Ledger
  edges: Pick<Edges, 'purge' | 'leaseMs'>
  revalidations: Revalidations
  instances: Pick<Instances, 'refreshExpiries'>
  /** Instances share no files: what one has made, neither the others have nor those that are started later. */
  isSpread?: boolean
}

export function createPurges(parts: Parts) {
  const { sql, clock, ledger, edges, revalidations, instances, isSpread = false } = parts

  /** Resolves when no later request is answered with what was purged. */
  async function atEdge({ id }: Pick<Environment, 'id'>, { paths, tags }: Purged, publish?: string) {
    const done = new AbortController()
    const late = new AbortController()
    clock.sleep(edges.leaseMs + MARGIN_MS, done.signal).then(() => late.abort())
    try {
      const named = { ...(paths?.length ? { paths } : {}), ...(tags?.length ? { tags } : {}) }
      const given = { ...named, ...(publish === undefined ? {} : { publish }) }
      await edges.purge({ environment: id, ...given }, late.signal)
    } catch (error) {
      if (!late.signal.aborted) throw error
      throw new Problem('PURGE_NOT_CONFIRMED', undefined, { retryAfterSeconds: RETRY_AFTER_SECONDS })
    } finally {
      done.abort()
    }
  }

  /** Pages that were made count only where an instance may answer that does not have them, as while a new deployment is under way. */
  async function noteOfApp({ id }: Pick<Environment, 'id'>, { revalidated = {}, made = {} }: AppTimes) {
    const tags = isSpread || revalidations.isReplaced(id) ? { ...made, ...revalidated } : revalidated
    if (Object.keys(tags).length === 0) return
    await sql.transaction((tx) => revalidations.note(tx, id, tags))
    // The process that revalidates knows it already. Other instances do not, and the agent starts the next ones by itself.
    await instances.refreshExpiries(id)
  }

  return {
    /** From the app's own cache and from the edge's. Done when it resolves. */
    async everywhere(
      { id }: Pick<Environment, 'id'>,
      what: Purged,
      publish?: Pick<PurgePublish, 'id' | 'begin'>,
    ): Promise<void> {
      const time = clock.now()
      // Entries of the app's own cache do not say what content they are made of.
      const tags = what.content ? [] : tagsOfPurge(what)
      await sql.transaction(async (tx) => {
        await publish?.begin(tx)
        if (tags.length === 0) await revalidations.noteEverything(tx, id, time)
        else await revalidations.note(tx, id, Object.fromEntries(tags.map((tag) => [tag, time])))
      })
      await instances.refreshExpiries(id)
      await atEdge({ id }, what, publish?.id)
    },

    /** By the app itself. Done and recorded when it resolves. Lists that are given and empty purge nothing. */
    async byApp(environment: Pick<Environment, 'id'>, what: Purged, times?: AppTimes): Promise<void> {
      if (times) await noteOfApp(environment, times)
      if (isOfNothing(what)) return
      await atEdge(environment, what)
      const who = { source: 'APP', requestedBy: APP_REQUESTER, address: '', userAgent: '' } as const
      const asked: Asked = { action: 'PURGE_CACHE', ...who, time: clock.now() }
      await sql.transaction((tx) => ledger.add(tx, environment.id, [asked], { answer: 200, purged: abridge(what) }))
    },

    /** The newest first. */
    async last(environmentId: string, max: number): Promise<PurgeRecord[]> {
      const entries = await ledger.lastPurges(environmentId, max)
      return entries.map(({ id, source, time, purged }) => ({ id, source, time, what: {}, count: 0, ...purged }))
    },
  }
}

export type Purges = ReturnType<typeof createPurges>

export const isOfNothing = ({ paths, tags }: Purged): boolean =>
  (paths !== undefined || tags !== undefined) && (paths?.length ?? 0) + (tags?.length ?? 0) === 0

/** Keeps a record small, however much was purged. */
export function abridge({ paths, tags, content }: Purged): PurgeSummary {
  const shorten = (entries: readonly string[], max: number) =>
    entries.slice(0, max).map((entry) => entry.slice(0, ENTRY_LENGTH_KEPT).toWellFormed())
  const shownPaths = shorten(paths ?? [], ENTRIES_KEPT)
  const shownTags = shorten(tags ?? [], ENTRIES_KEPT - shownPaths.length)
  return {
    what: {
      ...(paths ? { paths: shownPaths } : {}),
      ...(tags ? { tags: shownTags } : {}),
      ...(content ? { content: shorten(content, ENTRIES_KEPT) } : {}),
    },
    count: (paths?.length ?? 0) + (tags?.length ?? 0),
  }
}
