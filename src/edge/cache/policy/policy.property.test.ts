/**
 * What is stored and used again, compared with a model that was written from RFC 9111 and RFC 5861 alone. The model
 * gets the meaning of a response and the cache gets the text of its headers, so that parsing errors show as well.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { holds } from '../../../../test/support/fuzz.ts'
import { writeHttpDate } from '../fields/http-date.ts'
import { decideStorage } from './storable.ts'
import { decideUse } from './use.ts'

const SECOND = 1000
const NOW = 1_700_000_000 * SECOND

type Response = {
  status: number
  flags: readonly string[]
  maxAge?: number
  sMaxage?: number
  whileRevalidating?: number
  ifError?: number
  /** Seconds from its date on. */
  expires?: number
  /** Seconds ago. */
  date?: number
  age?: number
  hasCookie: boolean
  hasEtag: boolean
  vary?: string
}

type Request = {
  hasAuthorization: boolean
  flags: readonly string[]
  maxAge?: number
  minFresh?: number
  maxStale?: number | 'any'
  ifError?: number
  pragma?: boolean
}

const some = fc.oneof(fc.nat(5), fc.integer({ min: 10, max: 100 }), fc.constant(2 ** 31))
const RESPONSE_FLAGS = [
  'no-store',
  'no-cache',
  'private',
  'public',
  'must-revalidate',
  'proxy-revalidate',
  'must-understand',
  'immutable',
]

/** Few at a time: a response with all directives at once is never stored. */
const response: fc.Arbitrary<Response> = fc.record(
  {
    status: fc.oneof(
      { weight: 4, arbitrary: fc.constant(200) },
      { weight: 1, arbitrary: fc.constantFrom(203, 206, 301, 302, 304, 404, 401, 410, 429, 500, 599) },
    ),
    flags: fc.oneof(fc.constant([]), fc.subarray(RESPONSE_FLAGS, { maxLength: 2 })),
    maxAge: some,
    sMaxage: some,
    whileRevalidating: some,
    ifError: some,
    expires: fc.integer({ min: -50, max: 100 }),
    date: fc.nat(60),
    age: fc.nat(60),
    hasCookie: fc.nat(9).map((n) => n === 0),
    hasEtag: fc.boolean(),
    vary: fc.constantFrom('Accept', 'Cookie, Accept', '*', 'Accept, *'),
  },
  { requiredKeys: ['status', 'flags', 'hasCookie', 'hasEtag'] },
)

const maxStale = fc.oneof(some, fc.constant('any' as const))
const request: fc.Arbitrary<Request> = fc.oneof(
  fc.record({ hasAuthorization: fc.constant(false), flags: fc.constant([]) }),
  // By itself, because it hardly has an effect beside other directives.
  fc.record({ hasAuthorization: fc.constant(false), flags: fc.constant([]), maxStale }),
  fc.record(
    {
      hasAuthorization: fc.nat(3).map((n) => n === 0),
      flags: fc.oneof(fc.constant([]), fc.subarray(['no-cache', 'no-store', 'no-transform'])),
      maxAge: some,
      minFresh: some,
      maxStale,
      ifError: some,
      pragma: fc.boolean(),
    },
    { requiredKeys: ['hasAuthorization', 'flags'] },
  ),
)

/** How a list of directives is written: in any order, any case, with blanks, on one line or on several. */
const manner = fc.record({
  turn: fc.nat(7),
  isUpper: fc.boolean(),
  isSpread: fc.boolean(),
  blank: fc.constantFrom('', ' ', '\t'),
})
type Manner = typeof manner extends fc.Arbitrary<infer T> ? T : never

const numbered = (entries: Record<string, number | 'any' | undefined>): string[] =>
  Object.entries(entries).flatMap(([name, value]) =>
    value === undefined ? [] : [value === 'any' ? name : `${name}=${value}`],
  )

function written(list: readonly string[], { turn, isUpper, isSpread, blank }: Manner): string[] {
  const turned = [...list.slice(turn % (list.length || 1)), ...list.slice(0, turn % (list.length || 1))]
  const lines = isSpread ? turned : turned.length > 0 ? [turned.join(`${blank},${blank}`)] : []
  return lines.map((line) => (isUpper ? line.toUpperCase() : line))
}

function toHeaders(given: Response, how: Manner): string[] {
  const directives = [
    ...given.flags,
    ...numbered({
      'max-age': given.maxAge,
      's-maxage': given.sMaxage,
      'stale-while-revalidate': given.whileRevalidating,
    }),
    ...numbered({ 'stale-if-error': given.ifError }),
  ]
  const headers = written(directives, how).flatMap((line) => ['Cache-Control', line])
  const dateMs = NOW - (given.date ?? 0) * SECOND
  if (given.date !== undefined) headers.push('date', writeHttpDate(dateMs))
  if (given.expires !== undefined) headers.push('Expires', writeHttpDate(dateMs + given.expires * SECOND))
  if (given.age !== undefined) headers.push('Age', String(given.age))
  if (given.hasCookie) headers.push('Set-Cookie', 'a=1')
  if (given.hasEtag) headers.push('ETag', '"a"')
  if (given.vary !== undefined) headers.push('Vary', given.vary)
  return headers
}

function toRequestHeaders(given: Request, how: Manner): Record<string, string> {
  const directives = [
    ...given.flags,
    ...numbered({
      'max-age': given.maxAge,
      'min-fresh': given.minFresh,
      'max-stale': given.maxStale,
      'stale-if-error': given.ifError,
    }),
  ]
  const lines = written(directives, how)
  return {
    ...(given.hasAuthorization ? { authorization: 'Basic YTpi' } : {}),
    ...(lines.length > 0 ? { 'cache-control': lines.join(', ') } : {}),
    ...(given.pragma ? { pragma: 'no-cache' } : {}),
  }
}

/* The model. */

const lifetimeOf = ({ sMaxage, maxAge, expires }: Response): number | undefined =>
  sMaxage ?? maxAge ?? (expires === undefined ? undefined : Math.max(0, expires))

/** In seconds. A date has no fractions: it was that second's end. */
const ageOf = ({ date = 0, age = 0 }: Response, later: number): number => Math.max(date - 0.999, age) + later

/** RFC 9111, section 3: what a shared cache must not do. */
function mayBeStored({ status, flags, sMaxage }: Response, asked: Request): boolean {
  const says = (flag: string) => flags.includes(flag)
  if (asked.flags.includes('no-store')) return false
  if (says('no-store') && !says('must-understand')) return false
  if (says('must-understand') && status === 599) return false
  if (says('private') || status === 206 || status === 304) return false
  return !asked.hasAuthorization || says('public') || says('must-revalidate') || sMaxage !== undefined
}

/** What a cache is expected to store: nothing forbids it and the lifetime is not over. */
function shouldBeStored(given: Response, asked: Request): boolean {
  const lifetime = lifetimeOf(given)
  const isPlain = given.status === 200 && !given.hasCookie && !given.vary?.includes('*')
  const isFresh = lifetime !== undefined && lifetime > ageOf(given, 0) && !given.flags.includes('no-cache')
  return isPlain && isFresh && mayBeStored(given, asked)
}

type Verdict = 'fresh' | 'while-revalidating' | 'taken' | 'ask'

/** RFC 9111, sections 4, 4.2.4 and 5.2.1; RFC 5861, section 3. */
function useOf(given: Response, asked: Request, later: number): Verdict {
  const age = ageOf(given, later)
  const lifetime = lifetimeOf(given) ?? 0
  const staleness = age - lifetime
  const hasWishes =
    asked.flags.length > 0 ||
    [asked.maxAge, asked.minFresh, asked.maxStale, asked.ifError].some((wish) => wish !== undefined)
  const noCache = asked.flags.includes('no-cache') || (asked.pragma === true && !hasWishes)
  if (given.flags.includes('no-cache') || noCache) return 'ask'
  if (asked.maxAge !== undefined && (asked.maxAge === 0 || age > asked.maxAge)) return 'ask'
  if (asked.minFresh !== undefined && -staleness < asked.minFresh) return 'ask'
  if (staleness < 0) return 'fresh'
  if (given.flags.includes('must-revalidate') || given.flags.includes('proxy-revalidate')) return 'ask'
  const takesNoStale = asked.maxAge !== undefined && asked.maxStale === undefined
  // An explicit window takes precedence over the ban that s-maxage implies.
  if (staleness < (given.whileRevalidating ?? 0) && !takesNoStale) return 'while-revalidating'
  const isTaken = asked.maxStale === 'any' || (asked.maxStale !== undefined && staleness <= asked.maxStale)
  return isTaken && given.sMaxage === undefined ? 'taken' : 'ask'
}

const KINDS: Record<ReturnType<typeof decideUse>['kind'], Verdict> = {
  fresh: 'fresh',
  'stale-while-revalidate': 'while-revalidating',
  'stale-taken': 'taken',
  validate: 'ask',
}

test('what is stored may be stored, and what could be is', async () => {
  const seen = { store: 0, pass: 0 }
  await holds(
    fc.property(response, request, manner, (given, asked, how) => {
      const decision = decideStorage({
        method: 'GET',
        requestHeaders: toRequestHeaders(asked, how),
        status: given.status,
        headers: toHeaders(given, how),
        requestMs: NOW,
        responseMs: NOW,
      })
      seen[decision.kind]++
      if (decision.kind === 'pass') return assert.equal(shouldBeStored(given, asked), false, decision.why)
      assert.equal(mayBeStored(given, asked), true)
      assert.equal(given.hasCookie, false, 'a cookie is for one')
      assert.equal(given.vary?.includes('*') ?? false, false)
      assert.ok(lifetimeOf(given) !== undefined || given.flags.includes('no-cache'), 'no lifetime is guessed')
      assert.ok(!decision.headers.some((name) => /^(set-cookie|age|connection)$/i.test(name)))
    }),
    3000,
  )
  assert.ok(seen.store > 100 && seen.pass > 100, JSON.stringify(seen))
})

test('what is used again may be used, and is asked about where it must be', async () => {
  const seen = new Map<Verdict, number>()
  const plain = response.map((given) => ({
    ...given,
    status: 200,
    hasCookie: false,
    flags: given.flags.filter((flag) => !['no-store', 'private'].includes(flag)),
    vary: undefined,
  }))
  await holds(
    fc.property(plain, request, manner, fc.oneof(fc.nat(10), fc.nat(200)), (all, asked, how, later) => {
      const { vary: _, ...given } = all
      const decision = decideStorage({
        method: 'GET',
        requestHeaders: {},
        status: 200,
        headers: toHeaders(given, how),
        requestMs: NOW,
        responseMs: NOW,
      })
      if (decision.kind === 'pass') return
      const use = decideUse(decision.lifetime, toRequestHeaders(asked, how), NOW + later * SECOND)
      const found = KINDS[use.kind]
      seen.set(found, (seen.get(found) ?? 0) + 1)
      assert.equal(found, useOf(given, asked, later))
      assert.equal(use.ageSeconds, Math.floor(ageOf(given, later)))

      if (use.kind !== 'validate') return
      const mayNever = ['no-cache', 'must-revalidate', 'proxy-revalidate'].some((flag) => given.flags.includes(flag))
      const staleness = ageOf(given, later) - (lifetimeOf(given) ?? 0)
      const isCovered = [given.ifError, given.sMaxage === undefined ? asked.ifError : undefined].some(
        (window) => window !== undefined && window > 0 && staleness <= window,
      )
      if (use.mayServeOnError) assert.ok(!mayNever && isCovered, 'hidden behind an error')
      if (use.mayServeOnFault)
        assert.ok(!mayNever && (given.sMaxage === undefined || isCovered), 'in place of an app that is gone')
    }),
    3000,
  )
  for (const verdict of ['fresh', 'while-revalidating', 'taken', 'ask'] as const)
    assert.ok((seen.get(verdict) ?? 0) > 20, `${verdict} came ${seen.get(verdict) ?? 0} times`)
})

test('whatever a response says, deciding about it does not fail, and time only makes it older', async () => {
  const line = fc.oneof(
    fc.string({ maxLength: 40 }),
    fc.constantFrom(
      'max-age=',
      'max-age="5"',
      's-maxage=-1',
      'max-age=1.5',
      'no-cache="a',
      'max-age=60,max-age=0',
      '=',
      ',,,',
      `max-age=${'9'.repeat(300)}`,
    ),
  )
  const name = fc.constantFrom(
    'Cache-Control',
    'cdn-cache-control',
    'Expires',
    'Date',
    'Age',
    'Vary',
    'X-Nextjs-Cache',
    'Surrogate-Control',
    'Cache-Tag',
  )
  await holds(
    fc.property(fc.array(fc.tuple(name, line), { maxLength: 6 }), fc.nat(1000), fc.nat(1000), (list, first, more) => {
      const headers = list.flat()
      const decision = decideStorage({
        method: 'GET',
        requestHeaders: {},
        status: 200,
        headers,
        requestMs: NOW,
        responseMs: NOW,
      })
      if (decision.kind === 'pass') return
      const { lifetime } = decision
      for (const ms of [lifetime.freshMs, lifetime.whileRevalidatingMs, lifetime.ifErrorMs])
        assert.ok(ms >= 0 && Number.isFinite(ms))
      assert.ok(lifetime.bornMs <= NOW)
      const [early, late] = [first, first + more].map((seconds) => decideUse(lifetime, {}, NOW + seconds * SECOND))
      if (early?.kind !== 'fresh') assert.notEqual(late?.kind, 'fresh')
    }),
    1000,
  )
})
