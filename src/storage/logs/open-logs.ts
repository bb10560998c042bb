/** The logs of a data folder, with what is in an object store of them. */
import type { Clock } from '../../base/index.ts'
import type { Blobs } from '../blobs/blobs.ts'
import { hasRetentionHold } from '../retention-holds.ts'
import type { Sql } from '../sql/sql.ts'
import { createLineLogs, type LineLogs } from './line-log.ts'
import type { LogMoving } from './log-moving.ts'
import type { StoredParts } from './stored-parts.ts'

type Opened = {
  logs: LineLogs
  /** Undefined where all lines are in files. */
  storedLogs?: StoredParts
  /** Undefined where nothing is moved. */
  logMoving?: LogMoving
}

type Parts = {
  folder: string
  sql: Sql
  clock: Clock
  /** For closed parts of logs. Without it all lines are in files, and no other file is loaded. */
  blobs: Blobs | undefined
  /** Whether closed parts are moved there. */
  isMoving: boolean
  /** Whether other machines write and read the same logs: then lines are in the database, and not in files. */
  isShared?: boolean
}

export async function openLineLogs({ folder, sql, clock, blobs, isMoving, isShared = false }: Parts): Promise<Opened> {
  if (isShared) return openSharedLogs({ sql, clock, blobs, isMoving })
  if (!blobs) return { logs: createLineLogs(folder) }
  const { createStoredParts } = await import('./stored-parts.ts')
  const storedLogs = createStoredParts({ sql, clock, blobs })
  const logs = createLineLogs(folder, { stored: storedLogs })
  if (!isMoving) return { logs, storedLogs }
  const { createLogMoving } = await import('./log-moving.ts')
  const isHeld = () => hasRetentionHold(sql, clock.now())
  return { logs, storedLogs, logMoving: createLogMoving({ folder, stored: storedLogs, isHeld }) }
}

async function openSharedLogs({ sql, clock, blobs, isMoving }: Omit<Parts, 'folder' | 'isShared'>): Promise<Opened> {
  const { createSharedLogs } = await import('./shared/shared-logs.ts')
  if (!blobs) return { logs: createSharedLogs({ sql, clock }) }
  const { createStoredParts } = await import('./stored-parts.ts')
  const storedLogs = createStoredParts({ sql, clock, blobs })
  const logs = createSharedLogs({ sql, clock, stored: storedLogs })
  if (!isMoving) return { logs, storedLogs }
  const { createChunkMoving } = await import('./shared/chunk-moving.ts')
  return { logs, storedLogs, logMoving: createChunkMoving({ sql, stored: storedLogs }) }
}
