import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isAllowedHost } from './allowed-hosts.ts'

test('a host is allowed by its whole name and its port', () => {
  const allowed = ['api.example.com', '*.example.org', 'local.test:8443', '*.ports.test:81']
  for (const origin of [
    'https://api.example.com',
    'http://api.example.com',
    'https://a.example.org',
    'https://a.b.example.org',
    'https://local.test:8443',
    'http://a.ports.test:81',
  ])
    assert.equal(isAllowedHost(allowed, origin), true, origin)
  for (const origin of [
    'https://example.com',
    'https://www.api.example.com',
    'https://api.example.com.evil.test',
    'https://evil-api.example.com',
    'https://api.example.com:8443',
    'https://example.org',
    'https://evilexample.org',
    'https://local.test',
    'https://a.ports.test',
    'https://a.example.org:81',
  ])
    assert.equal(isAllowedHost(allowed, origin), false, origin)
  assert.equal(isAllowedHost([], 'https://api.example.com'), false)
})
