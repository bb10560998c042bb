/**
 * Compares passwords with their hashes. A comparison is slow on purpose, so visitors can not ask for as many as they like:
 *
 *   - wrong passwords are limited for each client's network, over all environments, and for each environment
 *   - one comparison runs at a time, so that the thread pool stays free for files; few wait, and few of one environment
 *   - the same password that is sent again meanwhile waits for the same comparison
 *   - the password that was right last is remembered for each environment, as an HMAC under a key of this process:
 *     programs send it with every request, and several at a time
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { matchesPasswordHash } from '../../passwords/index.ts'
import type { Limits } from '../limits.ts'
import { createQuota } from '../quota.ts'
import { createAttempts } from './attempts.ts'

export type PasswordAttempt = {
  environment: string
  hash: string
  password: string
  /** The network of the client; undefined where it is not known. */
  client: string | undefined
}

export type PasswordResult = 'right' | 'wrong' | { retryAfterSeconds: number }

type Parts = { limits: Limits; now(): number }

export function createPasswords({ limits, now }: Parts) {
  const ofClients = createAttempts(limits.unlockTriesOfClient, now)
  const ofEnvironments = createAttempts(limits.unlockTriesOfEnvironment, now)
  const places = createQuota({
    max: limits.unlocksWaiting,
    maxPerOwner: limits.unlocksWaitingPerEnvironment,
    reserved: 1,
  })
  const key = randomBytes(32)
  const remembered = new Map<string, { hash: string; mac: Buffer }>()
  /** Those that wait or run, by environment, client, hash and password. */
  const comparisons = new Map<string, Promise<PasswordResult>>()
  let last: Promise<unknown> = Promise.resolve()

  const macOf = (password: string): Buffer => createHmac('sha256', key).update(password).digest()

  function isRemembered({ environment, hash }: PasswordAttempt, mac: Buffer): boolean {
    const known = remembered.get(environment)
    return known?.hash === hash && timingSafeEqual(known.mac, mac)
  }

  function remember({ environment, hash }: PasswordAttempt, mac: Buffer) {
    remembered.delete(environment)
    remembered.set(environment, { hash, mac })
    const [oldest] = remembered.keys()
    if (remembered.size > limits.rememberedPasswords && oldest !== undefined) remembered.delete(oldest)
  }

  /** 0 if the attempt may be made, otherwise the milliseconds until it may. */
  const take = ({ client = 'unknown', environment }: PasswordAttempt): number =>
    ofClients.take(client) || ofEnvironments.take(environment)

  function giveBack({ client = 'unknown', environment }: PasswordAttempt) {
    ofClients.giveBack(client)
    ofEnvironments.giveBack(environment)
  }

  /** After the comparisons that wait already. */
  function compare({ password, hash }: PasswordAttempt): Promise<boolean> {
    const result = last.then(() => matchesPasswordHash(password, hash))
    last = result.catch(() => undefined)
    return result
  }

  async function attemptOnce(attempt: PasswordAttempt, mac: Buffer): Promise<PasswordResult> {
    const waitMs = take(attempt)
    if (waitMs > 0) return { retryAfterSeconds: Math.ceil(waitMs / 1000) }
    if (!places.take(attempt.environment)) {
      giveBack(attempt)
      return { retryAfterSeconds: limits.unlockRetrySeconds }
    }
    try {
      if (!(await compare(attempt))) return 'wrong'
    } finally {
      places.giveBack(attempt.environment)
    }
    remember(attempt, mac)
    // Only wrong ones count: an office with one address may have many visitors.
    giveBack(attempt)
    return 'right'
  }

  return {
    async check(attempt: PasswordAttempt): Promise<PasswordResult> {
      const { environment, hash, password, client } = attempt
      if (password.length > limits.unlockPasswordLength) return 'wrong'
      const mac = macOf(password)
      if (isRemembered(attempt, mac)) return 'right'
      const name = `${environment} ${client} ${hash} ${mac.toString('base64')}`
      const same = comparisons.get(name)
      if (same) return same
      const result = attemptOnce(attempt, mac).finally(() => comparisons.delete(name))
      comparisons.set(name, result)
      return result
    },
  }
}

export type Passwords = ReturnType<typeof createPasswords>
