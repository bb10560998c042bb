import assert from 'node:assert/strict'
import { isIPv6 } from 'node:net'
import { test } from 'node:test'
import fc from 'fast-check'
import { holds } from '../../test/support/fuzz.ts'
import { clientNetwork } from './client-network.ts'

test('the client that an address belongs to', () => {
  const clients: Record<string, string> = {
    '192.0.2.1': '192.0.2.1',
    '2001:db8:1:2:3:4:5:6': '2001:db8:1:2::/64',
    '2001:db8:1:2::6': '2001:db8:1:2::/64',
    '2001:0DB8:0001:2::6': '2001:db8:1:2::/64',
    '2001:db8::6': '2001:db8:0:0::/64',
    '2001:db8::5:6:7:8:9': '2001:db8:0:5::/64',
    '::1': '0:0:0:0::/64',
    '::': '0:0:0:0::/64',
    'fe80::1%eth0': 'fe80:0:0:0::/64',
    '::ffff:192.0.2.1': '192.0.2.1',
    '::FFFF:192.0.2.1': '192.0.2.1',
    '::ffff:c000:201': '192.0.2.1',
    '0:0:0:0:0:ffff:c000:0201': '192.0.2.1',
    '0:0:0:0:0:fffe:c000:0201': '0:0:0:0::/64',
    unix: 'unix',
  }
  for (const [address, client] of Object.entries(clients)) {
    assert.equal(clientNetwork(address), client, address)
  }
})

const group = fc.integer({ min: 0, max: 0xffff })

/** One address in one of its spellings. */
const spelled = (groups: readonly number[], { pads, isUpper }: { pads: boolean; isUpper: boolean }): string => {
  const text = groups.map((bits) => bits.toString(16).padStart(pads ? 4 : 1, '0')).join(':')
  return isUpper ? text.toUpperCase() : text
}

test('addresses of one /64 are one client however they are spelled, those of another are another, at both counters', async () => {
  const style = fc.record({ pads: fc.boolean(), isUpper: fc.boolean() })
  const four = fc.tuple(group, group, group, group)
  await holds(
    fc.property(four, four, four, style, style, (network, one, other, a, b) => {
      fc.pre(network.some((bits) => bits !== 0))
      const [first, second] = [spelled([...network, ...one], a), spelled([...network, ...other], b)]
      assert.ok(isIPv6(first))
      assert.equal(clientNetwork(first), clientNetwork(second))
      const next = spelled([network[0], network[1], network[2], network[3] ^ 1, ...one], a)
      if (network.slice(0, 3).some((bits) => bits !== 0)) assert.notEqual(clientNetwork(next), clientNetwork(first))
    }),
    500,
  )
})
