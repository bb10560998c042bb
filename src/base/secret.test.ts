import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { digestOf, randomToken, Secret, sameDigest } from './secret.ts'

test('a secret is shown only by an explicit call', () => {
  const secret = new Secret('hunter2')
  for (const shown of [String(secret), `${secret}`, JSON.stringify({ secret }), inspect({ secret }), inspect(secret)]) {
    assert.doesNotMatch(shown, /hunter2/)
  }
  assert.equal(secret.reveal(), 'hunter2')
})

test('tokens are 43 characters that survive every URL and every plugin', () => {
  assert.match(randomToken(), /^[A-Za-z0-9_-]{43}$/)
  assert.notEqual(randomToken(), randomToken())
})

test('digests are compared as a whole', () => {
  assert.equal(sameDigest(digestOf('a'), digestOf('a')), true)
  assert.equal(sameDigest(digestOf('a'), digestOf('b')), false)
  assert.equal(sameDigest('short', digestOf('a')), false)
})
