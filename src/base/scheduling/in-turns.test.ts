import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { inTurns, sortInTurns } from './in-turns.ts'

test('a list that is sorted in turns is sorted as at once', async () => {
  const names = fc.array(fc.string({ maxLength: 3 }), { maxLength: 5000, size: 'max' })
  const property = fc.asyncProperty(names, async (given) => {
    const items = given.map((name, at) => ({ name, at }))
    const sorted = items.toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
    assert.deepEqual(await sortInTurns(items, ({ name }) => name), sorted)
  })
  await fc.assert(property, { numRuns: 20 })
})

test('others have their turn while a long list is sorted', async () => {
  let turns = 0
  const count = () => {
    turns += 1
    next = setImmediate(count)
  }
  let next = setImmediate(count)
  const items = Array.from({ length: 20_000 }, (_, at) => `${(at * 7919) % 20_000}`)
  await sortInTurns(items, (item) => item)
  clearImmediate(next)
  assert.ok(turns > 50, `${turns}`)
})

test('every item is handed out once, in its order', async () => {
  const items = Array.from({ length: 2500 }, (_, at) => at)
  assert.deepEqual((await Array.fromAsync(inTurns(items))).flat(), items)
})
