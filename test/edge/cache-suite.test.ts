/**
 * The edge under the public suite of HTTP cache behaviour. Tests that it does not pass are listed here with their
 * reasons.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fetchCacheSuite, type Judged, KINDS, startCacheSuite, tallyOf } from '../support/edge/cache-suite.ts'
import { serverTarget, startTestEdge } from '../support/edge/edge.ts'
import { temporaryFolder } from '../support/folder.ts'

const NEWER_AGE = 'RFC 9111, section 5.1, which is younger: the first Age counts, and one that is no number is ignored'
const NO_ANSWER = 'the origin breaks off, and the test wants its answer: newer versions of the suite take the 502'
const NO_COOKIES = 'a response that sets a cookie is for one visitor, and is never stored, even where it could be'

/**
 * Required tests that the edge does not pass, and why. A test that passes does not belong here, nor does one that fails
 * without such a reason.
 */
const KNOWN: Record<string, string> = {
  'age-parse-nonnumeric': NEWER_AGE,
  'age-parse-negative': NEWER_AGE,
  'age-parse-float': NEWER_AGE,
  'age-parse-prefix-twoline': NEWER_AGE,
  'age-parse-dup-0': NEWER_AGE,
  'age-parse-dup-0-twoline': NEWER_AGE,
  'age-parse-dup-old': NEWER_AGE,
  'age-parse-parameter': NEWER_AGE,
  'age-parse-numeric-parameter': NEWER_AGE,
  'stale-close-must-revalidate': NO_ANSWER,
  'stale-close-proxy-revalidate': NO_ANSWER,
  'stale-close-no-cache': NO_ANSWER,
  'stale-close-s-maxage=2': NO_ANSWER,
  'headers-store-Set-Cookie': NO_COOKIES,
  '304-etag-update-response-Set-Cookie': NO_COOKIES,
  'headers-store-Transfer-Encoding':
    'an unknown transfer coding: the end of the body cannot be determined, so it is a 502',
  '304-etag-update-response-ETag':
    'a 304 with another ETag says nothing about the stored response (RFC 9111, section 4.3.4): the edge repeats the request without conditions',
}

/** How many of the optional tests pass, which no specification requires. It may only rise. */
const MIN_OPTIMAL = 68

test('the edge does what the public cache suite requires, but for what is known', async (t) => {
  await using suite = await startCacheSuite(await fetchCacheSuite(await temporaryFolder(t)))
  const edge = await startTestEdge(t, { '127.0.0.1': serverTarget(suite.origin.port) })
  const judged = await suite.run(`http://127.0.0.1:${edge.port}`)
  for (const line of reportOf(judged)) t.diagnostic(line)

  const unmet = judged.filter(({ kind, outcome }) => kind === 'required' && outcome !== 'pass').map(({ id }) => id)
  assert.deepEqual(unmet.toSorted(), Object.keys(KNOWN).toSorted())
  const { passed } = tallyOf(judged).optimal
  assert.ok(passed >= MIN_OPTIMAL, `${passed} optimal tests pass, and ${MIN_OPTIMAL} did`)
  assert.deepEqual(edge.troubles, [])
})

/** A row for each kind, and then each test that does not pass. */
function reportOf(judged: readonly Judged[]): string[] {
  const tally = tallyOf(judged)
  const rows = KINDS.map((kind) => {
    const { passed, failed, untried, of } = tally[kind]
    return `${kind.padEnd(8)} ${passed} of ${of} pass, ${failed} fail, ${untried} say nothing`
  })
  const others = judged
    .filter(({ outcome }) => outcome !== 'pass')
    .toSorted((one, other) => KINDS.indexOf(one.kind) - KINDS.indexOf(other.kind))
    .map(({ id, kind, outcome, why }) => `${kind} ${outcome} ${id}: ${why}`)
  return [...rows, ...others]
}
