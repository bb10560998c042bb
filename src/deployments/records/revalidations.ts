/**
 * The record of what was revalidated in an environment, by the app, a purge or a deployment. A framework keeps that in the
 * memory of a process; here it outlives the process and the service. Each process of the environment gets it as a file
 * (runtime/hooks), at its start and whenever it changes in a way that the process cannot know of.
 *
 * The record is bounded. If there are too many tags, the oldest are merged into one entry: everything of that age has expired.
 * To expire too much costs time, and never shows an old page.
 */
import type { Environments } from '../../apps/index.ts'
import { type Clock, withoutTrailingSlashes } from '../../base/index.ts'
import { type Reader, rows, type Sql, statement, type Transaction } from '../../storage/index.ts'

export type Revalidated = {
  /** Everything that is older has expired. */
  everything: number
  /** What has the tag and is older has expired. */
  tags: Record<string, number>
}

export const REVALIDATION_LIMITS = {
  /** In an environment. */
  tags: 2000,
  /** In one call. */
  tagsAtOnce: 200,
  /** Characters of one tag as Next.js makes it, after escaping. */
  tagLength: 1024,
}

/** The tag of the row that expires everything. */
const EVERYTHING = ''

type TagTimes = Readonly<Record<string, number>>

type Parts = { sql: Sql; clock: Clock; environments: Pick<Environments, 'exists'> }

export function createRevalidations({ sql, clock, environments }: Parts) {
  /** The number of deployments that are under way, by environment. */
  const successors = new Map<string, number>()

  async function note(tx: Transaction, environmentId: string, tags: TagTimes) {
    const now = clock.now()
    const given = Object.entries(tags).filter(([tag]) => tag !== EVERYTHING)
    if (given.length === 0) return
    const times = given.map(([tag, time]): [string, number] => [tag, Math.min(time, now)])
    const { tagsAtOnce, tagLength } = REVALIDATION_LIMITS
    if (times.length > tagsAtOnce || times.some(([tag]) => tag.length > tagLength)) {
      return noteEverything(tx, environmentId, Math.max(...times.map(([, time]) => time)))
    }
    await put(tx, environmentId, times)
    await bound(tx, environmentId)
  }

  async function noteEverything(tx: Transaction, environmentId: string, time = clock.now()) {
    await put(tx, environmentId, [[EVERYTHING, time]])
    await tx.query(statement`
      DELETE FROM revalidations
      WHERE environment_id = ${environmentId} AND tag <> ${EVERYTHING} AND revalidate_time <= ${time}`)
  }

  async function put(tx: Transaction, environmentId: string, times: readonly [string, number][]) {
    // It may have been deleted in the meantime.
    if (!(await environments.exists(tx, environmentId))) return
    await tx.query(statement`
      INSERT INTO revalidations (environment_id, tag, revalidate_time)
      VALUES ${rows(times.map(([tag, time]) => [environmentId, tag, time]))}
      ON CONFLICT (environment_id, tag) DO UPDATE SET revalidate_time =
        CASE WHEN excluded.revalidate_time > revalidations.revalidate_time
          THEN excluded.revalidate_time ELSE revalidations.revalidate_time END`)
  }

  async function bound(tx: Transaction, environmentId: string) {
    const ours = statement`environment_id = ${environmentId} AND tag <> ${EVERYTHING}`
    const [counted] = await tx.query<{ n: number }>(statement`SELECT COUNT(*) AS n FROM revalidations WHERE ${ours}`)
    if ((counted?.n ?? 0) <= REVALIDATION_LIMITS.tags) return
    const [oldest] = await tx.query<{ revalidate_time: number }>(statement`
      SELECT revalidate_time FROM revalidations WHERE ${ours}
      ORDER BY revalidate_time DESC LIMIT 1 OFFSET ${REVALIDATION_LIMITS.tags / 2}`)
    if (oldest) await noteEverything(tx, environmentId, oldest.revalidate_time)
  }

  return {
    note,
    noteEverything,

    async read(environmentId: string, reader: Reader = sql): Promise<Revalidated> {
      const found = await reader.query<{ tag: string; revalidate_time: number }>(
        statement`SELECT tag, revalidate_time FROM revalidations WHERE environment_id = ${environmentId}`,
      )
      const tags = Object.fromEntries(found.map(({ tag, revalidate_time }) => [tag, revalidate_time]))
      const { [EVERYTHING]: everything = 0, ...others } = tags
      return { everything, tags: others }
    },

    /**
     * A new deployment is under way that begins with the pages of now. Until the returned function is called, pages that the app
     * makes are recorded, since the new deployment will not have them.
     */
    expectSuccessor(environmentId: string): () => void {
      successors.set(environmentId, (successors.get(environmentId) ?? 0) + 1)
      return () => {
        const left = (successors.get(environmentId) ?? 1) - 1
        if (left > 0) successors.set(environmentId, left)
        else successors.delete(environmentId)
      }
    },
    isReplaced: (environmentId: string): boolean => successors.has(environmentId),
  }
}

export type Revalidations = ReturnType<typeof createRevalidations>

/** A purge, expressed in the tags that entries of Next.js have. */
export function tagsOfPurge({ paths = [], tags = [] }: { paths?: readonly string[]; tags?: readonly string[] }) {
  return [...new Set([...paths.flatMap(tagsOfPath), ...tags.map(encodeTag)])]
}

/** The prefix by which Next.js makes a tag of the path of a page. The path without it matches what is requested by that path. */
const PATH_TAG = '_N_T_'

function tagsOfPath(given: string): string[] {
  const [pathname = '/'] = given.split(/[?#]/, 1)
  const path = encodeTag(decoded(withoutTrailingSlashes(pathname) || '/'))
  return [path, PATH_TAG + path, ...(path === '/' ? [`${PATH_TAG}/index`] : [])]
}

function decoded(path: string): string {
  try {
    return decodeURI(path)
  } catch {
    return path
  }
}

/** As runtime/hooks/next/visits.cjs writes them: characters that a header may have, and all others as escaped bytes. */
const encodeTag = (tag: string): string =>
  tag
    .replaceAll(/[^\x20-\x7e]|,/gu, (character) =>
      [...Buffer.from(character)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join(''),
    )
    .trim()
