import assert from 'node:assert/strict'
import { test } from 'node:test'
import { retryInWords } from './retry.ts'

const retry = { build: 'b', hosts: ['cms.test:443'], untilTime: '2026-01-01T00:00:00Z', rebuilds: 0, givenUp: false }

test('what is waited for is named, and so is the end of waiting', () => {
  assert.equal(retryInWords(retry), 'Headland builds it again by itself when cms.test:443 answers.')
  assert.match(retryInWords({ ...retry, hosts: [], rebuilds: 2 }), /by itself in a while\. It did so 2 times already\./)
  assert.match(retryInWords({ ...retry, givenUp: true, rebuilds: 5 }), /does not build it again .* Rebuild when/)
})
