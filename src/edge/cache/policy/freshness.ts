/** How long a response is good for, and how old it is: RFC 9111, sections 4.2 and 5.2.2, and RFC 5861. No guesses. */
import { trimBlanks } from '../../../http/index.ts'
import { firstOf, type HeaderList } from '../fields/header-list.ts'
import { readHttpDate } from '../fields/http-date.ts'
import { type Directives, type Policy, policyOf, seconds } from './cache-control.ts'

export type Lifetime = {
  /** When the response was as old as zero, by our clock: its age in milliseconds is now - bornMs. */
  bornMs: number
  freshMs: number
  /** What gave it, for people: `cache-control: s-maxage=60`, `cdn-cache-control: max-age=60`, `expires`, `none`. */
  from: string
  /** How long behind freshMs it may be served while it is asked for anew, and when asking fails; 0 when not at all. */
  whileRevalidatingMs: number
  ifErrorMs: number
  /** Whether it may be served stale to a client that takes that, or to anybody while the app cannot be reached. */
  mayBeStale: boolean
  /** Every use asks the app first. */
  mustValidate: boolean
}

export type Received = { headers: HeaderList; requestMs: number; responseMs: number }

export function readLifetime(received: Received): Lifetime {
  return lifetimeBy(policyOf(received.headers), received)
}

/** The same for those who have read the policy already. */
export function lifetimeBy(policy: Policy, { headers, requestMs, responseMs }: Received): Lifetime {
  const { directives } = policy
  const mustValidate = directives.get('no-cache') === true
  const mayNeverBeStale = mustValidate || directives.has('must-revalidate') || directives.has('proxy-revalidate')
  const dateMs = readHttpDate(firstOf(headers, 'date'))
  const bornMs = responseMs - initialAge({ headers, requestMs, responseMs, dateMs })
  return {
    bornMs,
    ...freshness(policy, headers, { mustValidate, dateMs: dateMs ?? responseMs, ageMs: responseMs - bornMs }),
    // s-maxage implies proxy-revalidate (section 5.2.2.10), yet `s-maxage=60, stale-while-revalidate=300` is what every
    // framework writes, and an explicit permission says more than an implied ban. Fastly and nginx read it like this;
    // Cloudflare goes by the letter, and then serves nothing stale. A ban that was written out does win.
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
  // Next.js gives what it has while it makes the new one: its lifetime was that of the old one, and is over.
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
  // The field that is meant for us stands for both others (RFC 9213, section 2.2).
  const expires = field === 'cache-control' ? firstOf(headers, 'expires') : undefined
  if (expires === undefined) return { freshMs: 0, from: 'none' }
  // What is no date, `0` above all, is in the past (section 5.3).
  return { freshMs: Math.max(0, (readHttpDate(expires) ?? dateMs) - dateMs), from: 'expires' }
}

type Arrival = Received & { dateMs: number | undefined }

/** How old it was when it came: RFC 9111, section 4.2.3. */
function initialAge({ headers, requestMs, responseMs, dateMs = responseMs }: Arrival): number {
  // A date has no fractions of its second: it was that second's end, or a lifetime of one second would be none.
  const apparent = Math.max(0, responseMs - (dateMs + 999))
  const delay = Math.max(0, responseMs - requestMs)
  return Math.max(apparent, readAge(headers) * 1000 + delay)
}

/** Of several ages the first counts, and one that is not a number of seconds is none (section 5.1). */
function readAge(headers: HeaderList): number {
  const [first = ''] = (firstOf(headers, 'age') ?? '').split(',', 1)
  const age = trimBlanks(first)
  return /^\d+$/.test(age) ? Math.min(Number(age), 2 ** 31) : 0
}
