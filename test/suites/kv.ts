/** What every store behind `Kv` must do. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { suite, type TestContext, test } from 'node:test'
import type { AdmitGrowth, Kv } from '../../src/kv/index.ts'
import type { HandClock } from '../support/clock.ts'

export const BLOCK = 4096
/** Of one block with its head, if it is short. */
export const text = (letter: string, length = 100): Buffer => Buffer.from(letter.repeat(length))

export type KvGiven = { blocks?: number; admitGrowth?: AdmitGrowth }

export type OpenedKv = {
  values: Kv
  clock: HandClock
  /** Two environments. */
  ours: string
  theirs: string
  /** The store as another process sees it, or the next one. */
  start(): Kv | Promise<Kv>
}

/** Those of the keys, one letter each, that have a value. */
export async function keysIn(values: Kv, environmentId: string, keys: string): Promise<string> {
  const found = await Promise.all([...keys].map(async (key) => ((await values.bytesOf(environmentId, key)) ? key : '')))
  return found.join('')
}

const MINUTE_MS = 60_000

export function kvSuite(adapter: string, open: (t: TestContext, given?: KvGiven) => Promise<OpenedKv>) {
  /** With a second after each, so that they have an order. */
  async function putAll({ values, clock, ours }: OpenedKv, keys: string) {
    for (const key of keys) {
      await values.put(ours, key, text(key))
      await clock.advance(1000)
    }
  }

  suite(`${adapter} as Kv`, () => {
    test('a value is found under its key, whatever the key, and in no other environment', async (t) => {
      const { values, ours, theirs } = await open(t, { blocks: 100 })
      for (const key of ['.atlas/b/next/blog/%C3%A4%20?x=1&y', '../../escape', 'a'.repeat(4096), '', 'A', 'a']) {
        assert.equal(await values.get(ours, key), undefined, key)
        assert.equal(await values.bytesOf(ours, key), undefined, key)
        await values.put(ours, key, Buffer.from(`"${key}"`))
        assert.equal(String(await values.get(ours, key)), `"${key}"`)
        assert.equal(await values.get(theirs, key), undefined)
      }
    })

    test('values of any bytes and sizes come back as they were, and take whole blocks', async (t) => {
      const { values, ours, start } = await open(t, { blocks: 2000 })
      const sizes = [0, 1, 2047, 2048, 2049, 4096, 100_000, 2 * 1024 * 1024]
      const given = new Map(sizes.map((size) => [`of ${size}`, randomBytes(size)]))
      for (const [key, value] of given) await values.put(ours, key, value)
      const next = await start()
      for (const [key, value] of given) {
        const bytes = (await next.bytesOf(ours, key)) ?? 0
        assert.ok(bytes % BLOCK === 0 && bytes > value.length && bytes <= value.length + 2 * BLOCK, key)
        assert.deepEqual(await next.get(ours, key), value, key)
      }
    })

    test('a new value of a key replaces the old one, and only its own size counts', async (t) => {
      const opened = await open(t)
      const { values, ours } = opened
      await putAll(opened, 'abc')
      for (let times = 0; times < 20; times++) await values.put(ours, 'd', text(String(times % 10)))
      assert.deepEqual(await values.get(ours, 'd'), text('9'))
      assert.equal(await keysIn(values, ours, 'abcd'), 'abcd')
    })

    test('the least recently used value is removed first', async (t) => {
      const opened = await open(t)
      const { values, clock, ours } = opened
      await putAll(opened, 'abcd')
      await clock.advance(MINUTE_MS)
      await values.get(ours, 'a')
      await clock.advance(1000)
      await putAll(opened, 'e')
      assert.equal(await keysIn(values, ours, 'abcde'), 'acde')
      assert.equal(await values.get(ours, 'b'), undefined)
      await values.put(ours, 'l', text('x', 2 * BLOCK))
      assert.equal(await keysIn(values, ours, 'abcdel'), 'el')
    })

    test('many small values are limited by the blocks that they take', async (t) => {
      const { values, ours } = await open(t, { blocks: 10 })
      const keys = Array.from({ length: 50 }, (_, number) => `key ${number}`)
      for (const key of keys) await values.put(ours, key, Buffer.from('1'))
      const found = await Promise.all(keys.map((key) => values.bytesOf(ours, key)))
      assert.equal(found.filter((bytes) => bytes !== undefined).length, 10)
    })

    test('one environment that writes much takes nothing from another', async (t) => {
      const { values, ours, theirs } = await open(t)
      await values.put(theirs, 'a', text('t'))
      for (let number = 0; number < 50; number++) await values.put(ours, `key ${number}`, text('o'))
      assert.deepEqual(await values.get(theirs, 'a'), text('t'))
    })

    test('after a restart values are found, and are removed in the order of their use', async (t) => {
      const opened = await open(t)
      const { values, clock, ours, start } = opened
      await putAll(opened, 'abcd')
      await clock.advance(MINUTE_MS)
      await values.get(ours, 'a')
      const next = await start()
      assert.deepEqual(await next.get(ours, 'd'), text('d'))
      await next.put(ours, 'e', text('e'))
      await next.put(ours, 'f', text('f'))
      assert.equal(await keysIn(next, ours, 'abcdef'), 'adef')
    })

    test('a read during a write gets the old value or the new one, never a mixture or nothing', async (t) => {
      const { values, ours } = await open(t, { blocks: 200 })
      const [old, next] = [text('o', 200_000), text('n', 200_000)]
      await values.put(ours, 'a', old)
      const reads: Promise<Buffer | undefined>[] = []
      for (let times = 0; times < 10; times++) {
        reads.push(values.get(ours, 'a'))
        const writing = values.put(ours, 'a', times % 2 ? old : next)
        reads.push(values.get(ours, 'a'))
        await writing
      }
      for (const value of await Promise.all(reads)) assert.ok(value?.equals(old) || value?.equals(next))
    })

    test('writes at once are all counted', async (t) => {
      const { values, ours } = await open(t, { blocks: 10 })
      const keys = Array.from({ length: 30 }, (_, number) => `key ${number}`)
      await Promise.all([...keys, ...keys].map((key) => values.put(ours, key, text('a'))))
      const found = await Promise.all(keys.map((key) => values.bytesOf(ours, key)))
      assert.equal(found.filter((bytes) => bytes !== undefined).length, 10)
    })

    test('every write, replacement and removal is counted before it is done', async (t) => {
      const admitted: unknown[] = []
      const { values, ours } = await open(t, {
        blocks: 2,
        async admitGrowth(id, { bytes, files }) {
          admitted.push([id, bytes / BLOCK, files])
          return true
        },
      })
      await values.put(ours, 'a', text('a'))
      await values.put(ours, 'a', text('a', BLOCK))
      await values.put(ours, 'b', text('b'))
      await values.put(ours, 'b', text('c'))
      assert.deepEqual(admitted, [
        [ours, 1, 1],
        [ours, 1, 0],
        // It takes the place of the larger one.
        [ours, -1, 0],
        [ours, 0, 0],
      ])
    })

    test('when the quota is used up, a store continues without growing, and a write to an empty one fails with the reason', async (t) => {
      let isFull = false
      const opened = await open(t, {
        admitGrowth: async (_, { bytes, files }) => !isFull || (bytes <= 0 && files <= 0),
      })
      const { values, ours, theirs } = opened
      await putAll(opened, 'ab')
      isFull = true
      await values.put(ours, 'c', text('c'))
      assert.equal(await keysIn(values, ours, 'abc'), 'bc', 'the longest unused went for it')
      await values.put(ours, 'c', text('d'))
      assert.equal(await keysIn(values, ours, 'abc'), 'bc')
      const refused = { name: 'Problem', reason: 'QUOTA_EXCEEDED' }
      await assert.rejects(values.put(ours, 'large', text('x', 3 * BLOCK)), refused)
      assert.equal(await keysIn(values, ours, 'abc'), 'bc', 'nothing goes for what is refused')
      await assert.rejects(values.put(theirs, 'a', text('a')), refused)
      assert.equal(await values.bytesOf(theirs, 'a'), undefined)
      isFull = false
      await values.put(theirs, 'a', text('a'))
    })
  })
}
