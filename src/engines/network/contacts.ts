/** Whom a job has called: the addresses that the kernel wrote down, and the names that were asked for before. */

export type Contact = {
  /** The name under which the addresses were found. Null if nobody asked for one. */
  host: string | null
  /** `dns`: the name was asked for, and no connection is known to be its own. That carries a message out, too. */
  protocol: 'tcp' | 'udp' | 'dns'
  port: number | null
  addresses: readonly string[]
  /** The rules let nothing through. */
  isRefused: boolean
  /** How it went. Records of earlier versions do not have it. */
  outcome?: ContactOutcome
}

/**
 * How the calls of one contact went, the best of them: CONNECTED, the peer accepted one; CONNECTION_REFUSED, it reset all;
 * NO_ANSWER, nothing came back; BLOCKED, the rules let nothing through; NAME_NOT_RESOLVED, no address was found; ASKED, the
 * name has addresses, and no connection is known to be its own. What a peer sends once it is connected is not seen.
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

/** `answer`: what came back from the peer. The rules' own refusals are resets, too. */
export type Connection = {
  address: string
  protocol: 'tcp' | 'udp'
  port: number
  answer: 'ACCEPTED' | 'RESET' | 'NONE'
}

/**
 * What one record holds at most. What does not fit is refused to the job, so the record is whole; and a record is a sum of
 * these limits, never a product, so that it is quick to make, to keep and to show.
 */
export const RECORD_LIMITS = { connections: 2048, names: 2048, nameCharacters: 128 * 1024, addresses: 8192 } as const

/** The names that one job has asked for. */
export function createNames() {
  const asked = new Set<string>()
  const resolved = new Set<string>()
  const unresolved = new Set<string>()
  const nameOf = new Map<string, string>()
  let characters = 0
  return {
    /** False when there are too many to write down another. */
    ask(name: string): boolean {
      if (asked.has(name)) return true
      if (asked.size >= RECORD_LIMITS.names || characters + name.length > RECORD_LIMITS.nameCharacters) return false
      asked.add(name)
      characters += name.length
      return true
    },
    /** An address keeps the first name that led to it. Only names that were asked for are known. */
    answer(name: string, addresses: readonly string[]) {
      if (asked.has(name)) (addresses.length > 0 ? resolved : unresolved).add(name)
      for (const address of addresses) {
        if (nameOf.size >= RECORD_LIMITS.addresses) return
        if (!nameOf.has(address)) nameOf.set(address, name)
      }
    },
    asked: (): readonly string[] => [...asked],
    of: (address: string): string | null => nameOf.get(address) ?? null,
    /** Whether its addresses were asked for, and it never had one. */
    isUnresolved: (name: string): boolean => unresolved.has(name) && !resolved.has(name),
  }
}

export type Names = ReturnType<typeof createNames>

/**
 * One contact for each connection, or for several to one host. Which of several names of an address was meant cannot be
 * told: the first one has the connection, and the others are contacts without one, so that none is left out.
 */
export function toContacts(
  connections: readonly Connection[],
  names: Pick<Names, 'asked' | 'of' | 'isUnresolved'>,
  refuses: (connection: Connection) => boolean,
): Contact[] {
  const found = new Map<string, Found>()
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
    const asked: Found = { host, protocol: 'dns', port: null, addresses: [], isRefused: false, outcome }
    found.set(contactKey(asked), asked)
  }
  for (const { addresses } of found.values()) addresses.sort()
  // Names before bare addresses.
  const sorted = [...found].map(([key, contact]) => ({ key: `${contact.host === null ? 1 : 0} ${key}`, contact }))
  return sorted.sort((a, b) => compare(a.key, b.key)).map(({ contact }) => contact)
}

type Found = Contact & { addresses: string[]; outcome: ContactOutcome }

function outcomeOf({ answer }: Connection, isRefused: boolean): ContactOutcome {
  if (answer === 'ACCEPTED') return 'CONNECTED'
  if (isRefused) return 'BLOCKED'
  return answer === 'RESET' ? 'CONNECTION_REFUSED' : 'NO_ANSWER'
}

/** Of several addresses of a host, the one that came closest tells. */
const better = (one: ContactOutcome, other: ContactOutcome): ContactOutcome =>
  CONTACT_OUTCOMES.indexOf(one) <= CONTACT_OUTCOMES.indexOf(other) ? one : other

/** Marks those that were not there before, by the keys of those that were. With nothing to compare with, none is new. */
export const newContacts = (
  now: readonly Contact[],
  before: ReadonlySet<string> | undefined,
): (Contact & { isNew: boolean })[] =>
  now.map((contact) => ({ ...contact, isNew: before !== undefined && !before.has(contactKey(contact)) }))

/** A host has other addresses tomorrow, and is the same. */
export const contactKey = ({ host, protocol, port, addresses }: Omit<Contact, 'isRefused'>): string =>
  [host ?? addresses[0], protocol, port].join(' ')

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
