/**
 * Waits for the end of an operation. An end that this process records is known at once; of those of other processes the database
 * tells, and as that may be lost, they are polled too.
 */
import type { Changes, Clock } from '../base/index.ts'
import { LIMITS } from '../contract/index.ts'
import type { Operation, OperationPath } from './types.ts'

/** How often a wait polls for an end that another process recorded. */
const WAIT_POLL_MS = 1000

type Parts = {
  clock: Clock
  require(path: OperationPath, id: string): Promise<Operation>
  /** Tells of changes by other processes, where several use the database. */
  changes?: Pick<Changes, 'follow'> | undefined
}

export function createWaits({ clock, require, changes }: Parts) {
  const waiters = new Map<string, Set<() => void>>()
  /** The number of open waits, by account. */
  const open = new Map<string, number>()

  async function waitUntil(deadline: number, path: OperationPath, id: string, signal: AbortSignal): Promise<Operation> {
    for (;;) {
      const finished = new AbortController()
      const stopWaiting = register(path, id, () => finished.abort())
      try {
        const operation = await require(path, id)
        const leftMs = deadline - clock.now()
        if (operation.doneTime !== null || leftMs <= 0 || signal.aborted) return operation
        await clock.sleep(Math.min(leftMs, WAIT_POLL_MS), AbortSignal.any([finished.signal, signal]))
      } finally {
        stopWaiting()
      }
    }
  }

  function register({ accountId }: OperationPath, id: string, wake: () => void): () => void {
    const mine = waiters.get(id) ?? new Set()
    waiters.set(id, mine.add(wake))
    const forget = changes?.follow(accountId, (name) => {
      if (name === undefined || name.endsWith(`/${id}`)) wake()
    })
    return () => {
      forget?.()
      mine.delete(wake)
      if (mine.size === 0 && waiters.get(id) === mine) waiters.delete(id)
    }
  }

  return {
    /**
     * The operation as it is when it is done or the timeout has passed, whichever comes first. Each wait polls the database,
     * so the open waits of an account are limited; beyond the limit the operation is returned at once as it is.
     */
    async wait(path: OperationPath, id: string, timeoutMs: number, signal: AbortSignal): Promise<Operation> {
      const { accountId } = path
      const mine = open.get(accountId) ?? 0
      if (mine >= LIMITS.waitsAtOnce) return require(path, id)
      open.set(accountId, mine + 1)
      try {
        return await waitUntil(clock.now() + timeoutMs, path, id, signal)
      } finally {
        const left = (open.get(accountId) ?? 1) - 1
        if (left > 0) open.set(accountId, left)
        else open.delete(accountId)
      }
    },

    /** To be called after an end is committed. */
    ended(id: string) {
      for (const wake of waiters.get(id) ?? []) wake()
    },
  }
}
