/** Where deployments come from: what made each of them, who asked for it, and the archive of its build. */
import type { SourceArchive } from '../../builds/index.ts'
import type { resources } from '../../contract/index.ts'
import { type Digest, list, type Reader, statement } from '../../storage/index.ts'

export type Origin = { trigger: resources.Trigger; requestedBy: resources.Requester | null; archive: SourceArchive }

type Row = {
  id: string
  trigger_name: resources.Trigger
  requested_by: string | null
  archive_digest: Digest
  archive_bytes: number
  archive_files: number
  message: string
  git_commit: string | null
}

/** By the id of the deployment, for as many as a page has. One that is gone meanwhile is not among them. */
export async function readOrigins(reader: Reader, deployments: readonly string[]): Promise<Map<string, Origin>> {
  if (deployments.length === 0) return new Map()
  const rows = await reader.query<Row>(statement`
    SELECT d.id, o.trigger_name, o.requested_by, b.archive_digest, b.archive_bytes, b.archive_files, b.message,
      b.git_commit
    FROM deployments d JOIN builds b ON b.id = d.build_id JOIN operations o ON o.id = d.operation_id
    WHERE d.id IN (${list(deployments)})`)
  return new Map(rows.map((row) => [row.id, toOrigin(row)]))
}

const toOrigin = (row: Row): Origin => ({
  trigger: row.trigger_name,
  requestedBy: row.requested_by === null ? null : JSON.parse(row.requested_by),
  archive: {
    digest: row.archive_digest,
    bytes: row.archive_bytes,
    files: row.archive_files,
    message: row.message,
    commit: row.git_commit === null ? null : JSON.parse(row.git_commit),
  },
})
