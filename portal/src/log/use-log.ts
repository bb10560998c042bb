/** A log for a component: the lines so far, and whether more will come. It is drawn anew at most once a frame. */
import { useEffect, useState, useSyncExternalStore } from 'react'
import type { Problem } from '../api/problem.ts'
import { watchAttention } from './attention.ts'
import { type FollowState, followLog } from './follow.ts'
import { createLines, type Lines } from './lines.ts'

export type Log = { lines: Lines; state: FollowState; problem: Problem | undefined; retry(): void }

type Shown = { state: FollowState; problem: Problem | undefined }

/** `address` as `/v1/…/log`; a component is made anew for another one, by its key. */
export function useLog(address: string): Log {
  const [store] = useState(createStore)
  const [attempt, setAttempt] = useState(0)
  const shown = useSyncExternalStore(store.subscribe, store.now)

  // biome-ignore lint/correctness/useExhaustiveDependencies: an attempt that somebody asks for is another one
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
      // Another object each time: that is how a component knows that something is new.
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
