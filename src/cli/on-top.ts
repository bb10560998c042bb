/**
 * A change of something that others may be changing, too. What was read goes out with its etag; where somebody else was
 * faster, the change is made to what is there now. It is given up where both changed the same, and after so many tries.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { CallFailed } from './connection/failures.ts'

/** Of those who meet, one gets through in every round: enough for more people than ever meet. */
const MAX_TRIES = 12
/** Those who met once do not come back at the same moment. */
const MAX_PAUSE_MS = 100

type Change<State, Answer> = {
  /** What the caller has in mind. */
  first: State
  read(): Promise<State>
  /** Makes the change to this state; refused if it is not the state of now. */
  write(state: State): Promise<Answer>
  /** What others changed of the very things that are to be changed, in words. */
  clash?(first: State, now: State): string[]
  maxPauseMs?: number
}

export async function changeOnTop<State, Answer>(change: Change<State, Answer>): Promise<Answer> {
  const { first, read, write, clash = () => [], maxPauseMs = MAX_PAUSE_MS } = change
  let state = first
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    try {
      return await write(state)
    } catch (error) {
      if (!isOutdated(error)) throw error
    }
    await pause(Math.random() * maxPauseMs)
    state = await read()
    const clashes = clash(first, state)
    if (clashes.length > 0) throw refused(`Somebody else changed ${clashes.join(', ')} at the same moment`)
  }
  throw refused(`Others changed it ${MAX_TRIES} times meanwhile`)
}

const isOutdated = (error: unknown): boolean => error instanceof CallFailed && error.reason === 'ETAG_MISMATCH'

const refused = (why: string) =>
  new CallFailed({ status: 409, reason: 'ETAG_MISMATCH', message: `${why}. Nothing of yours was changed.` })
