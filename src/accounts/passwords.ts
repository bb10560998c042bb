/** Passwords of people. All hashes of the process share one queue. */
import { makePasswordHash, matchesPasswordHash, randomPasswordHash } from '../passwords/index.ts'
import { createPasswordQueue, type Turn } from './password-queue.ts'

/** One for the process, which has one set of processors and one thread pool. */
export const passwordQueue = createPasswordQueue()

export const hashPassword = (password: string, turn: Turn): Promise<string> => turn(() => makePasswordHash(password))

/**
 * Without a stored hash it does the same work and returns false, so that the time of the answer does not reveal whether
 * the user exists.
 */
export async function verifyPassword(password: string, stored: string | undefined, turn: Turn): Promise<boolean> {
  const isRight = await turn(() => matchesPasswordHash(password, stored ?? NO_USER))
  return isRight && stored !== undefined
}

const NO_USER = randomPasswordHash()

/** Hashes the password that visitors of an environment are asked for. An account gets few places in the queue at a time. */
export const hashVisitorsPassword = (accountId: string, password: string): Promise<string> =>
  passwordQueue.admit({ client: `account ${accountId}`, kind: 'known', crowded: 'TOO_MANY_CHANGES' }, (turn) =>
    hashPassword(password, turn),
  )
