import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { createForwarded } from './forwarded.ts'

const request = (remoteAddress: string, headers: Record<string, string> = {}) =>
  ({ socket: { remoteAddress }, headers }) as unknown as IncomingMessage

const CLAIM = { 'x-forwarded-for': '203.0.113.7', 'x-forwarded-proto': 'https' }

test('what a visitor says of themselves is not passed on', () => {
  const forwarded = createForwarded()
  assert.deepEqual(forwarded.visitorOf(request('198.51.100.1', CLAIM)), { address: '198.51.100.1', protocol: 'http' })
})

test('a proxy that the operator named is believed, and stands in the list itself', () => {
  const forwarded = createForwarded()
  forwarded.trust(['127.0.0.1', '10.0.0.0/8', '::1'])
  for (const proxy of ['127.0.0.1', '10.2.3.4', '::1', '::ffff:10.9.9.9']) {
    const peer = proxy.replace('::ffff:', '')
    assert.deepEqual(forwarded.visitorOf(request(proxy, CLAIM)), {
      address: `203.0.113.7, ${peer}`,
      protocol: 'https',
    })
  }
  assert.deepEqual(forwarded.visitorOf(request('11.0.0.1', CLAIM)), { address: '11.0.0.1', protocol: 'http' })
})

test('a proxy that says nothing, or nonsense, is the visitor, by http', () => {
  const forwarded = createForwarded()
  forwarded.trust(['127.0.0.1'])
  assert.deepEqual(forwarded.visitorOf(request('127.0.0.1')), { address: '127.0.0.1', protocol: 'http' })
  const nonsense = request('127.0.0.1', { 'x-forwarded-proto': 'gopher' })
  assert.equal(forwarded.visitorOf(nonsense).protocol, 'http')
})
