import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chooseBlock, formatAddress, formatRange, overlaps, parseAddress, parseRange, type Range } from './addresses.ts'

const range = (text: string): Range => parseRange(text) ?? assert.fail(`${text} is no range`)

test('addresses and ranges are read and written', () => {
  for (const text of ['0.0.0.0', '10.201.0.1', '255.255.255.255']) {
    assert.equal(formatAddress(parseAddress(text) ?? Number.NaN), text)
  }
  for (const text of ['10.0.0.0/8', '192.0.2.1', '0.0.0.0/0', '255.255.255.254/31']) {
    assert.equal(formatRange(range(text)), text)
  }
})

test('what is no address or range is nothing', () => {
  for (const text of ['', '1.2.3', '1.2.3.256', '01.2.3.4', '1.2.3.4.5', '::1', 'a.b.c.d', '1.2.3.-4']) {
    assert.equal(parseAddress(text), undefined, text)
  }
  for (const text of ['10.0.0.0/33', '10.0.0.1/8', '10.0.0.0/', '/8', 'default', '10.0.0.0/8/8']) {
    assert.equal(parseRange(text), undefined, text)
  }
})

test('ranges overlap when one holds the other', () => {
  assert.equal(overlaps(range('10.0.0.0/8'), range('10.201.0.0/16')), true)
  assert.equal(overlaps(range('10.201.0.0/16'), range('10.0.0.0/8')), true)
  assert.equal(overlaps(range('10.201.0.0/16'), range('10.202.0.0/16')), false)
})

test('a block overlaps with no route in use, and services begin the search at different blocks', () => {
  const whole = range('10.201.0.0/16')
  const blockOf = (inUse: string[], start: number) => {
    const block = chooseBlock(whole, inUse.map(range), start)
    return block && formatRange(block)
  }
  assert.equal(blockOf([], 0), '10.201.0.0/22')
  assert.equal(blockOf([], 3), '10.201.12.0/22')
  assert.equal(blockOf([], 64), '10.201.0.0/22')
  assert.equal(blockOf(['10.201.0.0/22', '10.201.5.7'], 0), '10.201.8.0/22')
  assert.equal(blockOf(['10.201.252.0/22'], 63), '10.201.0.0/22')
  assert.equal(blockOf(['10.0.0.0/8'], 0), undefined)
  assert.equal(formatRange(chooseBlock(range('10.9.8.0/24'), [], 5) ?? assert.fail()), '10.9.8.0/24')
})
