import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { holds } from '../../test/support/fuzz.ts'
import { type AwakeApp, appsToSleep, countApps, slotFor, totalMemoryBytes } from './awake-slots.ts'

const anyAwake: fc.Arbitrary<AwakeApp> = fc.record({
  environment: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'),
  memoryBytes: fc.nat(100),
  visitTime: fc.nat(1000),
  isRunning: fc.boolean(),
})

const anyLimits = fc.record({ apps: fc.nat(5), memoryBytes: fc.constantFrom(0, 50, 100, 200) })

const isWithin = (awake: readonly AwakeApp[], limits: { apps: number; memoryBytes: number }): boolean =>
  (limits.apps === 0 || countApps(awake) <= limits.apps) &&
  (limits.memoryBytes === 0 || totalMemoryBytes(awake) <= limits.memoryBytes)

test('putting the named apps to sleep leads to a start within the limits, to a start alone, or to a wait for apps that cannot sleep', async () => {
  await holds(
    fc.property(anyAwake, fc.array(anyAwake, { maxLength: 8 }), anyLimits, (wanted, awake, limits) => {
      const left = [...awake]
      for (;;) {
        const slot = slotFor(wanted, left, limits)
        if (slot === 'none') return left.every(({ isRunning }) => !isRunning)
        if (slot === 'free') {
          const isReplacement = left.some(({ environment }) => environment === wanted.environment)
          return isReplacement || left.length === 0 || isWithin([...left, wanted], limits)
        }
        assert.ok(slot.isRunning)
        assert.ok(left.every((other) => !other.isRunning || other.visitTime >= slot.visitTime))
        left.splice(left.indexOf(slot), 1)
      }
    }),
    300,
  )
})

test('no more apps are put to sleep than necessary, and at least one stays awake', async () => {
  await holds(
    fc.property(fc.array(anyAwake, { minLength: 1, maxLength: 8 }), anyLimits, (awake, limits) => {
      const sleeping = appsToSleep(awake, limits)
      const left = awake.filter((one) => !sleeping.includes(one))
      assert.ok(left.length > 0)
      const isBelow = limits.memoryBytes === 0 || totalMemoryBytes(left) <= limits.memoryBytes
      assert.ok(isBelow || left.length === 1 || left.every(({ isRunning }) => !isRunning))
      const last = sleeping.at(-1)
      if (last) assert.ok(totalMemoryBytes([...left, last]) > limits.memoryBytes)
    }),
    300,
  )
})
