import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Certificate } from '../../api/types.ts'
import { canRetry, sourceWords, stateWords, whyWords } from './words.ts'

const certificate = (given: Partial<Certificate>): Certificate => ({
  name: 'accounts/a/certificates/1',
  names: ['www.example.com'],
  usedFor: [],
  source: 'ACME',
  state: 'ISSUED',
  notAfter: '2027-02-03T04:05:06.000Z',
  createTime: '2026-11-17T00:00:00.000Z',
  ...given,
})

test('the state of a certificate is a word of the right tone, with its end', () => {
  const words = (given: Partial<Certificate>) => Object.values(stateWords(certificate(given))).join(' ')
  assert.equal(words({}), 'good Valid Until 3 Feb 2027')
  assert.equal(words({ warning: 'It expires.' }), 'warn Expires soon Until 3 Feb 2027')
  assert.equal(words({ state: 'RENEWING' }), 'warn Being renewed Until 3 Feb 2027')
  assert.equal(words({ state: 'EXPIRED' }), 'bad Expired On 3 Feb 2027')
  assert.match(words({ state: 'FAILED' }), /^bad Failed/)
  assert.match(words({ state: 'WAITING_FOR_DNS' }), /^warn Waiting for DNS/)
  assert.match(words({ state: 'PENDING' }), /^busy Being got/)
})

test('the words of the CA come with what to do', () => {
  const failure = { type: 'caa', detail: 'CAA forbids it', action: 'Add the CA.', time: '2026-11-17T00:00:00.000Z' }
  assert.deepEqual(whyWords(certificate({ failure })), { what: 'CAA forbids it', action: 'Add the CA.' })
  assert.deepEqual(whyWords(certificate({ warning: 'It expires.' })), { what: 'It expires.' })
  assert.equal(whyWords(certificate({})), undefined)
})

test('only what waits for the service can be tried again', () => {
  assert.ok(canRetry(certificate({ state: 'FAILED' })) && canRetry(certificate({ state: 'WAITING_FOR_DNS' })))
  assert.ok(!canRetry(certificate({})) && !canRetry(certificate({ source: 'UPLOADED', state: 'EXPIRED' })))
  assert.equal(sourceWords(certificate({ issuer: 'CN=E7' })), 'By the service, CN=E7')
  assert.equal(sourceWords(certificate({ source: 'UPLOADED' })), 'Uploaded')
})
