/**
 * The archive that a rebuild builds: the newest upload, or the archive that a rollback pinned. Until now it was the
 * archive of the newest build, so that is the newest upload. If the live archive is an older one, although the newest
 * was live in between, the environment was rolled back: it is pinned, so that the next rebuild does not undo that.
 */
import type { Migration } from '../migrate.ts'
import { statement as sql } from '../sql.ts'

export const sources: Migration = {
  id: 18,
  name: 'sources',
  statements: [
    // The archive is the newest upload. All of `pin_*` are set or none is, but for the operation, which may be unknown.
    sql`CREATE TABLE sources (
      environment_id TEXT PRIMARY KEY REFERENCES environments (id) ON DELETE CASCADE,
      archive_digest TEXT NOT NULL,
      archive_bytes BIGINT NOT NULL,
      archive_files BIGINT NOT NULL,
      pin_digest TEXT,
      pin_bytes BIGINT,
      pin_files BIGINT,
      pin_deployment TEXT,
      pin_operation TEXT,
      pin_time BIGINT
    )`,
    sql`INSERT INTO sources (environment_id, archive_digest, archive_bytes, archive_files, pin_digest, pin_bytes, pin_files,
        pin_deployment, pin_operation, pin_time)
      SELECT newest.environment_id, newest.archive_digest, newest.archive_bytes, newest.archive_files,
        live.archive_digest, live.archive_bytes, live.archive_files, live.deployment, live.operation,
        CASE WHEN live.deployment IS NULL THEN NULL ELSE COALESCE(
          (SELECT done_time FROM operations WHERE operations.id = live.operation), live.create_time) END
      FROM builds AS newest
      JOIN environments ON environments.id = newest.environment_id
      LEFT JOIN (
        SELECT e.id AS environment_id, b.archive_digest, b.archive_bytes, b.archive_files, d.id AS deployment,
          COALESCE(d.live_time, d.create_time) AS create_time,
          (SELECT MAX(o.id) FROM operations o
            WHERE o.environment_id = e.id AND o.trigger_name = 'ACTIVATE' AND o.deployment = d.id
            AND o.done_time IS NOT NULL AND o.error IS NULL) AS operation
        FROM environments e
        JOIN deployments d ON d.id = e.live_deployment
        JOIN builds b ON b.id = d.build_id) AS live
      ON live.environment_id = newest.environment_id AND live.archive_digest <> newest.archive_digest
        AND EXISTS (
          SELECT 1 FROM builds was
          WHERE was.environment_id = newest.environment_id AND was.archive_digest = newest.archive_digest
          AND was.state = 'SUCCEEDED' AND was.is_unchanged = 0)
      WHERE newest.id = (SELECT MAX(b.id) FROM builds b WHERE b.environment_id = newest.environment_id)`,
    // Waiting rebuilds build the pinned archive.
    sql`UPDATE builds SET
        archive_digest = (SELECT pin_digest FROM sources WHERE sources.environment_id = builds.environment_id),
        archive_bytes = (SELECT pin_bytes FROM sources WHERE sources.environment_id = builds.environment_id),
        archive_files = (SELECT pin_files FROM sources WHERE sources.environment_id = builds.environment_id)
      WHERE state = 'QUEUED' AND start_time IS NULL AND trigger_name <> 'UPLOAD' AND environment_id IN (
        SELECT environment_id FROM sources WHERE pin_digest IS NOT NULL)`,
  ],
}
