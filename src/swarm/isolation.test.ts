import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isolationRules } from './isolation.ts'

const NONE = { edges: [], blocked: [], allowed: [], resolvers: [] }

test('addresses of settings are written in one form, and private ones are always blocked', () => {
  const rules = isolationRules({
    edges: ['203.0.113.7', '203.0.113.9/24'],
    blocked: ['203.0.113.40'],
    allowed: [{ address: '10.0.0.5', port: 443 }],
    resolvers: ['10.0.0.2'],
  })
  assert.match(rules, /set edges .* elements = \{ 203\.0\.113\.7, 203\.0\.113\.0\/24 \};/)
  assert.match(rules, /set blocked .* 10\.0\.0\.0\/8, .*203\.0\.113\.40 \};/)
  assert.match(rules, /ip daddr 10\.0\.0\.5 tcp dport 443 accept/)
})

test('text that is no address or port is refused', () => {
  for (const text of ['', 'name', '::1', '2001:db8::/32', '1.2.3.4; drop', '1.2.3.4 }', '1.2.3.4/33']) {
    assert.throws(() => isolationRules({ ...NONE, edges: [text] }), /no IPv4 address/)
    assert.throws(() => isolationRules({ ...NONE, allowed: [{ address: text, port: 80 }] }), /no IPv4 address/)
  }
  for (const port of [0, 70_000, 1.5, Number.NaN])
    assert.throws(() => isolationRules({ ...NONE, allowed: [{ address: '10.0.0.5', port }] }), /no port/)
})
