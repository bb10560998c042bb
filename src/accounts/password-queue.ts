/**
 * The queue in front of the slow hash: one runs at a time, so that a flood of log-ins takes neither the thread pool nor
 * the processors from everything else. It is bounded, for each client and in total. Users on networks from which they
 * have logged in before, and users with a session, have places of their own that unknown clients cannot fill, and every
 * second turn. Within each kind the clients take turns, so that a client with many requests is no faster than a client
 * with one.
 */
import { Problem, type Reason } from '../contract/index.ts'

export type Kind = 'known' | 'unknown'
/** `crowded` is the reason for a client that has all its places taken. */
export type Guest = { client: string; kind: Kind; crowded?: Reason }
/** Runs the work when its turn has come. */
export type Turn = <T>(work: () => Promise<T>) => Promise<T>
export type PasswordQueueLimits = { places: Record<Kind, number>; placesOfClient: number }

export const PASSWORD_QUEUE: PasswordQueueLimits = { places: { known: 24, unknown: 24 }, placesOfClient: 8 }

/** A lower bound for a machine: hashes of about 250 ms each. */
const HASHES_PER_SECOND = 4

export function createPasswordQueue({ places, placesOfClient }: PasswordQueueLimits = PASSWORD_QUEUE) {
  const taken = { known: 0, unknown: 0 }
  const takenBy = new Map<string, number>()
  const waiting = { known: createLine(), unknown: createLine() }
  let isRunning = false
  let lastKind: Kind = 'unknown'

  async function run() {
    if (isRunning) return
    isRunning = true
    for (let next = takeNext(); next; next = takeNext()) await next()
    isRunning = false
  }

  function takeNext(): Hash | undefined {
    const other: Kind = lastKind === 'known' ? 'unknown' : 'known'
    const kind = waiting[other].isEmpty() ? lastKind : other
    lastKind = kind
    return waiting[kind].shift()
  }

  function busy(reason: Reason): Problem {
    return new Problem(reason, undefined, {
      retryAfterSeconds: Math.ceil((taken.known + taken.unknown) / HASHES_PER_SECOND),
    })
  }

  return {
    /** Holds a place while `work` runs. Throws at once if there is none. */
    async admit<T>(
      { client, kind, crowded = 'TOO_MANY_LOG_INS' }: Guest,
      work: (turn: Turn) => Promise<T>,
    ): Promise<T> {
      const mine = takenBy.get(client) ?? 0
      if (mine >= placesOfClient) throw busy(crowded)
      if (taken[kind] >= places[kind]) throw busy('PASSWORDS_BUSY')
      taken[kind]++
      takenBy.set(client, mine + 1)
      const turn: Turn = (hash) =>
        new Promise((resolve, reject) => {
          waiting[kind].push(client, () => hash().then(resolve, reject))
          void run()
        })
      try {
        return await work(turn)
      } finally {
        taken[kind]--
        const left = (takenBy.get(client) ?? 1) - 1
        if (left > 0) takenBy.set(client, left)
        else takenBy.delete(client)
      }
    },
  }
}

export type PasswordQueue = ReturnType<typeof createPasswordQueue>

/** Never rejects: the result goes to the caller that requested it. */
type Hash = () => Promise<void>

/** One of each client, then the next one of each. */
function createLine() {
  const byClient = new Map<string, Hash[]>()
  return {
    isEmpty: () => byClient.size === 0,
    push(client: string, hash: Hash) {
      byClient.set(client, [...(byClient.get(client) ?? []), hash])
    },
    shift(): Hash | undefined {
      const [first] = byClient
      if (!first) return undefined
      const [client, [next, ...rest]] = first
      byClient.delete(client)
      if (rest.length > 0) byClient.set(client, rest)
      return next
    },
  }
}
