import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CERTIFICATE_STATES, DNS_STATES } from '../../../../src/contract/resources/domain-checks.ts'
import { certificateWords, dnsWords } from './words.ts'

test('every state has a word, and a bad one says what to do', () => {
  for (const state of DNS_STATES) {
    const { tone, detail } = dnsWords({ state, addresses: ['198.51.100.7'] })
    assert.ok(detail || tone === 'busy', state)
  }
  for (const state of CERTIFICATE_STATES.filter((each) => each !== 'NOT_CHECKED')) {
    assert.ok(certificateWords({ state })?.detail, state)
  }
  assert.equal(certificateWords({ state: 'NOT_CHECKED' }), undefined)
})

test('of many addresses the first two are shown', () => {
  const addresses = ['198.51.100.1', '198.51.100.2', '198.51.100.3', '198.51.100.4']
  assert.equal(dnsWords({ state: 'ELSEWHERE', addresses }).detail, 'To 198.51.100.1, 198.51.100.2 and 2 more')
})

test('a certificate is shown with its expiry and issuer', () => {
  const check = { state: 'VALID', issuer: "Let's Encrypt", validUntil: '2027-02-03T12:00:00Z' } as const
  assert.equal(certificateWords(check)?.detail, "Until 3 Feb 2027, Let's Encrypt")
})
