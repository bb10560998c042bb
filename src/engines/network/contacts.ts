/** Whom a job has called: the addresses that the kernel wrote down, and the names that were asked for before. */

export type Contact = {
  /** The name under which the addresses were found. Null if nobody asked for one. */
  host: string | null
  /** `dns`: the name was asked for, and no address of it was called. That carries a message out, too. */
  protocol: 'tcp' | 'udp' | 'dns'
  port: number | null
  addresses: readonly string[]
  /** The rules let nothing through. */
  isRefused: boolean
}

export type Connection = { address: string; protocol: 'tcp' | 'udp'; port: number }

const NAMES_AT_MOST = 4096

/** The names that one job has asked for. */
export function createNames() {
  const asked = new Set<string>()
  const namesOf = new Map<string, Set<string>>()
  return {
    /** False when there are too many to write down another. */
    ask(name: string): boolean {
      if (!asked.has(name) && asked.size >= NAMES_AT_MOST) return false
      asked.add(name)
      return true
    },
    answer(name: string, addresses: readonly string[]) {
      for (const address of addresses) namesOf.set(address, (namesOf.get(address) ?? new Set()).add(name))
    },
    asked: (): readonly string[] => [...asked],
    of: (address: string): readonly string[] => [...(namesOf.get(address) ?? [])],
  }
}

export type Names = ReturnType<typeof createNames>

/** Several names may lead to one address. Which of them was meant nobody can tell, so all of them count. */
export function toContacts(
  connections: readonly Connection[],
  names: Pick<Names, 'asked' | 'of'>,
  refuses: (connection: Connection) => boolean,
): Contact[] {
  const contacts = new Map<string, Contact>()
  const called = new Set<string>()
  for (const connection of connections) {
    const { address, protocol, port } = connection
    const hosts = names.of(address)
    for (const host of hosts.length > 0 ? hosts : [null]) {
      if (host !== null) called.add(host)
      const made = { host, protocol, port, addresses: [address], isRefused: refuses(connection) }
      const known = contacts.get(keyOf(made))
      contacts.set(keyOf(made), known ? both(known, made) : made)
    }
  }
  for (const host of names.asked()) {
    if (called.has(host)) continue
    const made = { host, protocol: 'dns', port: null, addresses: [], isRefused: false } as const
    contacts.set(keyOf(made), made)
  }
  return [...contacts.values()].toSorted((a, b) => compare(sortKeyOf(a), sortKeyOf(b)))
}

/** Marks those that were not there before. With nothing to compare with, none is new. */
export function newContacts(
  now: readonly Contact[],
  before: readonly Contact[] | undefined,
): (Contact & { isNew: boolean })[] {
  const known = new Set(before?.map(keyOf))
  return now.map((contact) => ({ ...contact, isNew: before !== undefined && !known.has(keyOf(contact)) }))
}

/** A host has other addresses tomorrow, and is the same. */
const keyOf = ({ host, protocol, port, addresses }: Contact): string => [host ?? addresses[0], protocol, port].join(' ')

const both = (one: Contact, other: Contact): Contact => ({
  ...one,
  addresses: [...one.addresses, ...other.addresses].toSorted(),
  isRefused: one.isRefused && other.isRefused,
})

/** Names before bare addresses. */
const sortKeyOf = (contact: Contact): string => `${contact.host === null ? 1 : 0} ${keyOf(contact)}`

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
