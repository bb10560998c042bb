/** Asks DNS for the addresses of a name. `/etc/hosts` is not read: visitors do not have this machine's. */
import { Resolver } from 'node:dns/promises'
import { canonical } from './addresses.ts'

export type Lookup =
  /** Empty where DNS answers that there are none. */
  { addresses: string[] } | 'no answer'

/** Of one query to one server, which is sent twice at most. */
const QUESTION_MS = 2000
const TRIES = 2

/** Errors for a name that does not exist, or has no such address. */
const NONE: ReadonlySet<string> = new Set(['ENOTFOUND', 'ENODATA'])

/** Without servers, those of the system are asked. */
export function createLookup({ servers = [] }: { servers?: readonly string[] } = {}) {
  return async (name: string): Promise<Lookup> => {
    // One resolver for each name, so that a slow or cancelled query affects no other.
    const resolver = new Resolver({ timeout: QUESTION_MS, tries: TRIES, maxTimeout: QUESTION_MS })
    if (servers.length > 0) resolver.setServers(servers)
    const [v4, v6] = await Promise.all([answerOf(resolver.resolve4(name)), answerOf(resolver.resolve6(name))])
    const addresses = [...(v4 ?? []), ...(v6 ?? [])]
    if (addresses.length === 0 && !(v4 && v6)) return 'no answer'
    return { addresses: [...new Set(addresses.map(canonical))].sort() }
  }
}

export type LookUp = ReturnType<typeof createLookup>

/** Undefined where DNS did not answer. */
async function answerOf(asked: Promise<string[]>): Promise<string[] | undefined> {
  try {
    return await asked
  } catch (error) {
    return NONE.has((error as NodeJS.ErrnoException).code ?? '') ? [] : undefined
  }
}
