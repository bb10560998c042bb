import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createShares } from './shares.ts'

const KB = 1024

test('an owner that adds more and more pushes out its own values and none of a neighbour’s', () => {
  const shares = createShares<number>(100 * KB)
  for (let n = 0; n < 5; n++) shares.set('small', `/${n}`, n, KB)
  for (let n = 0; n < 10_000; n++) shares.set('large', `/${n}`, n, KB)
  for (let n = 0; n < 5; n++) assert.equal(shares.get('small', `/${n}`), n)
  assert.ok(shares.bytes() <= 100 * KB)
  assert.equal(shares.get('large', '/9999'), 9999, 'what came last is there')
})

test('what was read recently stays longer than what was not', () => {
  const shares = createShares<number>(20 * KB)
  shares.set('one', '/front', 1, KB)
  for (let n = 0; n < 100; n++) {
    shares.get('one', '/front')
    shares.set('one', `/${n}`, n, KB)
  }
  assert.equal(shares.get('one', '/front'), 1)
})

test('an owner that was removed leaves nothing', () => {
  const shares = createShares<number>(20 * KB)
  shares.set('one', '/', 1, KB)
  shares.set('two', '/', 2, KB)
  const ofTwo = shares.bytesOf('two')
  shares.forget('one')
  assert.deepEqual([shares.get('one', '/'), shares.get('two', '/'), shares.bytes()], [undefined, 2, ofTwo])
})

test('no owner loses a value while another one uses more than twice as much, whatever is added', () => {
  const owner = fc.integer({ min: 0, max: 5 })
  const step = fc.record({ owner, name: fc.integer({ min: 0, max: 60 }), kilobytes: fc.integer({ min: 0, max: 12 }) })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
      const shares = createShares<number>(64 * KB)
      const owners = ['0', '1', '2', '3', '4', '5']
      for (const { owner, name, kilobytes } of steps) {
        const before = owners.map((each) => shares.bytesOf(each))
        shares.set(String(owner), `/${name}`, name, kilobytes * KB)
        const after = owners.map((each) => shares.bytesOf(each))
        const max = Math.max(...after)
        for (const [at, bytes] of after.entries()) {
          const hasLost = at !== owner && bytes < (before[at] as number)
          // Half of the largest, as it was when the loser gave up its last piece.
          if (hasLost) assert.ok((before[at] as number) * 2 + 13 * KB >= max)
        }
        assert.ok(shares.bytes() <= 64 * KB)
        assert.equal(
          after.reduce((sum, bytes) => sum + bytes, 0),
          shares.bytes(),
        )
      }
    }),
  )
})
