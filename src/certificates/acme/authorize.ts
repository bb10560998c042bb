/** Proves to the CA that names lead here: each authorization of an order is answered by one challenge, and waited for. */
import { createHash } from 'node:crypto'
import type { Clock } from '../../base/index.ts'
import type { AcmeClient, Authorization, Challenge, ChallengeType, Known, Order } from './client.ts'
import { AcmeProblem, CaUnreachable } from './problem.ts'

export type ChallengeAnswer = {
  type: ChallengeType
  /** The name without `*.`. */
  name: string
  token: string
  keyAuthorization: string
  /** The content of the TXT record of DNS-01 (RFC 8555, section 8.4). */
  dnsValue: string
}

/** Publishes an answer. The function that it resolves to takes it back. */
export type Publish = (answer: ChallengeAnswer) => Promise<() => Promise<void>>

type Parts = {
  clock: Clock
  client: AcmeClient
  account: Known
  /** The types that can be answered, preferred ones first. */
  types: readonly ChallengeType[]
  publish: Publish
  signal?: AbortSignal | undefined
}

/** How often the CA is asked whether it is done, unless it says when, and until when. */
const POLL_MS = 1000
const MAX_POLL_MS = 10_000
const DEADLINE_MS = 120_000

/** Resolves with the type that was accepted; undefined where the CA wanted no new proof. */
export async function authorize(parts: Parts, { authorizations }: Order): Promise<ChallengeType | undefined> {
  let accepted: ChallengeType | undefined
  for (const url of authorizations) accepted = (await authorizeOne(parts, url)) ?? accepted
  return accepted
}

async function authorizeOne(parts: Parts, url: string): Promise<ChallengeType | undefined> {
  const { client, account, types, publish } = parts
  const authorization = await client.authorization(account, url)
  if (authorization.status === 'valid') return undefined
  if (authorization.status !== 'pending') throw refusalOf(authorization)
  const [challenge, type] = choose(authorization, types)
  const keyAuthorization = `${challenge.token}.${account.key.thumbprint}`
  const dnsValue = createHash('sha256').update(keyAuthorization).digest('base64url')
  const takeBack = await publish({ type, name: authorization.name, token: challenge.token, keyAuthorization, dnsValue })
  try {
    // One that is being checked was answered before a restart.
    if (challenge.status === 'pending') await client.respond(account, challenge)
    const done = await pollWhile(
      parts,
      ({ status }) => status === 'pending',
      () => client.authorization(account, url),
    )
    if (done.status !== 'valid') throw refusalOf(done)
    return type
  } finally {
    await takeBack()
  }
}

function choose({ challenges, name }: Authorization, types: readonly ChallengeType[]): [Challenge, ChallengeType] {
  // One that was answered already is waited for: an authorization has one chance.
  const underWay = challenges.find(({ status }) => status === 'processing')
  for (const type of types) {
    const found = challenges.find((challenge) => challenge.type === type && (!underWay || challenge === underWay))
    if (found) return [found, type]
  }
  const offered = challenges.map(({ type }) => type).join(', ') || 'none'
  throw new AcmeProblem(
    {
      type: 'unsupportedChallenge',
      detail: `${name}: the CA offers ${offered}; this service can answer ${types.join(', ')}`,
    },
    0,
  )
}

/** The CA's words are in the challenge that failed. */
function refusalOf({ status, challenges, name }: Authorization): AcmeProblem {
  const error = challenges.find((challenge) => challenge.error !== undefined)?.error
  return new AcmeProblem(error ?? { type: 'unauthorized', detail: `the authorization of ${name} is ${status}` }, 0)
}

type Polled = { retryAfterMs?: number | undefined }

/** Asks until the answer is another one. */
export async function pollWhile<T extends Polled>(
  { clock, signal }: Pick<Parts, 'clock' | 'signal'>,
  isWaiting: (answer: T) => boolean,
  ask: () => Promise<T>,
): Promise<T> {
  for (let waitedMs = 0, pauseMs = POLL_MS; ; pauseMs = Math.min(pauseMs * 1.5, MAX_POLL_MS)) {
    const answer = await ask()
    if (!isWaiting(answer)) return answer
    if (signal?.aborted) throw new CaUnreachable('the service is being stopped')
    if (waitedMs >= DEADLINE_MS) throw new CaUnreachable(`the CA has not finished within ${DEADLINE_MS / 1000} seconds`)
    const ms = Math.min(Math.max(answer.retryAfterMs ?? pauseMs, POLL_MS), MAX_POLL_MS)
    await clock.sleep(ms, signal)
    waitedMs += ms
  }
}
