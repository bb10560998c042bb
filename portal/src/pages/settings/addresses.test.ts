import assert from 'node:assert/strict'
import { test } from 'node:test'
import { noAnswer } from '../../api/problem.ts'
import { addressesIn, addressFault } from './addresses.ts'

test('addresses are separated by lines, blanks or commas', () => {
  assert.deepEqual(addressesIn(' 203.0.113.7\r\n\n2001:db8::/32, 10.0.0.0/8 '), [
    '203.0.113.7',
    '2001:db8::/32',
    '10.0.0.0/8',
  ])
  assert.deepEqual(addressesIn(' \n'), [])
})

test('an error names the entry as it was typed', () => {
  const problem = { ...noAnswer(), fields: { 'protection.addresses[1]': 'must be an address' } }
  assert.equal(addressFault(problem, ['::1', 'nonsense']), 'has nonsense, which must be an address')
  assert.equal(addressFault({ ...noAnswer(), fields: { production: 'must be true' } }, []), undefined)
  assert.equal(addressFault(undefined, []), undefined)
})
