/**
 * Checks whether custom host names lead to this service, and which certificate is sent for them. Tenants control the DNS records
 * of their names, so these are only compared: connections are made to the service's own public addresses only. Results are
 * cached for a while, and the lookups of each account are rate-limited.
 */
import { type Clock, createBuckets, createSlots, type Rate, toRfc3339 } from '../base/index.ts'
import { Problem, type resources } from '../contract/index.ts'
import { isPrivate } from '../http/index.ts'
import { canonical } from './addresses.ts'
import { readCertificate } from './certificate.ts'
import type { LookUp, Lookup } from './lookup.ts'

type Parts = {
  clock: Clock
  lookUp: LookUp
  /** Public addresses of this service as the operator gave them; empty where the service finds them out by DNS. */
  publicAddresses?: readonly string[]
  /** The port at which visitors reach the TLS proxy in front. */
  tlsPort?: number
  askCertificate?: typeof readCertificate
  rate?: Rate
}

export type DomainCheckRequest = {
  accountId: string
  /** The environment's own host name, which the operator has set up in DNS. */
  ownHost: string
  domains: readonly string[]
  /** Only results that are a few seconds old are reused. */
  isFresh?: boolean
}

/** Names that one account may have looked up. */
const RATE: Rate = { atOnce: 200, perSecond: 5 }
/** Of all accounts together, and of one. */
const SLOTS = { max: 32, maxOfOwner: 4 }
/** How long a result is reused, and how long where a fresh one is wanted. */
const KEPT_MS = 60_000
const FRESH_MS = 10_000
const MAX_KEPT = 2000
/** A caller waits this long; a check that takes longer is ready at a later call. */
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

  const findOwn = (ownHost: string) => findOwnBy(lookUp, ownHost)

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
    async check({ accountId, ownHost, domains, isFresh = false }: DomainCheckRequest): Promise<resources.DomainChecks> {
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
      const timeout = new AbortController()
      const late = clock.sleep(WAIT_MS, timeout.signal)
      const checks = await Promise.all(
        domains.map(async (domain) => {
          const kept = known.get(domain)
          if (kept && isKnown(domain)) return kept.check
          const begun = begin(accountId, domain, own)
          return Promise.race([begun, late.then(() => kept?.check ?? checking(domain))])
        }),
      ).finally(() => timeout.abort())
      return { checks, records: recordsFor(ownHost, own) }
    },
  }
}

export type DomainChecks = ReturnType<typeof createDomainChecks>

type NameParts = Pick<Parts, 'lookUp' | 'publicAddresses'>

/** Whether a name leads here, by DNS alone. Nothing is cached: the caller decides how often to ask. */
export function createNameCheck({ lookUp, publicAddresses = [] }: NameParts) {
  const given = new Set(publicAddresses.map(canonical))
  return async (name: string, ownHost: string): Promise<resources.DnsCheck> => {
    const own = given.size > 0 ? given : isLocal(ownHost) ? 'unknown' : await findOwnBy(lookUp, ownHost)
    return judge(await lookUp(name), own)
  }
}

export type NameCheck = ReturnType<typeof createNameCheck>

/**
 * The public addresses that the environment's own host name has in DNS. Private ones do not count: tenants see the result, and
 * must not learn what an internal DNS server answers.
 */
async function findOwnBy(lookUp: LookUp, ownHost: string): Promise<Own> {
  const found = publicOf(await lookUp(ownHost))
  return found.length > 0 ? new Set(found) : 'unknown'
}

const isLocal = (host: string): boolean => host === 'localhost' || host.endsWith('.localhost')

const publicOf = (found: Lookup): string[] =>
  found === 'no answer' ? [] : found.addresses.filter((address) => !isPrivate(address))

/** A name with only private addresses is reported as one that does not exist, so that names of an internal DNS stay secret. */
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

/** Above MAX_KEPT, the oldest one is dropped. */
function keep<T>(all: Map<string, T>, key: string, value: T) {
  all.delete(key)
  all.set(key, value)
  const [oldest] = all.keys()
  if (all.size > MAX_KEPT && oldest !== undefined) all.delete(oldest)
}
