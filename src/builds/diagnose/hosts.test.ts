import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endpointsAsked, hostsAsked, isAmong, nameBehind } from './hosts.ts'

const HOSTS: [value: string, ...hosts: string[]][] = [
  ['https://cms.example.com/graphql', 'cms.example.com'],
  ['http://127.0.0.1:9', '127.0.0.1'],
  ['http://[2001:db8::1]:8080/', '2001:db8::1'],
  ['postgres://me:p%40ss@db.example.com:5432/shop?ssl=1', 'db.example.com'],
  ['https://CMS.Example.com./', 'cms.example.com'],
  ['https://m\u00fcnchen.example/', 'xn--mnchen-3ya.example'],
  ['https://a.example.com, https://b.example.com', 'a.example.com', 'b.example.com'],
  ['cms.example.com', 'cms.example.com'],
  ['cms.example.com:8080/graphql', 'cms.example.com'],
  ['localhost:1337', 'localhost'],
  ['1.2.3'],
  ['true'],
  ['a secret that is no host'],
  ['https://'],
  [''],
]

for (const [value, ...hosts] of HOSTS) {
  test(`${JSON.stringify(value)} names ${hosts.length > 0 ? hosts.join(' and ') : 'no host'}`, () => {
    assert.deepEqual(hostsAsked({ ANY: value }, {}), hosts)
  })
}

test('the registry and proxies are not hosts of the app, and of the variables of the service only the CMS is', () => {
  const own = { npm_config_registry: 'https://npm.example.com', HTTPS_PROXY: 'http://proxy.example.com:3128' }
  const metadata = { HEADLESS_CMS_URL: 'https://cms.example.com', HEADLESS_KV_STORE_URL: 'http://kv.example.com' }
  assert.deepEqual(hostsAsked(own, metadata), ['cms.example.com'])
})

test('ports and letters do not matter, and this machine has many names', () => {
  assert.equal(isAmong('CMS.example.com:443', ['cms.example.com']), true)
  assert.equal(isAmong('::1:1337', ['localhost']), true)
  assert.equal(isAmong('127.0.0.1:1337', ['localhost']), true)
  assert.equal(isAmong('example.com', ['cms.example.com']), false)
  assert.equal(isAmong('', ['cms.example.com']), false)
})

test('an address is called by the name that led to it', () => {
  const names = { '192.0.2.7': 'cms.example.com', '2001:db8::7': 'api.example.com' }
  assert.equal(nameBehind('192.0.2.7:443', names), 'cms.example.com')
  assert.equal(nameBehind('2001:db8::7:443', names), 'api.example.com')
  assert.equal(nameBehind('192.0.2.8:443', names), '192.0.2.8:443')
  assert.equal(nameBehind('cms.example.com', names), 'cms.example.com')
})

test('values of any length name no more than a thousand hosts', () => {
  const value = Array.from({ length: 5000 }, (_, index) => `https://h${index}.example.com`).join(' ')
  assert.equal(hostsAsked({ ANY: value }, {}).length, 1000)
})

test('an endpoint has the port that is named, or that of its scheme', () => {
  const own = {
    A: 'https://cms.example.com/graphql',
    B: 'http://cms.example.com:8080',
    C: 'postgres://me:secret@db.example.com/shop',
    D: 'search.example.com:7700/indexes',
    E: 'https://cms.example.com/wp-json',
  }
  assert.deepEqual(endpointsAsked(own, {}), [
    { protocol: 'https', host: 'cms.example.com', port: 443 },
    { protocol: 'http', host: 'cms.example.com', port: 8080 },
    { protocol: 'tcp', host: 'db.example.com', port: null },
    { protocol: 'tcp', host: 'search.example.com', port: 7700 },
  ])
})
