/**
 * Transactions for values. Apps write hundreds of values a second, and a transaction waits for the disk: so what comes while one
 * runs is committed by the next one, together. At most one of them waits among the transactions of others.
 */
import { type Sql, StorageUnavailable, type Transaction } from '../../storage/index.ts'

/** So that a transaction does not take long. */
const MAX_AT_ONCE = 32

type Waiting = { work(tx: Transaction): Promise<unknown>; resolve(result: unknown): void; reject(error: unknown): void }

export function createTogether(sql: Sql) {
  const waiting: Waiting[] = []
  let isRunning = false

  async function commit(some: readonly Waiting[]) {
    try {
      const results = await sql.transaction(async (tx) => {
        const found: unknown[] = []
        for (const { work } of some) found.push(await work(tx))
        return found
      })
      for (const [at, { resolve }] of some.entries()) resolve(results[at])
    } catch (error) {
      // What is wrong with one of them must not be a fault of the others.
      if (some.length > 1 && !(error instanceof StorageUnavailable)) for (const one of some) await commit([one])
      else for (const { reject } of some) reject(error)
    }
  }

  async function commitAll() {
    isRunning = true
    while (waiting.length > 0) await commit(waiting.splice(0, MAX_AT_ONCE))
    isRunning = false
  }

  /** Resolves when it is committed. Like any work of a transaction, it may be run again. */
  return function together<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      waiting.push({ work, resolve: (result) => resolve(result as T), reject })
      if (!isRunning) commitAll()
    })
  }
}

export type Together = ReturnType<typeof createTogether>
