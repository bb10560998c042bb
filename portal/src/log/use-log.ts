/** A log for a component: the lines so far, and whether more will follow. It renders at most once per frame. */
import { useEffect, useState, useSyncExternalStore } from 'react'
import type { Problem } from '../api/problem.ts'
import { watchAttention } from './attention.ts'
import { type FollowState, followLog } from './follow.ts'
import { createLines, type Lines } from './lines.ts'

export type Log = { lines: Lines; state: FollowState; problem: Problem | undefined; retry(): void }

type Shown = { state: FollowState; problem: Problem | undefined }

/** `address` as `/v1/…/log`; for another address the component is remounted, by its key. */
export function useLog(address: string): Log {
  const [store] = useState(createStore)
  const [attempt, setAttempt] = useState(0)
  const shown = useSyncExternalStore(store.subscribe, store.now)

  // biome-ignore lint/correctness/useExhaustiveDependencies: each retry by the user is a new attempt
  useEffect(() => {
    const over = new AbortController()
    followLog({
      address,
      last: store.lines.last,
      onLines: store.take,
      onState: store.become,
      signal: over.signal,
      attention: watchAttention(over.signal),
    })
    return () => over.abort()
  }, [address, attempt, store])

  return { lines: store.lines, ...shown, retry: () => setAttempt((before) => before + 1) }
}

function createStore() {
  const lines = createLines()
  const listeners = new Set<() => void>()
  let shown: Shown = { state: 'reading', problem: undefined }
  let isTold = false

  function tellSoon() {
    if (isTold) return
    isTold = true
    requestAnimationFrame(() => {
      isTold = false
      // A new object each time, so that React renders the component again.
      shown = { ...shown }
      for (const listener of listeners) listener()
    })
  }

  return {
    lines,
    take(more: Parameters<Lines['append']>[0]) {
      lines.append(more)
      tellSoon()
    },
    become(state: FollowState, problem?: Problem) {
      shown = { state, problem }
      tellSoon()
    },
    now: () => shown,
    subscribe(listener: () => void) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
