import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSlots } from './slots.ts'

/** Work that ends when it is told to, and who has begun it. */
function setUp(slots: ReturnType<typeof createSlots>) {
  const begun: string[] = []
  const ends: (() => void)[] = []
  const start = (owner: string) =>
    slots(owner, () => {
      begun.push(owner)
      return new Promise<void>((resolve) => ends.push(resolve))
    })
  return { begun, start, endNext: () => ends.shift()?.() }
}

test('work runs within both limits, and the rest in the order in which it came', async () => {
  const { begun, start, endNext } = setUp(createSlots({ max: 3, maxOfOwner: 2 }))
  const all = Promise.all(['a', 'a', 'a', 'b', 'c'].map(start))
  await Promise.resolve()
  assert.deepEqual(begun, ['a', 'a', 'b'])
  for (let ended = 0; ended < 5; ended++) {
    endNext()
    await new Promise((resolve) => setImmediate(resolve))
  }
  await all
  assert.deepEqual(begun, ['a', 'a', 'b', 'a', 'c'])
})

test('work that waits for too long is refused, and takes no slot', async () => {
  const wait = { maxMs: 1, error: () => new Error('too long') }
  const { begun, start, endNext } = setUp(createSlots({ max: 1, maxOfOwner: 1, wait }))
  const first = start('a')
  await assert.rejects(start('b'), /too long/)
  const third = start('c')
  endNext()
  await first
  await new Promise((resolve) => setImmediate(resolve))
  endNext()
  await third
  assert.deepEqual(begun, ['a', 'c'])
})

test('work that fails gives its slot back', async () => {
  const slots = createSlots({ max: 1, maxOfOwner: 1 })
  await assert.rejects(
    slots('a', () => Promise.reject(new Error('no'))),
    /no/,
  )
  assert.equal(await slots('a', async () => 'done'), 'done')
})
