/**
 * Looks whether custom host names lead here, and with which certificate they are answered. What DNS says of a name is a
 * tenant's to choose, so it is compared and never followed: a connection is made to our own public addresses only.
 * Answers are kept for a while, and each account may have so many names looked up.
 */
import { type Clock, createBuckets, type Rate, toRfc3339 } from '../base/index.ts'
import { Problem, type resources } from '../contract/index.ts'
import { canonical, isPrivate } from './addresses.ts'
import { readCertificate } from './certificate.ts'
import type { LookUp, Lookup } from './lookup.ts'
import { createSlots } from './slots.ts'

type Parts = {
  clock: Clock
  lookUp: LookUp
  /** Public addresses of this service as the operator gave them; empty where the service finds them out by DNS. */
  publicAddresses?: readonly string[]
  /** Where visitors reach the proxy in front by TLS. */
  tlsPort?: number
  askCertificate?: typeof readCertificate
  rate?: Rate
}

export type Question = {
  accountId: string
  /** The environment's own host name, which the operator has set up in DNS. */
  ownHost: string
  domains: readonly string[]
  /** What is known already does not do, unless it is only seconds old. */
  isFresh?: boolean
}

/** Names that one account may have looked up. */
const RATE: Rate = { atOnce: 200, perSecond: 5 }
/** Of all accounts together, and of one. */
const SLOTS = { max: 32, maxOfOwner: 4 }
/** How long an answer is used, and how long where a fresh one is wanted. */
const KEPT_MS = 60_000
const FRESH_MS = 10_000
const KEPT_MAX = 2000
/** A caller waits so long; what is not known by then is known at the next call. */
const WAIT_MS = 10_000
const ADDRESSES_SHOWN = 8

type Own = ReadonlySet<string> | 'unknown'

export function createDomainChecks(parts: Parts) {
  const { clock, lookUp, publicAddresses = [], tlsPort = 443, askCertificate = readCertificate, rate = RATE } = parts
  const given = new Set(publicAddresses.map(canonical))
  const known = new Map<string, { time: number; check: resources.DomainCheck }>()
  const underWay = new Map<string, Promise<resources.DomainCheck>>()
  const ownKnown = new Map<string, { time: number; own: Promise<Own> }>()
  const buckets = createBuckets(clock)
  const inSlot = createSlots(SLOTS)

  /**
   * What the operator gave, or else what the environment's own host name has in DNS. Private addresses count only where
   * they were given: tenants are told these, and an answer of an internal DNS server is not theirs to know.
   */
  async function findOwn(ownHost: string): Promise<Own> {
    const found = publicOf(await lookUp(ownHost))
    return found.length > 0 ? new Set(found) : 'unknown'
  }

  /** Undefined where DNS has to be asked. */
  function ownKnownOf(ownHost: string): Promise<Own> | undefined {
    if (given.size > 0) return Promise.resolve(given)
    if (isLocal(ownHost)) return Promise.resolve('unknown')
    const kept = ownKnown.get(ownHost)
    return kept && clock.now() - kept.time < KEPT_MS ? kept.own : undefined
  }

  async function look(domain: string, own: Own): Promise<resources.DomainCheck> {
    const found = await lookUp(domain)
    const dns = judge(found, own)
    const here = found === 'no answer' || own === 'unknown' ? undefined : found.addresses.find((each) => own.has(each))
    const certificate: resources.CertificateCheck =
      here === undefined
        ? { state: 'NOT_CHECKED' }
        : await askCertificate({ address: here, port: tlsPort, name: domain })
    return { domain, dns, certificate, checkTime: toRfc3339(clock.now()) }
  }

  function begin(accountId: string, domain: string, own: Own): Promise<resources.DomainCheck> {
    const begun = underWay.get(domain)
    if (begun) return begun
    const made = inSlot(accountId, () => look(domain, own))
      .then((check) => {
        keep(known, domain, { time: clock.now(), check })
        return check
      })
      .finally(() => underWay.delete(domain))
    underWay.set(domain, made)
    return made
  }

  return {
    async check({ accountId, ownHost, domains, isFresh = false }: Question): Promise<resources.DomainChecks> {
      const keptMs = isFresh ? FRESH_MS : KEPT_MS
      const isKnown = (domain: string) => clock.now() - (known.get(domain)?.time ?? -keptMs) < keptMs
      const asked = ownKnownOf(ownHost)
      const unknown = domains.filter((domain) => !isKnown(domain) && !underWay.has(domain))
      const names = unknown.length + (asked ? 0 : 1)
      const waitMs = names === 0 ? 0 : buckets.take(accountId, names, rate)
      if (waitMs > 0) throw new Problem('TOO_MANY_CHECKS', undefined, { retryAfterSeconds: Math.ceil(waitMs / 1000) })

      const finding = asked ?? findOwn(ownHost)
      if (!asked) keep(ownKnown, ownHost, { time: clock.now(), own: finding })
      const own = await finding
      const patience = new AbortController()
      const late = clock.sleep(WAIT_MS, patience.signal)
      const checks = await Promise.all(
        domains.map(async (domain) => {
          const kept = known.get(domain)
          if (kept && isKnown(domain)) return kept.check
          const begun = begin(accountId, domain, own)
          return Promise.race([begun, late.then(() => kept?.check ?? checking(domain))])
        }),
      ).finally(() => patience.abort())
      return { checks, records: recordsFor(ownHost, own) }
    },
  }
}

export type DomainChecks = ReturnType<typeof createDomainChecks>

const isLocal = (host: string): boolean => host === 'localhost' || host.endsWith('.localhost')

const publicOf = (found: Lookup): string[] =>
  found === 'no answer' ? [] : found.addresses.filter((address) => !isPrivate(address))

/** A name with private addresses alone looks like one that does not exist: which names an internal DNS has is not told. */
function judge(found: Lookup, own: Own): resources.DnsCheck {
  if (found === 'no answer') return { state: 'NO_ANSWER', addresses: [] }
  const isOurs = (address: string) => own !== 'unknown' && own.has(address)
  const shown = found.addresses.filter((address) => isOurs(address) || !isPrivate(address))
  const addresses = shown.slice(0, ADDRESSES_SHOWN)
  if (shown.length === 0) return { state: 'NOWHERE', addresses }
  if (own === 'unknown') return { state: 'UNKNOWN', addresses }
  if (shown.every(isOurs)) return { state: 'HERE', addresses }
  return { state: shown.some(isOurs) ? 'PARTLY' : 'ELSEWHERE', addresses }
}

const checking = (domain: string): resources.DomainCheck => ({
  domain,
  dns: { state: 'CHECKING', addresses: [] },
  certificate: { state: 'NOT_CHECKED' },
})

function recordsFor(ownHost: string, own: Own): resources.DnsRecord[] {
  const addresses = own === 'unknown' ? [] : [...own].slice(0, ADDRESSES_SHOWN)
  return [
    ...(isLocal(ownHost) ? [] : [{ type: 'CNAME' as const, value: ownHost }]),
    ...addresses.map((value) => ({ type: value.includes(':') ? ('AAAA' as const) : ('A' as const), value })),
  ]
}

/** Beyond so many, the one that was kept first goes. */
function keep<T>(all: Map<string, T>, key: string, value: T) {
  all.delete(key)
  all.set(key, value)
  const [oldest] = all.keys()
  if (all.size > KEPT_MAX && oldest !== undefined) all.delete(oldest)
}
