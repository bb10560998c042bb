/** The freshness lifetime and the age of a response: RFC 9111, sections 4.2 and 5.2.2, and RFC 5861. No heuristics. */
import { trimBlanks } from '../../../http/index.ts'
import { firstOf, type HeaderList } from '../fields/header-list.ts'
import { readHttpDate } from '../fields/http-date.ts'
import { type Directives, type Policy, policyOf, seconds } from './cache-control.ts'

export type Lifetime = {
  /** When its age was zero, by our clock: its age in milliseconds is now - bornMs. */
  bornMs: number
  freshMs: number
  /**
   * The source of the lifetime, for display: `cache-control: s-maxage=60`, `cdn-cache-control: max-age=60`, `expires`,
   * `none`.
   */
  from: string
  /** How long after freshMs it may be served while it is revalidated, and when that fails; 0 when not at all. */
  whileRevalidatingMs: number
  ifErrorMs: number
  /** Whether it may be served stale to a client that accepts that, or to any client while the app cannot be reached. */
  mayBeStale: boolean
  /** Every use must be validated by the app first. */
  mustValidate: boolean
}

export type Received = { headers: HeaderList; requestMs: number; responseMs: number }

export function readLifetime(received: Received): Lifetime {
  return lifetimeBy(policyOf(received.headers), received)
}

/** The same for a caller that has read the policy already. */
export function lifetimeBy(policy: Policy, { headers, requestMs, responseMs }: Received): Lifetime {
  const { directives } = policy
  const mustValidate = directives.get('no-cache') === true
  const mayNeverBeStale = mustValidate || directives.has('must-revalidate') || directives.has('proxy-revalidate')
  const dateMs = readHttpDate(firstOf(headers, 'date'))
  const bornMs = responseMs - initialAge({ headers, requestMs, responseMs, dateMs })
  return {
    bornMs,
    ...freshness(policy, headers, { mustValidate, dateMs: dateMs ?? responseMs, ageMs: responseMs - bornMs }),
    // s-maxage implies proxy-revalidate (section 5.2.2.10), yet every framework sends `s-maxage=60,
    // stale-while-revalidate=300`, and an explicit permission outweighs an implied ban. Fastly and nginx do the same;
    // Cloudflare follows the RFC literally, and serves nothing stale then. An explicit ban takes precedence.
    whileRevalidatingMs: mayNeverBeStale ? 0 : windowMs(directives, 'stale-while-revalidate'),
    ifErrorMs: mayNeverBeStale ? 0 : windowMs(directives, 'stale-if-error'),
    mayBeStale: !mayNeverBeStale && !directives.has('s-maxage'),
    mustValidate,
  }
}

const windowMs = (directives: Directives, name: string): number => (seconds(directives, name) ?? 0) * 1000

type Times = { mustValidate: boolean; dateMs: number; ageMs: number }

function freshness(policy: Policy, headers: HeaderList, { mustValidate, dateMs, ageMs }: Times) {
  if (mustValidate) return { freshMs: 0, from: `${policy.field}: no-cache` }
  const stated = statedLifetime(policy, headers, dateMs)
  // Next.js sends its stale page while it renders a new one: the stated lifetime was that of the stale page, and is
  // over.
  const isOver = trimBlanks(firstOf(headers, 'x-nextjs-cache') ?? '').toUpperCase() === 'STALE'
  if (!isOver || stated.from === 'none' || stated.freshMs <= ageMs) return stated
  return { freshMs: ageMs, from: 'x-nextjs-cache: STALE' }
}

function statedLifetime({ field, directives }: Policy, headers: HeaderList, dateMs: number) {
  for (const name of ['s-maxage', 'max-age']) {
    const stated = seconds(directives, name)
    const value = directives.get(name)
    if (stated !== undefined) {
      return { freshMs: stated * 1000, from: `${field}: ${name}${value === true ? '' : `=${value}`}` }
    }
  }
  // CDN-Cache-Control replaces Cache-Control and Expires (RFC 9213, section 2.2).
  const expires = field === 'cache-control' ? firstOf(headers, 'expires') : undefined
  if (expires === undefined) return { freshMs: 0, from: 'none' }
  // An invalid date, especially `0`, means a time in the past (section 5.3).
  return { freshMs: Math.max(0, (readHttpDate(expires) ?? dateMs) - dateMs), from: 'expires' }
}

type Arrival = Received & { dateMs: number | undefined }

/** Its age on arrival: RFC 9111, section 4.2.3. */
function initialAge({ headers, requestMs, responseMs, dateMs = responseMs }: Arrival): number {
  // A Date has no fractions of a second. The end of that second is assumed, or a lifetime of one second would be none.
  const apparent = Math.max(0, responseMs - (dateMs + 999))
  const delay = Math.max(0, responseMs - requestMs)
  return Math.max(apparent, readAge(headers) * 1000 + delay)
}

/** Of several ages the first counts, and one that is not a number of seconds is ignored (section 5.1). */
function readAge(headers: HeaderList): number {
  const [first = ''] = (firstOf(headers, 'age') ?? '').split(',', 1)
  const age = trimBlanks(first)
  return /^\d+$/.test(age) ? Math.min(Number(age), 2 ** 31) : 0
}
