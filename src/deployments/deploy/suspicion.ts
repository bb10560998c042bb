/**
 * Whether the output of a build is suspicious: a server that the environment's variables name, most often the CMS, could not
 * be reached, or pages are missing that the live deployment has. The build tool of a front end may ignore both and succeed.
 * Pure.
 *
 * Whether a server answered with errors is not visible, as the connection is encrypted. Then the missing pages are the only
 * sign.
 */
import { type AskedEndpoint, type Contacts, isLocal, kindOf } from '../../builds/index.ts'
import type { resources } from '../../contract/index.ts'
import type { ContactOutcome, Endpoint } from '../../engines/index.ts'

export type Suspicion = {
  /** Servers that the build called and never reached. */
  unreachable: Unreachable[]
  /** Null if there are about as many pages as before. */
  lostPages: LostPages | null
}

export type Unreachable = { host: string; port: number | null; outcome: ContactOutcome }

/** `names`: the first of those that are missing; `count`: of all that are. */
export type LostPages = { before: number; now: number; count: number; names: string[] }

export type Evidence = {
  /** Null if the machine cannot record contacts. */
  contacts: Contacts | null
  /** Those of the live deployment's build. */
  liveContacts: Contacts | null
  /** What the environment's variables name. */
  asked: readonly AskedEndpoint[]
  pages: ReadonlySet<string>
  livePages: ReadonlySet<string>
  limits: resources.SuspiciousOutput
}

const NAMED_PAGES = 20
/** Of these, pages that a message names. */
const PAGES_IN_MESSAGE = 5
const NAMED_HOSTS = 10

/** Undefined if nothing is suspicious. */
export function suspicionOf(evidence: Evidence): Suspicion | undefined {
  const unreachable = unreachableIn(evidence)
  const lostPages = lostIn(evidence)
  return unreachable.length > 0 || lostPages ? { unreachable, lostPages } : undefined
}

/** Without servers that the build of the live deployment did not reach either: that build went live without them. */
function unreachableIn({
  contacts,
  liveContacts,
  asked,
}: Pick<Evidence, 'contacts' | 'liveContacts' | 'asked'>): Unreachable[] {
  const hosts = new Set(asked.map(({ host }) => host).filter(isOfContent))
  const before = outcomesIn(liveContacts ?? [], hosts)
  return [...outcomesIn(contacts ?? [], hosts)]
    .filter(([host, found]) => isUnreached(found) && !isUnreached(before.get(host) ?? []))
    .map(([host, found]) => ({ host, ...(found[0] as Attempt) }))
    .slice(0, NAMED_HOSTS)
}

/** All servers of the variables that were called and not reached, whether or not the live deployment's build reached them. */
export const hostsUnreached = ({ contacts, asked }: Pick<Evidence, 'contacts' | 'asked'>): Set<string> =>
  new Set(unreachableIn({ contacts, asked, liveContacts: null }).map(({ host }) => host))

/** Package registries, fonts and analytics are not sources of content. */
const isOfContent = (host: string): boolean => !isLocal(host) && kindOf(host) === 'other'

type Attempt = { port: number | null; outcome: ContactOutcome }

/** By host, all of its contacts. A host may be named by its address. */
function outcomesIn(contacts: Contacts, hosts: ReadonlySet<string>): Map<string, Attempt[]> {
  const found = new Map<string, Attempt[]>()
  for (const { host, addresses, port, isRefused, outcome } of contacts) {
    const named = [host ?? '', ...addresses].find((name) => hosts.has(name))
    if (named === undefined) continue
    // Records of earlier versions only have whether the rules refused the contact.
    const known = { port, outcome: outcome ?? (isRefused ? 'BLOCKED' : 'CONNECTED') }
    found.set(named, [...(found.get(named) ?? []), known])
  }
  return found
}

const FAILURES: ReadonlySet<ContactOutcome> = new Set<ContactOutcome>([
  'CONNECTION_REFUSED',
  'NO_ANSWER',
  'BLOCKED',
  'NAME_NOT_RESOLVED',
])

const isUnreached = (found: readonly Attempt[]): boolean =>
  found.length > 0 && found.every(({ outcome }) => FAILURES.has(outcome))

/** A renamed page is not lost, so the numbers of pages are compared, and not their names. */
function lostIn({ pages, livePages, limits }: Evidence): LostPages | null {
  const lost = livePages.size - pages.size
  const { maxLostPagesPercent, minLostPages } = limits
  if (lost < Math.max(1, minLostPages) || lost * 100 <= maxLostPagesPercent * livePages.size) return null
  const missing = [...livePages].filter((page) => !pages.has(page))
  return {
    before: livePages.size,
    now: pages.size,
    count: missing.length,
    names: missing.slice(0, NAMED_PAGES).map(shortened).sort(),
  }
}

const NAME_LENGTH = 200

const shortened = (name: string): string => (name.length > NAME_LENGTH ? `${name.slice(0, NAME_LENGTH)}…` : name)

/**
 * The endpoints that the service probes to find out whether the servers answer again: the port that was called, with the
 * protocol of the variable that names it. Only hosts that the variables name are probed.
 */
export const endpointsToAsk = (
  unreachable: readonly Pick<Unreachable, 'host' | 'port'>[],
  asked: readonly AskedEndpoint[],
): Endpoint[] =>
  unreachable.flatMap(({ host, port }) => {
    const named = asked.filter((endpoint) => endpoint.host === host)
    const endpoint = named.find((each) => each.port === port) ?? named.find((each) => each.port !== null)
    const at = port ?? endpoint?.port ?? null
    if (at === null || named.length === 0) return []
    return [{ protocol: endpoint?.port === at ? endpoint.protocol : 'tcp', host, port: at }]
  })

const OUTCOME_WORDS: Record<ContactOutcome, string> = {
  CONNECTED: 'answered',
  CONNECTION_REFUSED: 'refused the connection',
  NO_ANSWER: 'did not answer',
  BLOCKED: 'may not be called by builds of this machine (setting allowedNetworks)',
  NAME_NOT_RESOLVED: 'has no address: its name could not be resolved',
  ASKED: 'was asked for by name',
}

export const outcomeInWords = (outcome: ContactOutcome): string => OUTCOME_WORDS[outcome]

/** In words: what is wrong, and which pages are missing. */
export function inSentences({ unreachable, lostPages }: Suspicion): string[] {
  const hosts = unreachable.map(
    ({ host, port, outcome }) => `${host}${port === null ? '' : `:${port}`} ${outcomeInWords(outcome)}`,
  )
  return [
    ...(hosts.length > 0 ? [`A server that the variables name could not be reached: ${hosts.join('; ')}.`] : []),
    ...(lostPages ? [lostInWords(lostPages)] : []),
  ]
}

function lostInWords({ before, now, count, names }: LostPages): string {
  const percent = Math.round(((before - now) * 100) / before)
  const shown = names.slice(0, PAGES_IN_MESSAGE)
  const more = count - shown.length
  const rest = more > 0 ? ` and ${more.toLocaleString('en')} more` : ''
  return `The output has ${now.toLocaleString('en')} pages, and the live deployment has ${before.toLocaleString('en')} (${percent} % fewer). Missing: ${shown.join(', ')}${rest}.`
}
