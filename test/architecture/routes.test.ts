/** The command line calls the API by typed routes, which the type check holds against the OpenAPI document. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sourcesIn } from '../support/architecture/tree.ts'

/** An address of the API that no method precedes: it is no route, so no type knows what it takes and gives. */
const BY_HAND = /(?<!\b(?:GET|POST|PATCH|DELETE) (?:\/(?:fu|wh))?)\/v1\b/

test('no file of the command line writes an address of the API by hand', async () => {
  const sources = (await sourcesIn('src')).filter(({ path }) => path.startsWith('src/cli/'))
  assert.ok(sources.length > 50)
  assert.deepEqual(
    sources.filter(({ path, text }) => !path.endsWith('.test.ts') && BY_HAND.test(text)).map(({ path }) => path),
    [],
  )
})

const WRITTEN_BY_HAND = [
  "service.call('/v1/regions')",
  "at('/v1/apps/' + id)",
  'url + "/fu/v1/"',
  "'HEAD /v1/accounts'",
]

for (const text of WRITTEN_BY_HAND) {
  test(`the rule complains about ${text}`, () => assert.match(text, BY_HAND))
}

const NOT_BY_HAND = ["client.call('GET /v1/regions')", "client.plan('POST /fu/v1/x')", "fetch('https://h.test/v10')"]

for (const text of NOT_BY_HAND) {
  test(`the rule lets pass ${text}`, () => assert.doesNotMatch(text, BY_HAND))
}
