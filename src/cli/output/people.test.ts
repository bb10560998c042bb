import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commitInWords, digestFor, idFor, requesterInWords } from './people.ts'

test('a credential with the name of a user is not taken for one', () => {
  assert.equal(requesterInWords({ kind: 'USER', name: 'ada@example.com' }), 'ada@example.com')
  assert.equal(requesterInWords({ kind: 'CREDENTIAL', name: 'ada@example.com' }), 'credential ada@example.com')
  assert.equal(requesterInWords({ kind: 'WEBHOOK', name: 'Rebuild' }), 'webhook Rebuild')
  assert.equal(requesterInWords(null), '')
  assert.equal(requesterInWords(undefined), '', 'of a service of an earlier version')
})

test('a commit is short, with its branch, and marked where it is not all that was sent', () => {
  const sha = 'c0ffee1234'.padEnd(40, '0')
  assert.equal(commitInWords({ sha, branch: 'main' }), 'c0ffee1 main')
  assert.equal(commitInWords({ sha, isDirty: true }), 'c0ffee1+')
  assert.equal(commitInWords({ sha, isDirty: false }), 'c0ffee1')
  assert.equal(commitInWords(null), '')
})

test('ids and digests are short for people and whole for programs', () => {
  const name = 'accounts/a/apps/b/environments/c/builds/0198f0a2-1111-7222-8333-44445555abcd'
  const archive = { digest: `sha256:${'0123456789'.padEnd(64, '0')}` }
  assert.deepEqual([idFor({ isShown: true }, name), digestFor({ isShown: true }, archive)], ['5555abcd', '01234567'])
  assert.equal(idFor({ isShown: false }, name), '0198f0a2-1111-7222-8333-44445555abcd')
  assert.equal(digestFor({ isShown: false }, archive), archive.digest)
  assert.equal(digestFor({ isShown: true }, undefined), '')
})
