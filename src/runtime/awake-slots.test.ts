import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { holds } from '../../test/support/fuzz.ts'
import { type AwakeApp, appsToSleep, countApps, slotFor, totalMemoryBytes } from './awake-slots.ts'

const anyApp: fc.Arbitrary<AwakeApp> = fc
  .record({
    environment: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'),
    memoryBytes: fc.nat(100),
    visitTime: fc.nat(1000),
  })
  .chain((app) =>
    fc.constantFrom({ isRunning: true }, { isRunning: false }, { isRunning: false, isFrozen: true }).map((state) => ({
      ...app,
      ...state,
    })),
  )

const isAwake = ({ isFrozen }: AwakeApp): boolean => !isFrozen

const anyLimits = fc.record({ apps: fc.nat(5), memoryBytes: fc.constantFrom(0, 50, 100, 200) })

const isWithin = (awake: readonly AwakeApp[], limits: { apps: number; memoryBytes: number }): boolean =>
  (limits.apps === 0 || countApps(awake) <= limits.apps) &&
  (limits.memoryBytes === 0 || totalMemoryBytes(awake) <= limits.memoryBytes)

test('when the named apps make way there is a start within the limits, a start alone, or a wait for apps that cannot sleep', async () => {
  await holds(
    fc.property(anyApp, fc.array(anyApp, { maxLength: 8 }), anyLimits, (wanted, others, limits) => {
      const left = [...others]
      for (;;) {
        const slot = slotFor(wanted, left, limits)
        const awake = left.filter(isAwake)
        if (slot === 'none') return left.every(({ isRunning }) => !isRunning)
        if (slot === 'free') {
          const isReplacement = awake.some(({ environment }) => environment === wanted.environment)
          const isAlone = left.length === 0 || (awake.length === 0 && !left.some(({ isFrozen }) => isFrozen))
          return isReplacement || isAlone || isWithin([...left, wanted], limits)
        }
        assert.ok(slot.isRunning || slot.isFrozen)
        const alike = left.filter(({ isRunning, isFrozen }) => (slot.isFrozen ? isFrozen : isRunning))
        assert.ok(alike.every(({ visitTime }) => visitTime >= slot.visitTime))
        if (slot.isFrozen) assert.ok(!isWithin([...left, wanted], { ...limits, apps: 0 }))
        left.splice(left.indexOf(slot), 1)
      }
    }),
    300,
  )
})

test('no awake app makes way for the memory of another while one is frozen', async () => {
  await holds(
    fc.property(anyApp, fc.array(anyApp, { minLength: 1, maxLength: 8 }), anyLimits, (wanted, others, limits) => {
      const slot = slotFor(wanted, others, { ...limits, apps: 0 })
      const named = [...appsToSleep(others, limits), ...(typeof slot === 'string' ? [] : [slot])]
      const isFrozenLeft = others.some((other) => other.isFrozen && !named.includes(other))
      assert.ok(named.every(({ isFrozen }) => isFrozen) || !others.some(({ isFrozen }) => isFrozen) || !isFrozenLeft)
    }),
    300,
  )
})

test('no more apps are put to sleep than necessary, and at least one stays awake', async () => {
  await holds(
    fc.property(fc.array(anyApp, { minLength: 1, maxLength: 8 }), anyLimits, (apps, limits) => {
      const sleeping = appsToSleep(apps, limits)
      const left = apps.filter((one) => !sleeping.includes(one))
      const awake = left.filter(isAwake)
      assert.ok(awake.length > 0 || !apps.some(isAwake))
      const isBelow = limits.memoryBytes === 0 || totalMemoryBytes(left) <= limits.memoryBytes
      assert.ok(
        isBelow || (left.length === awake.length && awake.length <= 1) || awake.every(({ isRunning }) => !isRunning),
      )
      const last = sleeping.at(-1)
      if (last) assert.ok(totalMemoryBytes([...left, last]) > limits.memoryBytes)
    }),
    300,
  )
})
