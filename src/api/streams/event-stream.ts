/**
 * Changes of an account as server-sent events. A change is told at once, and then no more for a moment: what changes many
 * times meanwhile is told once. A reader who does not keep up is not waited for and nothing is kept for him without end:
 * he is told to read everything again.
 */
import { type Clock, type OnChange, toRfc3339 } from '../../base/index.ts'
import type { resources } from '../../contract/index.ts'

/** The least time between two tellings. */
const FOLD_MS = 200
/** A comment now and then keeps proxies from closing a quiet connection, and finds out when nobody listens any more. */
const KEEP_ALIVE_MS = 15_000
/** How many names wait for a reader. */
const MAX_NAMES = 500

const HELLO = 'event: hello\ndata: {}\n\n'

type Parts = {
  clock: Clock
  /** Begins to follow, and returns what ends it. */
  follow(listener: OnChange): () => void
  /** What stands before the names: `accounts/{account}/`. */
  prefix: string
  signal: AbortSignal
}

export async function* eventsOf({ clock, follow, prefix, signal }: Parts): AsyncGenerator<string> {
  const names = new Set<string>()
  let isTooMuch = false
  let alarm = new AbortController()

  function onMessage(name: string) {
    if (names.size < MAX_NAMES) names.add(name)
    else isTooMuch = true
    alarm.abort()
  }
  function takeEvents(): string {
    const events = isTooMuch ? HELLO : [...names].map((name) => toEvent(`${prefix}${name}`)).join('')
    names.clear()
    isTooMuch = false
    return events
  }
  const wake = () => alarm.abort()
  signal.addEventListener('abort', wake)
  // Before the greeting: whoever reads everything after it misses nothing.
  const leave = follow(onMessage)
  try {
    yield `retry: 2000\n${HELLO}`
    while (!signal.aborted) {
      alarm = new AbortController()
      if (names.size === 0) await clock.sleep(KEEP_ALIVE_MS, alarm.signal)
      if (signal.aborted) return
      if (names.size === 0) yield `: ${toRfc3339(clock.now())}\n\n`
      else {
        yield takeEvents()
        await clock.sleep(FOLD_MS, signal)
      }
    }
  } finally {
    leave()
    signal.removeEventListener('abort', wake)
  }
}

const toEvent = (name: string): string => {
  const change: resources.Change = { name }
  return `event: change\ndata: ${JSON.stringify(change)}\n\n`
}
