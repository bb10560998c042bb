import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createBursts } from './bursts.ts'

type Round = { key: string; items: readonly number[]; end(result: string): void; fail(error: Error): void }

/** Runs of work that end when the test decides. */
function rounds() {
  const begun: Round[] = []
  const bursts = createBursts<number, string>((key, items) => {
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    begun.push({ key, items: [...items], end: resolve, fail: reject })
    return promise
  })
  return { bursts, begun }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

/** Lets everything run that can. */
async function settle() {
  for (let turns = 0; turns < 5; turns++) await turn()
}

test('calls of the same turn of the event loop share one run', async () => {
  const { bursts, begun } = rounds()
  const results = [1, 2, 3].map((item) => bursts.join('a', item))
  await settle()
  assert.deepEqual(
    begun.map(({ items }) => items),
    [[1, 2, 3]],
  )
  begun[0]?.end('done')
  assert.deepEqual(await Promise.all(results), ['done', 'done', 'done'])
})

test('calls that come while work is under way share one run that begins after them', async () => {
  const { bursts, begun } = rounds()
  const first = bursts.join('a', 0)
  await settle()
  const later = Array.from({ length: 1000 }, (_, index) => bursts.join('a', index + 1))
  await settle()
  assert.equal(begun.length, 1)
  begun[0]?.end('first')
  assert.equal(await first, 'first')
  await settle()
  assert.deepEqual(
    begun.map(({ items }) => items.length),
    [1, 1000],
  )
  // The second run is under way now.
  const last = bursts.join('a', 2000)
  await settle()
  assert.equal(begun.length, 2)
  begun[1]?.end('second')
  assert.deepEqual(new Set(await Promise.all(later)), new Set(['second']))
  await settle()
  assert.deepEqual(begun[2]?.items, [2000])
  begun[2]?.end('third')
  assert.equal(await last, 'third')
})

test('never do two runs of one key overlap, and no call is left out or done twice', async () => {
  let [atWork, max] = [0, 0]
  const done: number[] = []
  const bursts = createBursts<number, readonly number[]>(async (_, items) => {
    max = Math.max(max, ++atWork)
    await turn()
    if (items.length % 2) await turn()
    done.push(...items)
    atWork--
    return items
  })
  const all: Promise<void>[] = []
  for (let item = 0; item < 300; item++) {
    all.push(bursts.join('a', item).then((items) => assert.ok(items.includes(item))))
    if (item % 7 === 0) await turn()
    if (item % 5 === 0) await Promise.resolve()
  }
  await Promise.all(all)
  assert.equal(max, 1)
  assert.deepEqual(
    done,
    Array.from({ length: 300 }, (_, index) => index),
  )
})

test('a run that fails fails for its own callers only, and the next one begins anyway', async () => {
  const { bursts, begun } = rounds()
  const failing = [bursts.join('a', 1), bursts.join('a', 2)].map((each) => each.catch((error: Error) => error.message))
  await settle()
  const next = bursts.join('a', 3)
  begun[0]?.fail(new Error('the disk is full'))
  assert.deepEqual(await Promise.all(failing), ['the disk is full', 'the disk is full'])
  await settle()
  assert.deepEqual(begun[1]?.items, [3])
  begun[1]?.end('done')
  assert.equal(await next, 'done')
})

test('keys do not wait for each other', async () => {
  const { bursts, begun } = rounds()
  const [a, b] = [bursts.join('a', 1), bursts.join('b', 2)]
  await settle()
  assert.deepEqual(
    begun.map(({ key }) => key),
    ['a', 'b'],
  )
  begun[1]?.end('b is done')
  assert.equal(await b, 'b is done')
  begun[0]?.end('a is done')
  assert.equal(await a, 'a is done')
})
