/** A time as how long ago it was, with the exact time as its title. One timer updates all of them on a page. */
import { useSyncExternalStore } from 'react'
import { ago, duration, exact } from './format.ts'

const TICK_MS = 10_000
/** Durations of running work are updated every second. */
const SECOND_MS = 1000

function createTicks(ms: number) {
  const listeners = new Set<() => void>()
  let [now, timer]: [number, ReturnType<typeof setInterval> | undefined] = [Date.now(), undefined]
  return {
    now: () => now,
    follow(listener: () => void): () => void {
      listeners.add(listener)
      now = Date.now()
      timer ??= setInterval(() => {
        now = Date.now()
        for (const each of listeners) each()
      }, ms)
      return () => {
        listeners.delete(listener)
        if (listeners.size > 0) return
        clearInterval(timer)
        timer = undefined
      }
    },
  }
}

const ticks = createTicks(TICK_MS)
const seconds = createTicks(SECOND_MS)
const never = { now: () => 0, follow: () => () => undefined }

export function Time({ at }: { at: string | Date }) {
  const current = useSyncExternalStore(ticks.follow, ticks.now)
  const time = new Date(at)
  return (
    <time dateTime={time.toISOString()} title={exact(time.getTime())}>
      {ago(time.getTime(), Math.max(current, Date.now() - TICK_MS))}
    </time>
  )
}

/** How long something takes or took; without an end, up to now. */
export function Took({ from, to }: { from: string; to?: string | undefined }) {
  const { follow, now } = to ? never : seconds
  const current = useSyncExternalStore(follow, now)
  const end = to ? Date.parse(to) : Math.max(current, Date.now())
  return <span>{duration(Math.max(0, (end - Date.parse(from)) / 1000))}</span>
}
