import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createQuota } from './quota.ts'

test('there is a limit per owner and a total limit, and every owner has a reserve', () => {
  const quota = createQuota({ max: 10, maxPerOwner: 6, reserved: 2 })
  const takeAll = (owner: string) => {
    let count = 0
    while (quota.take(owner)) count++
    return count
  }
  assert.deepEqual(['a', 'b', 'c', 'd'].map(takeAll), [6, 4, 2, 2])
  quota.giveBack('a')
  assert.equal(takeAll('d'), 0, 'what the reserve has given is still more than all')
  for (let n = 0; n < 4; n++) quota.giveBack('a')
  assert.equal(takeAll('d'), 1)
})

test('whatever is taken and given back, an owner that has nothing gets something', () => {
  const step = fc.record({ owner: fc.integer({ min: 0, max: 4 }), isTaken: fc.boolean() })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const quota = createQuota({ max: 8, maxPerOwner: 5, reserved: 1 })
      const own = [0, 0, 0, 0, 0]
      for (const { owner, isTaken } of steps) {
        const before = own[owner] as number
        if (isTaken) {
          const isThere = quota.take(String(owner))
          if (before === 0) assert.ok(isThere)
          if (isThere) own[owner] = before + 1
        } else if (before > 0) {
          quota.giveBack(String(owner))
          own[owner] = before - 1
        }
        assert.ok(own.every((count) => count <= 5))
      }
      assert.ok(quota.take('a newcomer'))
    }),
  )
})
