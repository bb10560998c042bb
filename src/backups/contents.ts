/** The contents of a backup, by the rows of one moment, and which of them must exist. */
import { createBuildRetention } from '../builds/index.ts'
import { readPackDigests } from '../git/index.ts'
import { readSnapshotDigests } from '../snapshots/index.ts'
import { MIGRATIONS, type Sql, statement } from '../storage/index.ts'

export type Part = {
  path: string
  /** No operation is about to make or remove it: if it is missing, it was lost. */
  isDue: boolean
}

export type Contents = {
  archives: Part[]
  outputs: Part[]
  packages: Part[]
  /** The apps' key-value store. */
  values: string[]
}

/** The migration that added the table of newest and pinned archives. */
export const SOURCES_SINCE = MIGRATIONS.find(({ name }) => name === 'sources')?.id ?? 0

/** The migration that added the repositories of apps. */
const REPOSITORIES_SINCE = MIGRATIONS.find(({ name }) => name === 'repositories')?.id ?? 0

/** The migration that added content snapshots. */
const SNAPSHOTS_SINCE = MIGRATIONS.find(({ name }) => name === 'content snapshots')?.id ?? 0

/** `schema`: the newest migration of the database, which may be one of an earlier version. */
export async function contentsOf(sql: Sql, schema: number): Promise<Contents> {
  const ids = (rows: { id: string }[]) => rows.map(({ id }) => id)
  const buildRetention = createBuildRetention({
    sql,
    environmentIdsOf: async (accountId) =>
      ids(await sql.query(statement`SELECT id FROM environments WHERE account_id = ${accountId}`)),
  })
  // A running operation may have recorded files that it has yet to write, or removed files whose rows it has yet to
  // delete. When it is resumed, it detects that.
  const unsettled = new Set(
    ids(await sql.query(statement`SELECT DISTINCT environment_id AS id FROM operations WHERE done_time IS NULL`)),
  )
  function parts(held: readonly { environmentId: string; key: string }[], pathOf: (key: string) => string): Part[] {
    const found = new Map<string, Part>()
    for (const { environmentId, key } of held) {
      const path = pathOf(key)
      found.set(path, { path, isDue: !unsettled.has(environmentId) || found.get(path)?.isDue === true })
    }
    return [...found.values()]
  }
  const archives =
    schema < SOURCES_SINCE ? await buildRetention.archivesOfBuilds() : await buildRetention.archivesOfNextBuilds()
  const hex = (digest: string) => digest.slice('sha256:'.length)
  const blobOf = (digest: string) => `blobs/${hex(digest).slice(0, 2)}/${hex(digest)}`
  const due = parts(archives, blobOf)
  const dueBlobs = new Set(due.map(({ path }) => path))
  // Earlier versions removed these.
  const rolledBackTo = parts(await buildRetention.archivesOfOutputs(), blobOf)
    .filter(({ path }) => !dueBlobs.has(path))
    .map(({ path }) => ({ path, isDue: false }))

  // Whatever operations do, a pack has its row only after it is written, and goes only after its row.
  const packs = schema < REPOSITORIES_SINCE ? [] : await readPackDigests(sql)
  // So with a snapshot of content.
  const snapshots = schema < SNAPSHOTS_SINCE ? [] : await readSnapshotDigests(sql)
  return {
    archives: [
      ...due,
      ...rolledBackTo,
      ...[...new Set([...packs, ...snapshots])].map((digest) => ({ path: blobOf(digest), isDue: true })),
    ],
    outputs: parts(await buildRetention.outputs(), (key) => `outputs/${hex(key)}`),
    packages: parts(await buildRetention.packages(), (key) => `packages/${key}`),
    values: ids(await sql.query(statement`SELECT id FROM environments`)).map((id) => `environments/${id}/values`),
  }
}
