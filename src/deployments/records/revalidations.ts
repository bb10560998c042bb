/**
 * The record of what was revalidated in an environment, by the app, a purge or a deployment. A framework keeps that in the
 * memory of a process; here it outlives the process and the service. Each process of the environment gets it as a file
 * (runtime/hooks), at its start and whenever it changes in a way that the process cannot know of.
 *
 * The record is bounded. Where there are too many tags, the oldest become one statement: everything that is as old has expired.
 * To expire too much costs time, and never shows an old page.
 */
import { type Clock, withoutTrailingSlashes } from '../../base/index.ts'
import { type Reader, rows, type Sql, statement, type Transaction } from '../../storage/index.ts'

export type Revalidated = {
  /** Everything that is older has expired. */
  everything: number
  /** What has the tag and is older has expired. */
  tags: Record<string, number>
}

export const REVALIDATION_LIMITS = {
  /** Of an environment. */
  tags: 2000,
  /** That one call adds. */
  tagsAtOnce: 200,
  /** As Next.js makes them, with every character escaped. */
  tagLength: 1024,
}

/** The tag of the row that stands for everything. */
const EVERYTHING = ''

type TagTimes = Readonly<Record<string, number>>

export function createRevalidations({ sql, clock }: { sql: Sql; clock: Clock }) {
  /** How many deployments are on their way in an environment. */
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
    const found = await tx.query(statement`SELECT id FROM environments WHERE id = ${environmentId}`)
    // It was deleted meanwhile.
    if (found.length === 0) return
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
     * A deployment is on its way that begins with what there is now. Until this is called back, pages that the app makes
     * meanwhile are part of the record, since the deployment will not have them.
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

/** A purge in the tags that entries of Next.js have. */
export function tagsOfPurge({ paths = [], tags = [] }: { paths?: readonly string[]; tags?: readonly string[] }) {
  return [...new Set([...paths.flatMap(tagsOfPath), ...tags.map(encodeTag)])]
}

/** What Next.js puts before the path of a page to make it a tag. The path itself stands for whatever is asked for by it. */
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

/** As runtime/hooks/next/visits.cjs writes them: what may stand in a header, and the rest as escaped bytes. */
const encodeTag = (tag: string): string =>
  tag
    .replaceAll(/[^\x20-\x7e]|,/gu, (character) =>
      [...Buffer.from(character)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join(''),
    )
    .trim()
