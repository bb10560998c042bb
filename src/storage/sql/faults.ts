/** What a fault of the disk or of the database is called when it is told to a caller. */
import { Problem } from '../../contract/index.ts'
import { StorageUnavailable } from './sql.ts'

/** By a system call, by SQLite, or in the last words of a program such as cp. */
const FULL = /\bENOSPC\b|\bEDQUOT\b|No space left on device|Disk quota exceeded|database or disk is full/

export function isDiskFull(error: unknown): boolean {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown }
  return code === 'ENOSPC' || code === 'EDQUOT' || (typeof message === 'string' && FULL.test(message))
}

/** For work that goes on after the reply. Nothing for a fault of another kind. */
export function toStorageProblem(error: unknown): Problem | undefined {
  if (isDiskFull(error)) return new Problem('DISK_FULL', undefined, { cause: error })
  return error instanceof StorageUnavailable
    ? new Problem('STORAGE_UNAVAILABLE', undefined, { cause: error })
    : undefined
}
