import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newHostLabel } from './label.ts'

for (const name of ['Shop', 'a', '9', 'x'.repeat(40), 'My_Shop-', 'a--b', 'xn--bcher-kva', 'A_-_B']) {
  test(`the label of an app named ${name} is a DNS label`, () => {
    const label = newHostLabel(name)
    assert.match(label, /^[a-z0-9]+(-[a-z0-9]+)*$/)
    assert.ok(label.length <= 63)
  })
}

test('two environments of one app get different labels', () => {
  assert.equal(new Set(Array.from({ length: 1000 }, () => newHostLabel('shop'))).size, 1000)
})
