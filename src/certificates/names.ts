/** Which host names want a certificate, and which certificate answers for each of them. Pure. */
import { covers } from './x509/chain.ts'

export type WantedName = {
  /** `*.example.com` for the one that covers the hosts of all environments. */
  name: string
  /** Null: a name of the operator. */
  accountId: string | null
  /** A name that leads here if the operator has set up DNS, with which this one is compared. */
  ownHost: string
}

export type Site = { accountId: string; hostLabel: string; domains: readonly string[] }

type Given = {
  /** The host of the portal's public address. */
  portalHost: string | undefined
  /** The hosts of environments are labels under it. */
  domain: string
  /** Whether the service can get a certificate for all of these labels together. */
  hasWildcard: boolean
  sites: readonly Site[]
}

/** The names to get certificates for, each once. Names that no CA issues for are left out. */
export const wantedNames = (given: Given): WantedName[] => namesOf(given).filter(({ name }) => isPublic(name))

/** Every host that a certificate may answer for, also one that was uploaded for a local name. */
export const answeredHosts = (given: Omit<Given, 'hasWildcard'>): WantedName[] => [
  ...namesOf({ ...given, hasWildcard: false }),
  { name: `*.${given.domain}`, accountId: null, ownHost: given.domain },
]

function namesOf({ portalHost, domain, hasWildcard, sites }: Given): WantedName[] {
  const names = new Map<string, WantedName>()
  const add = (name: WantedName) => {
    if (!names.has(name.name)) names.set(name.name, name)
  }
  if (portalHost !== undefined) add({ name: portalHost, accountId: null, ownHost: portalHost })
  if (hasWildcard) add({ name: `*.${domain}`, accountId: null, ownHost: domain })
  for (const { accountId, hostLabel, domains } of sites) {
    const ownHost = `${hostLabel}.${domain}`
    if (!hasWildcard) add({ name: ownHost, accountId, ownHost })
    for (const name of domains) add({ name, accountId, ownHost })
  }
  return [...names.values()]
}

/** No CA issues for `localhost` or for a name without a dot, and this client asks for none for addresses. */
function isPublic(name: string): boolean {
  const labels = name.split('.')
  const last = labels.at(-1) ?? ''
  return labels.length > 1 && last !== 'localhost' && !/^\d*$/.test(last) && !name.includes(':')
}

export type Candidate = {
  id: string
  source: 'ACME' | 'UPLOADED'
  accountId: string | null
  names: readonly string[]
  notAfter: number | null
}

/**
 * Which certificate answers for each host. An uploaded one comes before one by ACME, the account's own before the operator's,
 * and a newer one before an older one. It never answers for a host of another account, whatever names it has.
 */
export function assign<C extends Candidate>(
  hosts: readonly WantedName[],
  candidates: readonly C[],
  validAt: number,
): Map<string, C> {
  const valid = candidates.filter(({ notAfter }) => notAfter !== null && notAfter > validAt)
  const exact = new Map<string, C[]>()
  for (const candidate of valid) {
    for (const name of candidate.names) exact.set(name, [...(exact.get(name) ?? []), candidate])
  }
  const assigned = new Map<string, C>()
  for (const { name, accountId } of hosts) {
    const patterns = name.startsWith('*.') ? [name] : [name, `*${name.slice(name.indexOf('.'))}`]
    const fitting = patterns
      .flatMap((pattern) => (covers(pattern, name) ? (exact.get(pattern) ?? []) : []))
      .filter((each) => each.accountId === accountId || each.accountId === null)
    const [best] = fitting.toSorted((one, other) => rank(other) - rank(one) || (one.id < other.id ? 1 : -1))
    if (best) assigned.set(name, best)
  }
  return assigned
}

const rank = ({ source, accountId }: Candidate): number =>
  (source === 'UPLOADED' ? 2 : 0) + (accountId === null ? 0 : 1)
