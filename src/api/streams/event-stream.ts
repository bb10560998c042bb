/**
 * Changes of an account as server-sent events. The first change is sent at once; further changes are collected for a
 * moment, and each name is sent once. A reader that is too slow does not make the service wait, and the list of names
 * kept for it is bounded: beyond that it is asked to read everything again.
 */
import { type Clock, type OnChange, toRfc3339 } from '../../base/index.ts'
import type { resources } from '../../contract/index.ts'

/** The minimum time between two events. */
const FOLD_MS = 200
/** A comment from time to time keeps proxies from closing a quiet connection, and detects that the client is gone. */
const KEEP_ALIVE_MS = 15_000
/** The maximum number of names that wait for a reader. */
const MAX_NAMES = 500

const HELLO = 'event: hello\ndata: {}\n\n'

type Parts = {
  clock: Clock
  /** Subscribes, and returns the function that unsubscribes. */
  follow(listener: OnChange): () => void
  /** The prefix of the names: `accounts/{account}/`. */
  prefix: string
  signal: AbortSignal
}

export async function* eventsOf({ clock, follow, prefix, signal }: Parts): AsyncGenerator<string> {
  const names = new Set<string>()
  let isTooMuch = false
  let alarm = new AbortController()

  function onMessage(name: string | undefined) {
    if (name !== undefined && names.size < MAX_NAMES) names.add(name)
    else isTooMuch = true
    alarm.abort()
  }
  const isQuiet = () => names.size === 0 && !isTooMuch
  function takeEvents(): string {
    const events = isTooMuch ? HELLO : [...names].map((name) => toEvent(`${prefix}${name}`)).join('')
    names.clear()
    isTooMuch = false
    return events
  }
  const wake = () => alarm.abort()
  signal.addEventListener('abort', wake)
  // Subscribed before the greeting is sent: a client that reads everything after the greeting misses no change.
  const leave = follow(onMessage)
  try {
    yield `retry: 2000\n${HELLO}`
    while (!signal.aborted) {
      alarm = new AbortController()
      if (isQuiet()) await clock.sleep(KEEP_ALIVE_MS, alarm.signal)
      if (signal.aborted) return
      if (isQuiet()) yield `: ${toRfc3339(clock.now())}\n\n`
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
