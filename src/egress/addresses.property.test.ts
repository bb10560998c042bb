/** Which addresses the service calls for tenants. */
import assert from 'node:assert/strict'
import { networkInterfaces } from 'node:os'
import { test } from 'node:test'
import fc from 'fast-check'
import { holds } from '../../test/support/fuzz.ts'
import { createAddressRules } from './addresses.ts'

const { isInside } = createAddressRules({
  allowedHosts: [],
  ownAddresses: ['203.0.113.10'],
  blockedNetworks: ['198.51.100.0/24'],
})

const byte = fc.nat(255)
const group = fc.nat(0xffff).map((value) => value.toString(16))

/** What no tenant may reach, as IPv4. */
const insideIpv4 = fc.oneof(
  fc.tuple(fc.constantFrom(0, 10, 127, 224, 239, 240, 255), byte, byte, byte),
  fc.tuple(fc.constant(100), fc.integer({ min: 64, max: 127 }), byte, byte),
  fc.tuple(fc.constant(169), fc.constant(254), byte, byte),
  fc.tuple(fc.constant(172), fc.integer({ min: 16, max: 31 }), byte, byte),
  fc.tuple(fc.constant(192), fc.constant(168), byte, byte),
  fc.tuple(fc.constant(198), fc.constantFrom(18, 19), byte, byte),
  fc.tuple(fc.constant(198), fc.constant(51), fc.constant(100), byte),
  fc.constant([203, 0, 113, 10] as const),
)

/** The forms of IPv6 in which an IPv4 address can be written. */
const forms: ((bytes: readonly number[]) => string)[] = [
  (bytes) => bytes.join('.'),
  (bytes) => `::ffff:${bytes.join('.')}`,
  (bytes) => `::ffff:${hex(bytes)}`,
  (bytes) => `0:0:0:0:0:ffff:${hex(bytes)}`,
  (bytes) => `::${bytes.join('.')}`,
  (bytes) => `64:ff9b::${hex(bytes)}`,
  (bytes) => `64:ff9b::${bytes.join('.')}`,
  (bytes) => `2002:${hex(bytes)}::1`,
  (bytes) => `::ffff:0:${hex(bytes)}`,
]

const hex = ([a = 0, b = 0, c = 0, d = 0]: readonly number[]): string =>
  `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`

test('an IPv4 address inside is refused in every form', () =>
  holds(
    fc.property(insideIpv4, fc.constantFrom(...forms), (bytes, form) => {
      assert.equal(isInside(form(bytes)), true, form(bytes))
    }),
    2000,
  ))

test('an IPv6 address inside is refused', async () => {
  const prefix = fc.constantFrom('fc00', 'fdff', 'fe80', 'febf', 'fec0', 'ff02', '2002', '64:ff9b:1')
  await holds(
    fc.property(prefix, group, group, (first, second, last) => {
      assert.equal(isInside(`${first}:${second}::${last}`), true, `${first}:${second}::${last}`)
    }),
    200,
  )
  for (const address of ['::', '::1', '0:0:0:0:0:0:0:1', '2001:0:4136:e378::1']) assert.equal(isInside(address), true)
})

test('addresses of this machine are refused, and what is no address', () => {
  const own = Object.values(networkInterfaces()).flatMap((found) => found?.map(({ address }) => address) ?? [])
  for (const address of [...own, '', 'localhost', '1.2.3', '8.8.8.8/32', 'fe80::1%eth0'])
    assert.equal(isInside(address), true, address)
})

test('addresses of the internet are called', () => {
  const open = ['1.1.1.1', '8.8.8.8', '100.63.255.255', '100.128.0.0', '172.15.0.1', '172.32.0.1', '192.167.0.1']
  for (const address of [...open, '2606:4700::1111', '64:ff9b::808:808', '::ffff:8.8.8.8'])
    assert.equal(isInside(address), false, address)
})
