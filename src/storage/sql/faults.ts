/** Errors of the disk and of the database, as callers see them. */
import type { Clock } from '../../base/index.ts'
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

/** Whether work failed because a store did not answer that may answer again by itself. */
export function isStoreAway(error: unknown): boolean {
  const cause = error instanceof Problem ? error.cause : error
  return cause instanceof StorageUnavailable && cause.isPassing
}

/** Whether work failed for no other reason than a lost connection to the database, so that it should be done again. */
export function isDatabaseAway(error: unknown): boolean {
  return error instanceof DatabaseAway || (error instanceof Problem && error.cause instanceof DatabaseAway)
}

const AWAY_POLL_MS = 500

type RetryOptions = {
  clock: Pick<Clock, 'sleep'>
  signal: AbortSignal
  /** Called once, if the work has to wait for the database. */
  onAway?(): void
}

/** Does the work, and does it again when the database is back if it was lost meanwhile. Undefined if the signal came before. */
export async function doneWithDatabase<T>(
  { clock, signal, onAway = () => undefined }: RetryOptions,
  work: () => Promise<T>,
): Promise<T | undefined> {
  for (let attempts = 1; !signal.aborted; attempts++) {
    try {
      return await work()
    } catch (error) {
      if (!isDatabaseAway(error)) throw error
      if (attempts === 1) onAway()
      await clock.sleep(AWAY_POLL_MS, signal)
    }
  }
  return undefined
}
