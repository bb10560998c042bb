import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Lifetime, readLifetime } from './freshness.ts'
import { decideUse, readRequestDirectives } from './use.ts'

const BORN = 1_000_000
const lifetimeOf = (cacheControl: string): Lifetime =>
  readLifetime({ headers: ['Cache-Control', cacheControl], requestMs: BORN, responseMs: BORN })

/** `fault` and `error`: what the stored response may be served instead of. */
const words = (cacheControl: string, request: string | undefined, ageSeconds: number): string => {
  const headers = request === undefined ? {} : { 'cache-control': request }
  const use = decideUse(lifetimeOf(cacheControl), headers, BORN + ageSeconds * 1000)
  if (use.kind !== 'validate') return use.kind
  const instead = use.mayServeOnError ? ', else error' : use.mayServeOnFault ? ', else fault' : ''
  return `${use.why}${instead}`
}

const NEXT = 's-maxage=60, stale-while-revalidate=300'
const ERRORS = 'max-age=60, stale-if-error=300'

const USES: [response: string, request: string | undefined, ageSeconds: number, use: string][] = [
  ['max-age=60', undefined, 0, 'fresh'],
  ['max-age=60', undefined, 59.999, 'fresh'],
  ['max-age=60', undefined, 60, 'stale, else fault'],
  ['max-age=60', undefined, -5, 'fresh'],
  ['max-age=0', undefined, -5, 'stale, else fault'],

  ['s-maxage=60', undefined, 61, 'stale'],
  ['max-age=60, must-revalidate', undefined, 61, 'stale'],
  ['max-age=60, proxy-revalidate', undefined, 61, 'stale'],
  ['max-age=60, no-cache', undefined, 1, 'no-cache'],
  ['max-age=60, no-cache, stale-if-error=60', 'max-stale, stale-if-error=60', 1, 'no-cache'],

  [NEXT, undefined, 60, 'stale-while-revalidate'],
  [NEXT, undefined, 359.999, 'stale-while-revalidate'],
  [NEXT, undefined, 360, 'stale'],
  [NEXT, 'max-stale', 360, 'stale'],

  [ERRORS, undefined, 61, 'stale, else error'],
  [ERRORS, undefined, 360, 'stale, else error'],
  [ERRORS, undefined, 360.001, 'stale, else fault'],
  [`${ERRORS}, must-revalidate`, undefined, 61, 'stale'],
  ['s-maxage=60, stale-if-error=300', undefined, 61, 'stale, else error'],
  [ERRORS, 'no-cache', 1, 'request, else error'],

  ['max-age=60', 'no-cache', 1, 'request'],
  ['max-age=60', 'no-cache', 61, 'stale'],
  [NEXT, 'no-cache', 61, 'stale'],
  ['max-age=60', 'no-cache, stale-if-error=5', 1, 'request, else error'],

  ['max-age=60', 'max-age=0', 0, 'request'],
  ['max-age=60', 'max-age=10', 10, 'fresh'],
  ['max-age=60', 'max-age=10', 10.001, 'request'],
  ['max-age=60', 'max-age=nonsense', 1, 'request'],
  [NEXT, 'max-age=100', 70, 'stale'],
  [NEXT, 'max-age=100, max-stale', 70, 'stale-while-revalidate'],

  ['max-age=60', 'min-fresh=10', 50, 'fresh'],
  ['max-age=60', 'min-fresh=10', 50.001, 'request'],
  [NEXT, 'min-fresh=0', 61, 'stale'],

  ['max-age=60', 'max-stale', 99_999, 'stale-taken'],
  ['max-age=60', 'max-stale=10', 70, 'stale-taken'],
  ['max-age=60', 'max-stale=10', 70.001, 'stale, else fault'],
  ['max-age=60', 'max-stale=x', 70, 'stale, else fault'],
  ['s-maxage=60', 'max-stale', 61, 'stale'],
  ['max-age=60, must-revalidate', 'max-stale=10', 61, 'stale'],

  ['max-age=60', 'stale-if-error=10', 70, 'stale, else error'],
  ['max-age=60', 'stale-if-error=10', 70.001, 'stale, else fault'],
  ['max-age=60, must-revalidate', 'stale-if-error=10', 61, 'stale'],

  ['max-age=60', 'nothing-to-see-here', 1, 'fresh'],
  ['max-age=60', 'only-if-cached', 1, 'fresh'],
]

for (const [response, request, ageSeconds, use] of USES) {
  test(`${response}, ${ageSeconds} seconds old, asked for with ${request ?? 'nothing more'}: ${use}`, () => {
    assert.equal(words(response, request, ageSeconds), use)
  })
}

test('age and time to live are whole seconds, and below zero the time goes on', () => {
  const at = (ms: number) => {
    const { ageSeconds, ttlSeconds } = decideUse(lifetimeOf(NEXT), {}, BORN + ms)
    return [ageSeconds, ttlSeconds]
  }
  assert.deepEqual(at(0), [0, 60])
  assert.deepEqual(at(29_999), [29, 30])
  assert.deepEqual(at(59_999), [59, 0])
  assert.deepEqual(at(60_000), [60, 0])
  assert.deepEqual(at(60_001), [60, -1])
  assert.deepEqual(at(400_000), [400, -340])
})

test('Pragma: no-cache counts where there is no Cache-Control', () => {
  const kindFor = (headers: Record<string, string>) => decideUse(lifetimeOf('max-age=60'), headers, BORN).kind
  assert.equal(kindFor({ pragma: 'no-cache' }), 'validate')
  assert.equal(kindFor({ pragma: 'foo, No-Cache' }), 'validate')
  assert.equal(kindFor({ pragma: 'unrecognised-extension' }), 'fresh')
  assert.equal(kindFor({ pragma: 'no-cache', 'cache-control': 'max-age=5' }), 'fresh')
})

test('a request may ask that nothing is stored, or that the app is not asked', () => {
  assert.deepEqual(readRequestDirectives({}), { noStore: false, onlyIfCached: false })
  assert.deepEqual(readRequestDirectives({ 'cache-control': 'No-Store' }), { noStore: true, onlyIfCached: false })
  assert.deepEqual(readRequestDirectives({ 'cache-control': 'a, only-if-cached' }), {
    noStore: false,
    onlyIfCached: true,
  })
})
