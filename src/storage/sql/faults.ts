/** Errors of the disk and of the database, as callers see them. */
import { Problem } from '../../contract/index.ts'
import { DatabaseAway, StorageUnavailable } from './sql.ts'

/** Reported by a system call, by SQLite, or in the error output of a program such as cp. */
const FULL = /\bENOSPC\b|\bEDQUOT\b|No space left on device|Disk quota exceeded|database or disk is full/

export function isDiskFull(error: unknown): boolean {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown }
  return code === 'ENOSPC' || code === 'EDQUOT' || (typeof message === 'string' && FULL.test(message))
}

/** For work that continues after the reply. Undefined for any other error. */
export function toStorageProblem(error: unknown): Problem | undefined {
  if (isDiskFull(error)) return new Problem('DISK_FULL', undefined, { cause: error })
  return error instanceof StorageUnavailable
    ? new Problem('STORAGE_UNAVAILABLE', undefined, { cause: error })
    : undefined
}

/** Whether work failed for no other reason than a lost connection to the database, so that it should be done again. */
export function isDatabaseAway(error: unknown): boolean {
  return error instanceof DatabaseAway || (error instanceof Problem && error.cause instanceof DatabaseAway)
}
