import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseAddress } from './addresses.ts'
import { DEFAULT_NETWORK_SETTINGS, describeSettings, isRefused, type NetworkSettings, readPolicy } from './settings.ts'

function refuses(given: Partial<NetworkSettings>, address: string, { port = 443, isOfMachine = false } = {}): boolean {
  const policy = readPolicy({ ...DEFAULT_NETWORK_SETTINGS, ...given })
  return isRefused(policy, isOfMachine, parseAddress(address) ?? Number.NaN, port)
}

test('by default the internet is reached, and private networks and the keys of clouds are not', () => {
  for (const address of ['1.1.1.1', '172.32.0.1', '192.169.0.1', '100.128.0.1']) {
    assert.equal(refuses({}, address), false, address)
  }
  const shut = [
    '10.1.2.3',
    '172.16.0.1',
    '192.168.1.1',
    '100.64.0.1',
    '100.100.100.200',
    '127.0.0.1',
    '169.254.169.254',
  ]
  for (const address of [...shut, '168.63.129.16', '192.0.0.192', '224.0.0.251', '255.255.255.255', '0.0.0.0']) {
    assert.equal(refuses({}, address), true, address)
  }
})

test('an exception is an address or a range, for every port or for one', () => {
  const allowed = ['192.168.1.10', '10.9.0.0/16:5432']
  assert.equal(refuses({ allowed }, '192.168.1.10'), false)
  assert.equal(refuses({ allowed }, '192.168.1.11'), true)
  assert.equal(refuses({ allowed }, '10.9.1.1', { port: 5432 }), false)
  assert.equal(refuses({ allowed }, '10.9.1.1', { port: 5433 }), true)
})

test('the machine is opened by an exception with a port alone', () => {
  const isOfMachine = true
  assert.equal(refuses({ blocked: [] }, '203.0.113.5', { isOfMachine }), true)
  assert.equal(refuses({ allowed: ['203.0.113.5'] }, '203.0.113.5', { isOfMachine }), true)
  assert.equal(refuses({ allowed: ['203.0.113.5:443'] }, '203.0.113.5', { isOfMachine }), false)
})

const WRONG: [Partial<NetworkSettings>, RegExp][] = [
  [{ blocked: ['10.0.0.1/8'] }, /must begin at its first address/],
  [{ blocked: ['fe80::/10'] }, /jobs have no IPv6/],
  [{ blocked: ['everything'] }, /is no IPv4 address or range/],
  [{ allowed: ['10.0.0.1:0'] }, /has an invalid port/],
  [{ allowed: ['10.0.0.1:65536'] }, /has an invalid port/],
  [{ allowed: ['cms.example.com:443'] }, /is no IPv4 address or range/],
  [{ allowed: ['[::1]:443'] }, /jobs have no IPv6/],
  [{ range: '10.0.0.0/25' }, /between 8 and 24 bits/],
]

for (const [given, complaint] of WRONG) {
  test(`a mistake in the settings is reported: ${JSON.stringify(given)}`, () => {
    assert.throws(() => readPolicy({ ...DEFAULT_NETWORK_SETTINGS, ...given }), complaint)
  })
}

test('settings are described for people', () => {
  const text = describeSettings({ range: '10.201.0.0/16', blocked: ['10.0.0.0/8'], allowed: ['10.1.2.3:443'] })
  assert.equal(text, 'blocked: this machine, each other, link-local, 10.0.0.0/8; allowed: 10.1.2.3:443')
})
