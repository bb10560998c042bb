/** The logs of a data folder, with what is in an object store of them. */
import type { Clock } from '../../base/index.ts'
import type { Blobs } from '../blobs/blobs.ts'
import { hasRetentionHold } from '../retention-holds.ts'
import type { Sql } from '../sql/sql.ts'
import { createLineLogs } from './line-log.ts'

type Parts = {
  folder: string
  sql: Sql
  clock: Clock
  /** For closed parts of logs. Without it all lines are in files, and no other file is loaded. */
  blobs: Blobs | undefined
  /** Whether closed parts are moved there. */
  isMoving: boolean
}

export async function openLineLogs({ folder, sql, clock, blobs, isMoving }: Parts) {
  if (!blobs) return { logs: createLineLogs(folder) }
  const { createStoredParts } = await import('./stored-parts.ts')
  const storedLogs = createStoredParts({ sql, clock, blobs })
  const logs = createLineLogs(folder, { stored: storedLogs })
  if (!isMoving) return { logs, storedLogs }
  const { createLogMoving } = await import('./log-moving.ts')
  const isHeld = () => hasRetentionHold(sql, clock.now())
  return { logs, storedLogs, logMoving: createLogMoving({ folder, stored: storedLogs, isHeld }) }
}
