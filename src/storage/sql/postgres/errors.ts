/** Errors of PostgreSQL as callers see them. They carry no values of rows, which PostgreSQL adds as details. */
import { DatabaseAway, StorageUnavailable } from '../sql.ts'

/** Serialization failure, deadlock: the transaction is worth another attempt. */
const CONFLICTS = new Set(['40001', '40P01'])

/** The server or the session is gone, or takes no more of them: shutdown, crash, start-up, idle time-outs. */
const GONE = /^(08...|57P0[1-5]|25P0[34]|53300)$/

/** Statement time-out, lock time-out, no memory, disk full, disk fault. */
const UNAVAILABLE = /^(57014|55P03|53...|58...)$/

/** Wrong user or password, no such database, not allowed: nothing that a repetition would change. */
const REFUSED = /^(28...|3D000|42501)$/

const STATE = /^[0-9A-Z]{5}$/

const codeOf = (error: unknown): string => {
  const { code } = (error ?? {}) as { code?: unknown }
  return typeof code === 'string' ? code : ''
}

/** Errors that name no state of SQL are those of the connection: refused, reset, timed out, ended. */
const isOfServer = (error: unknown): boolean => STATE.test(codeOf(error)) && !/^E[A-Z]{4}$/.test(codeOf(error))

export const isConflict = (error: unknown): boolean => CONFLICTS.has(codeOf(error))

export const isConnectionLost = (error: unknown): boolean => !isOfServer(error) || GONE.test(codeOf(error))

export const isRefusal = (error: unknown): boolean => isOfServer(error) && REFUSED.test(codeOf(error))

export function toStorageError(error: unknown): Error {
  if (error instanceof StorageUnavailable) return error
  const { message } = error as Error
  if (isConnectionLost(error)) return new DatabaseAway(`the database does not answer: ${message}`)
  const code = codeOf(error)
  if (UNAVAILABLE.test(code)) return new StorageUnavailable(`PostgreSQL: ${message}`)
  return Object.assign(new Error(`PostgreSQL: ${message}`), { code })
}
