/** A time as how long ago it was; the exact one is its title. All of them on a page move together. */
import { useSyncExternalStore } from 'react'
import { ago, duration, exact } from './format.ts'

const TICK_MS = 10_000

const listeners = new Set<() => void>()
let [now, timer]: [number, ReturnType<typeof setInterval> | undefined] = [Date.now(), undefined]

function follow(listener: () => void): () => void {
  listeners.add(listener)
  now = Date.now()
  timer ??= setInterval(() => {
    now = Date.now()
    for (const each of listeners) each()
  }, TICK_MS)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

export function Time({ at }: { at: string | Date }) {
  const current = useSyncExternalStore(follow, () => now)
  const time = new Date(at)
  return (
    <time dateTime={time.toISOString()} title={exact(time.getTime())}>
      {ago(time.getTime(), Math.max(current, Date.now() - TICK_MS))}
    </time>
  )
}

/** How long something takes or took; without an end, up to now. */
export function Took({ from, to }: { from: string; to?: string | undefined }) {
  const current = useSyncExternalStore(follow, () => now)
  const end = to ? Date.parse(to) : Math.max(current, Date.now())
  return <span>{duration(Math.max(0, (end - Date.parse(from)) / 1000))}</span>
}
