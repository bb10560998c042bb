/** The answers that edges give to a CA, as one set: each change replaces the whole, in the order of the changes. */
import { type Clock, createTurns, settlesWithin } from '../../base/index.ts'
import type { EdgeChallenges, EdgeTls } from '../../edge/index.ts'
import type { ChallengeAnswer } from '../acme/authorize.ts'
import { CaUnreachable } from '../acme/problem.ts'
import { alpnCertificate, newKey } from '../x509/request.ts'

/** An edge that died is back within this time. */
const EDGES_MS = 30_000

export function createChallenges({ clock, edgeTls }: { clock: Clock; edgeTls: Pick<EdgeTls, 'setChallenges'> }) {
  const http = new Map<string, string>()
  const alpn = new Map<string, { chain: string; key: string }>()
  const inTurn = createTurns()

  const publish = () =>
    inTurn('challenges', async () => {
      const all: EdgeChallenges = { http: Object.fromEntries(http), alpn: Object.fromEntries(alpn) }
      if (await settlesWithin(clock, edgeTls.setChallenges(all), EDGES_MS)) return
      // Nothing was asked of the CA yet, so another attempt costs nothing.
      throw new CaUnreachable('the edges of the service do not answer')
    })

  return {
    /** Takes back what a process that died has left at the edges. */
    reset: publish,

    /** Resolves when every edge gives the answer, with what takes it back. */
    async add({ type, name, token, keyAuthorization }: ChallengeAnswer): Promise<() => Promise<void>> {
      if (type === 'http-01') http.set(token, keyAuthorization)
      else {
        const key = await newKey()
        alpn.set(name, { key, chain: alpnCertificate(key, name, keyAuthorization, clock.now()) })
      }
      const remove = () => (type === 'http-01' ? http.delete(token) : alpn.delete(name))
      try {
        await publish()
      } catch (error) {
        remove()
        throw error
      }
      return async () => {
        remove()
        await publish()
      }
    },
  }
}

export type Challenges = ReturnType<typeof createChallenges>
