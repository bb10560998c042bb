/**
 * Whether the database can be reached. After a loss it is asked at once, and then again and again with growing pauses. While
 * the first question is open, callers wait for its answer; after that they are refused at once, until it is back.
 */
import type { Clock } from '../../../base/index.ts'
import { DatabaseAway } from '../sql.ts'

const FIRST_PAUSE_MS = 100
const MAX_PAUSE_MS = 2000

type State = { name: 'there' } | { name: 'asked'; answer: Promise<boolean> } | { name: 'away'; why: string }

type Parts = {
  clock: Clock
  /** Opens a session and closes it; rejects if that is not possible, after the time-out of a connection at the latest. */
  ask(): Promise<void>
  /** Nothing that is open will be answered any more. */
  onAway(error: DatabaseAway): void
  /** It answers again after it was away. */
  onBack(): void
}

export function createAvailability({ clock, ask, onAway, onBack }: Parts) {
  const closing = new AbortController()
  let state: State = { name: 'there' }

  async function isThere(): Promise<boolean> {
    const wasAway = state.name === 'away'
    try {
      await ask()
      state = { name: 'there' }
      if (wasAway) onBack()
      return true
    } catch (error) {
      const { message } = error as Error
      state = { name: 'away', why: message }
      if (!wasAway) onAway(away(message))
      return false
    }
  }

  async function askAgain() {
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
      // Processes that lost the same database do not all come back at the same moment.
      await clock.sleep(pauseMs * (0.5 + Math.random()), closing.signal)
      if (closing.signal.aborted || (await isThere())) return
    }
  }

  return {
    /** A session was lost, or is silent. */
    doubt() {
      if (state.name !== 'there' || closing.signal.aborted) return
      const answer = isThere()
      state = { name: 'asked', answer }
      answer.then((is) => (is ? undefined : askAgain()))
    },
    /** Resolves if the database is there, and rejects with DatabaseAway if it is not. */
    async untilKnown(): Promise<void> {
      if (state.name === 'asked') await state.answer
      if (state.name === 'away') throw away(state.why)
    },
    isThere: () => state.name === 'there',
    close: () => closing.abort(),
  }
}

const away = (why: string) => new DatabaseAway(`the database does not answer: ${why}`)
