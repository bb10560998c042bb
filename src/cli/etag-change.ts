/**
 * Optimistic concurrency: a change is sent with the etag of what was read. Where another request was faster, the change is
 * applied to the new state and sent again. It gives up where both changed the same field, and after MAX_TRIES.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { CallFailed } from './connection/failures.ts'

/** Of several simultaneous changes, one succeeds in every round, so this is enough for that many clients. */
const MAX_TRIES = 12
/** The pause is random, so that the same clients do not collide again. */
const MAX_PAUSE_MS = 100

type Change<State, Result> = {
  /** The state that the user saw. */
  first: State
  read(): Promise<State>
  /** Applies the change to this state; refused if it is not the current one. */
  write(state: State): Promise<Result>
  /** The names of the fields of this change that others have changed, too. */
  clash?(first: State, now: State): string[]
  maxPauseMs?: number
}

export async function changeWithEtag<State, Result>(change: Change<State, Result>): Promise<Result> {
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
    if (clashes.length > 0) throw refused(`Another request changed ${clashes.join(', ')} at the same moment`)
  }
  throw refused(`Others changed it ${MAX_TRIES} times meanwhile`)
}

const isOutdated = (error: unknown): boolean => error instanceof CallFailed && error.reason === 'ETAG_MISMATCH'

const refused = (why: string) =>
  new CallFailed({ status: 409, reason: 'ETAG_MISMATCH', message: `${why}. Nothing of yours was changed.` })
