/**
 * The archive that a rebuild of an environment builds. There are two states:
 *
 *   newest  the newest upload, whether or not it built
 *   pinned  the archive of a deployment that was made live although it was not of the newest upload: a rollback
 *
 * newest → pinned when such a deployment becomes live; pinned → newest when an upload or a deployment of the newest upload
 * becomes live, or when the pin is removed. A rebuild that waits builds the archive of the current state: a change of the
 * state changes the rebuild in the same transaction.
 */
import type { Clock } from '../../base/index.ts'
import {
  type Digest,
  list,
  type NotifyBelow,
  type Reader,
  type Sql,
  statement,
  type Transaction,
} from '../../storage/index.ts'
import type { SourceArchive } from './build.ts'

export type Pin = {
  archive: SourceArchive
  /** The deployment that was made live. It may have been discarded since, when later builds of the archive replaced it. */
  deployment: string
  /** The operation that made it live; null where that was before pins were recorded. */
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

export function createSources({ sql, clock, notifyBelow }: { sql: Sql; clock: Clock; notifyBelow: NotifyBelow }) {
  async function find(reader: Reader, environmentId: string) {
    const [row] = await reader.query<SourceRow>(statement`
      SELECT ${pinColumns}, archive_digest, archive_bytes, archive_files FROM sources
      WHERE environment_id = ${environmentId}`)
    if (!row) return undefined
    const newest: SourceArchive = { digest: row.archive_digest, bytes: row.archive_bytes, files: row.archive_files }
    return { newest, pin: toPin(row) }
  }

  /** The archive that a rebuild builds now, with the message and the commit of its upload; undefined before the first upload. */
  async function current(reader: Reader, environmentId: string): Promise<SourceArchive | undefined> {
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
      await notifyBelow(tx, environmentId, ...rows.map(({ id }) => `builds/${id}`))
    }
    await notifyBelow(tx, environmentId, '')
  }

  return {
    find,
    current,

    /** An upload was accepted. The pin stays until the upload is live, since it may fail to build. */
    async uploaded(tx: Transaction, environmentId: string, { digest, bytes, files }: SourceArchive) {
      await tx.query(statement`
        INSERT INTO sources (environment_id, archive_digest, archive_bytes, archive_files)
        VALUES (${environmentId}, ${digest}, ${bytes}, ${files})
        ON CONFLICT (environment_id) DO UPDATE SET archive_digest = ${digest}, archive_bytes = ${bytes},
          archive_files = ${files}`)
    },

    /** An archive of another environment is live now. It takes the place of the newest upload, and of a pin. */
    async promoted(tx: Transaction, environmentId: string, { digest, bytes, files }: SourceArchive) {
      await tx.query(statement`
        INSERT INTO sources (environment_id, archive_digest, archive_bytes, archive_files)
        VALUES (${environmentId}, ${digest}, ${bytes}, ${files})
        ON CONFLICT (environment_id) DO UPDATE SET archive_digest = ${digest}, archive_bytes = ${bytes},
          archive_files = ${files}, ${NO_PIN}`)
      await retarget(tx, environmentId)
    },

    /**
     * An upload was cancelled. If it was the newest, the upload before it replaces it, so that a rebuild does not make the
     * cancelled upload live. It may still be unfinished, or have an output that is retained, and its archive with it. Otherwise
     * the archive of the last good build replaces it, which is retained while it is the last.
     */
    async uploadCancelled(tx: Transaction, environmentId: string, { digest }: SourceArchive) {
      const columns = statement`archive_digest, archive_bytes, archive_files`
      type Before = { archive_digest: Digest; archive_bytes: number; archive_files: number }
      const [uploaded] = await tx.query<Before>(statement`
        SELECT ${columns} FROM builds
        WHERE environment_id = ${environmentId} AND trigger_name IN ('UPLOAD', 'PROMOTE')
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

    /** By environment, for all environments of a page. */
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
