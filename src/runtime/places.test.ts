import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { holds } from '../../test/support/fuzz.ts'
import { type Awake, countOf, placeFor, sumOf, tooMany } from './places.ts'

const anyAwake: fc.Arbitrary<Awake> = fc.record({
  environment: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'),
  memoryBytes: fc.nat(100),
  visitTime: fc.nat(1000),
  isRunning: fc.boolean(),
})

const anyLimits = fc.record({ apps: fc.nat(5), memoryBytes: fc.constantFrom(0, 50, 100, 200) })

const isWithin = (awake: readonly Awake[], limits: { apps: number; memoryBytes: number }): boolean =>
  (limits.apps === 0 || countOf(awake) <= limits.apps) &&
  (limits.memoryBytes === 0 || sumOf(awake) <= limits.memoryBytes)

test('whoever makes room as it is told ends within the limits, alone, or has to wait for what cannot sleep', async () => {
  await holds(
    fc.property(anyAwake, fc.array(anyAwake, { maxLength: 8 }), anyLimits, (wanted, awake, limits) => {
      const left = [...awake]
      for (;;) {
        const place = placeFor(wanted, left, limits)
        if (place === 'none') return left.every(({ isRunning }) => !isRunning)
        if (place === 'free') {
          const isReplacement = left.some(({ environment }) => environment === wanted.environment)
          return isReplacement || left.length === 0 || isWithin([...left, wanted], limits)
        }
        assert.ok(place.isRunning)
        assert.ok(left.every((other) => !other.isRunning || other.visitTime >= place.visitTime))
        left.splice(left.indexOf(place), 1)
      }
    }),
    300,
  )
})

test('no more sleep than have to, and one is always left', async () => {
  await holds(
    fc.property(fc.array(anyAwake, { minLength: 1, maxLength: 8 }), anyLimits, (awake, limits) => {
      const sleeping = tooMany(awake, limits)
      const left = awake.filter((one) => !sleeping.includes(one))
      assert.ok(left.length > 0)
      const isBelow = limits.memoryBytes === 0 || sumOf(left) <= limits.memoryBytes
      assert.ok(isBelow || left.length === 1 || left.every(({ isRunning }) => !isRunning))
      const last = sleeping.at(-1)
      if (last) assert.ok(sumOf([...left, last]) > limits.memoryBytes)
    }),
    300,
  )
})
