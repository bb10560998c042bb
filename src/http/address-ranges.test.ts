import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAddressMatch, readAddressRange, writeAddressRange } from './address-ranges.ts'

const written = (text: string): string | undefined => {
  const range = readAddressRange(text)
  return range && writeAddressRange(range)
}

test('every spelling of a range is written in one way', () => {
  const spellings = {
    '203.0.113.7': '203.0.113.7',
    '203.0.113.7/32': '203.0.113.7',
    '203.0.113.7/24': '203.0.113.0/24',
    '203.0.113.255/25': '203.0.113.128/25',
    '10.1.2.3/0': '0.0.0.0/0',
    '2001:DB8:0:0::1': '2001:db8::1',
    '2001:db8::1/128': '2001:db8::1',
    '2001:db8:ffff::/33': '2001:db8:8000::/33',
    '::/0': '::/0',
    '::ffff:203.0.113.7': '203.0.113.7',
    '::ffff:203.0.113.7/120': '203.0.113.0/24',
    '::ffff:0:0/96': '0.0.0.0/0',
    '::ffff:0:0/95': '::fffe:0:0/95',
  }
  for (const [text, expected] of Object.entries(spellings)) assert.equal(written(text), expected, text)
})

test('what is no address and no range is refused', () => {
  const texts = [
    '',
    'localhost',
    '203.0.113',
    '203.0.113.256',
    '0203.0.113.7',
    '203.0.113.7/33',
    '203.0.113.7/-1',
    '203.0.113.7/024',
    '203.0.113.7/',
    '203.0.113.7/24/8',
    '203.0.113.7-203.0.113.9',
    '203.0.113.*',
    ' 203.0.113.7',
    '203.0.113.7\n',
    '2001:db8::/129',
    '2001:db8:::1',
    'fe80::1%eth0',
    '[::1]',
    '203.0.113.7:80',
    '1'.repeat(10_000),
  ]
  for (const text of texts) assert.equal(readAddressRange(text), undefined, JSON.stringify(text))
})

test('an address is found in its range and in no other, in either form', () => {
  const matches = createAddressMatch(['203.0.113.0/24', '198.51.100.7', '2001:db8::/32', 'nonsense'])
  for (const inside of ['203.0.113.1', '::ffff:203.0.113.1', '::FFFF:cb00:7101', '198.51.100.7', '2001:db8:1::1'])
    assert.ok(matches(inside), inside)
  for (const outside of ['203.0.114.1', '198.51.100.8', '2001:db9::1', '::cb00:7101', '', 'nonsense', '203.0.113.0/24'])
    assert.ok(!matches(outside), outside)
  assert.ok(!createAddressMatch([])('203.0.113.1'))
})
