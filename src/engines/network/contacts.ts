/** The servers that a job has contacted: addresses that the firewall recorded, and names from the job's DNS queries. */

export type Contact = {
  /** The name that resolved to the addresses. Null if the job made no DNS query for them. */
  host: string | null
  /** `dns`: the name was queried, and no connection is attributed to it. A query alone can carry data out, too. */
  protocol: 'tcp' | 'udp' | 'dns'
  port: number | null
  addresses: readonly string[]
  /** The firewall rules refused it. */
  isRefused: boolean
  /** Records of earlier versions do not have it. */
  outcome?: ContactOutcome
}

/**
 * The best outcome of a contact's connections: CONNECTED, the peer accepted one; CONNECTION_REFUSED, it reset all; NO_ANSWER,
 * nothing came back; BLOCKED, the firewall rules refused all; NAME_NOT_RESOLVED, no address was found; ASKED, the name has
 * addresses, and no connection is attributed to it. What a peer sends once it is connected is not recorded.
 */
export const CONTACT_OUTCOMES = [
  'CONNECTED',
  'CONNECTION_REFUSED',
  'NO_ANSWER',
  'BLOCKED',
  'NAME_NOT_RESOLVED',
  'ASKED',
] as const
export type ContactOutcome = (typeof CONTACT_OUTCOMES)[number]

/** `answer`: what came back from the peer. The firewall's own refusals are resets, too. */
export type Connection = {
  address: string
  protocol: 'tcp' | 'udp'
  port: number
  answer: 'ACCEPTED' | 'RESET' | 'NONE'
}

/**
 * The limits of one record. A contact that does not fit is refused to the job, so the record is complete. The size of a record
 * is a sum of these limits, never a product, so that it is quick to make, to store and to show.
 */
export const RECORD_LIMITS = { connections: 2048, names: 2048, nameCharacters: 128 * 1024, addresses: 8192 } as const

/** The names that one job has queried. */
export function createNames() {
  const asked = new Set<string>()
  const resolved = new Set<string>()
  const unresolved = new Set<string>()
  const nameOf = new Map<string, string>()
  let characters = 0
  return {
    /** False when there are too many to record another. */
    ask(name: string): boolean {
      if (asked.has(name)) return true
      if (asked.size >= RECORD_LIMITS.names || characters + name.length > RECORD_LIMITS.nameCharacters) return false
      asked.add(name)
      characters += name.length
      return true
    },
    /** An address keeps the first name that resolved to it. */
    answer(name: string, addresses: readonly string[]) {
      if (asked.has(name)) (addresses.length > 0 ? resolved : unresolved).add(name)
      for (const address of addresses) {
        if (nameOf.size >= RECORD_LIMITS.addresses) return
        if (!nameOf.has(address)) nameOf.set(address, name)
      }
    },
    asked: (): readonly string[] => [...asked],
    of: (address: string): string | null => nameOf.get(address) ?? null,
    /** Whether its addresses were queried, and it never had one. */
    isUnresolved: (name: string): boolean => unresolved.has(name) && !resolved.has(name),
  }
}

export type Names = ReturnType<typeof createNames>

/**
 * One contact for each connection, or for several to one host. Where several names share an address, it is not known which one
 * was meant: the first one gets the connection, and the others become contacts without one, so that none is left out.
 */
export function toContacts(
  connections: readonly Connection[],
  names: Pick<Names, 'asked' | 'of' | 'isUnresolved'>,
  refuses: (connection: Connection) => boolean,
): Contact[] {
  const found = new Map<string, MutableContact>()
  const called = new Set<string>()
  for (const connection of connections) {
    const { address, protocol, port } = connection
    const host = names.of(address)
    if (host !== null) called.add(host)
    const key = contactKey({ host, protocol, port, addresses: [address] })
    const isRefused = refuses(connection)
    const outcome = outcomeOf(connection, isRefused)
    const known = found.get(key) ?? { host, protocol, port, addresses: [], isRefused, outcome }
    known.addresses.push(address)
    known.isRefused &&= isRefused
    known.outcome = better(known.outcome, outcome)
    found.set(key, known)
  }
  for (const host of names.asked()) {
    if (called.has(host)) continue
    const outcome = names.isUnresolved(host) ? 'NAME_NOT_RESOLVED' : 'ASKED'
    const asked: MutableContact = { host, protocol: 'dns', port: null, addresses: [], isRefused: false, outcome }
    found.set(contactKey(asked), asked)
  }
  for (const { addresses } of found.values()) addresses.sort()
  // Names before bare addresses.
  const sorted = [...found].map(([key, contact]) => ({ key: `${contact.host === null ? 1 : 0} ${key}`, contact }))
  return sorted.sort((a, b) => compare(a.key, b.key)).map(({ contact }) => contact)
}

type MutableContact = Contact & { addresses: string[]; outcome: ContactOutcome }

function outcomeOf({ answer }: Connection, isRefused: boolean): ContactOutcome {
  if (answer === 'ACCEPTED') return 'CONNECTED'
  if (isRefused) return 'BLOCKED'
  return answer === 'RESET' ? 'CONNECTION_REFUSED' : 'NO_ANSWER'
}

/** Of several addresses of a host, the best outcome counts. */
const better = (one: ContactOutcome, other: ContactOutcome): ContactOutcome =>
  CONTACT_OUTCOMES.indexOf(one) <= CONTACT_OUTCOMES.indexOf(other) ? one : other

/** Marks contacts whose key is not among those of earlier builds. With nothing to compare with, none is new. */
export const newContacts = (
  now: readonly Contact[],
  before: ReadonlySet<string> | undefined,
): (Contact & { isNew: boolean })[] =>
  now.map((contact) => ({ ...contact, isNew: before !== undefined && !before.has(contactKey(contact)) }))

/** By host name where there is one, since the addresses of a host change. */
export const contactKey = ({ host, protocol, port, addresses }: Omit<Contact, 'isRefused'>): string =>
  [host ?? addresses[0], protocol, port].join(' ')

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
