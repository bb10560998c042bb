/**
 * What a rebuild of an environment builds. There are two states:
 *
 *   newest  the newest upload, whether or not it built
 *   pinned  the archive of a deployment that was made live although it was not of the newest upload: a rollback
 *
 * newest → pinned when such a deployment is live, and pinned → newest when an upload or a deployment of the newest upload is
 * live, or when the pin is taken off. A rebuild that waits is of the archive that the state names: a change of the
 * state changes the rebuild in the same transaction.
 */
import type { Clock } from '../base/index.ts'
import { type Digest, list, type Reader, type Sql, statement, type Transaction, tellBelow } from '../storage/index.ts'
import type { Archive } from './builds.ts'

export type Pin = {
  archive: Archive
  /** The deployment that was made live. It may be discarded since: later builds of the archive take its place. */
  deployment: string
  /** The operation that made it live; unknown where that was before pins were recorded. */
  operation: string | null
  time: number
}

type PinRow = {
  environment_id: string
  pin_digest: Digest | null
  pin_bytes: number
  pin_files: number
  pin_deployment: string
  pin_operation: string | null
  pin_time: number
}
type SourceRow = PinRow & { archive_digest: Digest; archive_bytes: number; archive_files: number }

const pinColumns = statement`environment_id, pin_digest, pin_bytes, pin_files, pin_deployment, pin_operation, pin_time`
const NO_PIN = statement`pin_digest = NULL, pin_bytes = NULL, pin_files = NULL, pin_deployment = NULL,
  pin_operation = NULL, pin_time = NULL`

export function createSources({ sql, clock }: { sql: Sql; clock: Clock }) {
  async function find(reader: Reader, environmentId: string) {
    const [row] = await reader.query<SourceRow>(statement`
      SELECT ${pinColumns}, archive_digest, archive_bytes, archive_files FROM sources
      WHERE environment_id = ${environmentId}`)
    if (!row) return undefined
    const newest: Archive = { digest: row.archive_digest, bytes: row.archive_bytes, files: row.archive_files }
    return { newest, pin: toPin(row) }
  }

  /** What a rebuild builds now, with the message and the commit of its upload; nothing where nothing was uploaded. */
  async function current(reader: Reader, environmentId: string): Promise<Archive | undefined> {
    const source = await find(reader, environmentId)
    const archive = source?.pin?.archive ?? source?.newest
    if (!archive) return undefined
    const [described] = await reader.query<{ message: string; git_commit: string | null }>(statement`
      SELECT message, git_commit FROM builds
      WHERE environment_id = ${environmentId} AND archive_digest = ${archive.digest} ORDER BY id DESC LIMIT 1`)
    if (!described) return archive
    const { message, git_commit: commit } = described
    return { ...archive, message, commit: commit === null ? null : JSON.parse(commit) }
  }

  async function retarget(tx: Transaction, environmentId: string) {
    const archive = await current(tx, environmentId)
    if (archive) {
      const rows = await tx.query<{ id: string }>(statement`
        UPDATE builds SET archive_digest = ${archive.digest}, archive_bytes = ${archive.bytes},
          archive_files = ${archive.files}, message = ${archive.message ?? ''},
          git_commit = ${archive.commit ? JSON.stringify(archive.commit) : null}
        WHERE environment_id = ${environmentId} AND state = 'QUEUED' AND start_time IS NULL AND trigger_name <> 'UPLOAD'
        AND archive_digest <> ${archive.digest} RETURNING id`)
      await tellBelow(tx, environmentId, ...rows.map(({ id }) => `builds/${id}`))
    }
    await tellBelow(tx, environmentId, '')
  }

  return {
    find,
    current,

    /** An upload was accepted. It ends no pin yet: it may not build. */
    async uploaded(tx: Transaction, environmentId: string, { digest, bytes, files }: Archive) {
      await tx.query(statement`
        INSERT INTO sources (environment_id, archive_digest, archive_bytes, archive_files)
        VALUES (${environmentId}, ${digest}, ${bytes}, ${files})
        ON CONFLICT (environment_id) DO UPDATE SET archive_digest = ${digest}, archive_bytes = ${bytes},
          archive_files = ${files}`)
    },

    /**
     * An upload was cancelled. If it was the newest, the upload before it takes its place, so that what was called off is not
     * put live by a rebuild: one that is still to be built, or one whose output is kept, and with it the archive. Else it is the
     * archive of the last good build, which is kept as long as it is the last.
     */
    async uploadCancelled(tx: Transaction, environmentId: string, { digest }: Archive) {
      const columns = statement`archive_digest, archive_bytes, archive_files`
      type Before = { archive_digest: Digest; archive_bytes: number; archive_files: number }
      const [uploaded] = await tx.query<Before>(statement`
        SELECT ${columns} FROM builds
        WHERE environment_id = ${environmentId} AND trigger_name = 'UPLOAD'
          AND ((finish_time IS NULL AND archive_digest <> ${digest}) OR (state = 'SUCCEEDED' AND output_digest IS NOT NULL))
        ORDER BY id DESC LIMIT 1`)
      const [good] = await tx.query<Before>(statement`
        SELECT ${columns} FROM builds
        WHERE environment_id = ${environmentId} AND state = 'SUCCEEDED' ORDER BY id DESC LIMIT 1`)
      const before = uploaded ?? good
      if (!before) return
      await tx.query(statement`
        UPDATE sources SET archive_digest = ${before.archive_digest}, archive_bytes = ${before.archive_bytes},
          archive_files = ${before.archive_files}
        WHERE environment_id = ${environmentId} AND archive_digest = ${digest}`)
      await retarget(tx, environmentId)
    },

    async pin(tx: Transaction, environmentId: string, { archive, deployment, operation }: Omit<Pin, 'time'>) {
      await tx.query(statement`
        UPDATE sources SET pin_digest = ${archive.digest}, pin_bytes = ${archive.bytes}, pin_files = ${archive.files},
          pin_deployment = ${deployment}, pin_operation = ${operation}, pin_time = ${clock.now()}
        WHERE environment_id = ${environmentId}`)
      await retarget(tx, environmentId)
    },

    async unpin(tx: Transaction, environmentId: string) {
      const gone = await tx.query(statement`
        UPDATE sources SET ${NO_PIN} WHERE environment_id = ${environmentId} AND pin_digest IS NOT NULL
        RETURNING environment_id`)
      if (gone.length > 0) await retarget(tx, environmentId)
    },

    /** By environment, for as many as a page has. */
    async pinsOf(environmentIds: readonly string[], reader: Reader = sql): Promise<Map<string, Pin>> {
      if (environmentIds.length === 0) return new Map()
      const rows = await reader.query<PinRow>(statement`
        SELECT ${pinColumns} FROM sources WHERE pin_digest IS NOT NULL AND environment_id IN (${list(environmentIds)})`)
      return new Map(rows.flatMap((row) => [[row.environment_id, toPin(row) as Pin] as const]))
    },
  }
}

export type Sources = ReturnType<typeof createSources>

const toPin = (row: PinRow): Pin | undefined =>
  row.pin_digest === null
    ? undefined
    : {
        archive: { digest: row.pin_digest, bytes: row.pin_bytes, files: row.pin_files },
        deployment: row.pin_deployment,
        operation: row.pin_operation,
        time: row.pin_time,
      }
