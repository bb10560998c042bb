/** Logs of records of the service, wherever their lines are stored. */
import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import type { LineLogs, NumberedLine } from '../../src/storage/index.ts'
import { until } from '../support/until.ts'

type Line = NumberedLine & { text: string }

export type RecordsOfTest = {
  logs: LineLogs
  /** Which parts of the log there are, the newer one first. */
  parts(): Promise<('newer' | 'older')[]>
}

export const NAME = 'requests/e1'
const HOUR_MS = 3_600_000

export async function setUpRecords({ logs, parts }: RecordsOfTest) {
  async function write(lines: readonly { time?: number; text: string }[], maxBytes = 1_000_000) {
    const records = await logs.openRecords(NAME, maxBytes)
    const taken = lines.map(({ time = Date.now(), text }) => records.add({ time, text } as { time: number }))
    await records.close()
    return taken
  }
  async function backwards(before = Number.POSITIVE_INFINITY) {
    const lines: Line[] = []
    for await (const piece of logs.backwards<Line>(NAME, before)) lines.push(...piece)
    return lines
  }
  return { logs, parts, write, backwards }
}

export const numbered = (count: number, length = 0) =>
  Array.from({ length: count }, (_, index) => ({ text: `line ${index} é ${'x'.repeat(length)}` }))

export function recordLogsSuite(name: string, open: (t: TestContext) => Promise<RecordsOfTest>) {
  const setUp = async (t: TestContext) => setUpRecords(await open(t))

  suite(`records in ${name}`, () => {
    test('records are read forwards, and backwards from any of them, across pieces and files', async (t) => {
      const { logs, write, backwards } = await setUp(t)
      for (let round = 0; round < 4; round++) await write(numbered(500, 2000), 6_000_000)
      const forwards: Line[] = []
      for await (const piece of logs.pieces<Line>(NAME, 0)) forwards.push(...piece)
      assert.ok(forwards.length > 1000)
      assert.deepEqual(await backwards(), forwards.toReversed())
      const middle = forwards[700]?.number ?? 0
      assert.deepEqual(await backwards(middle), forwards.slice(0, 700).reverse())
      assert.deepEqual(await backwards(forwards[0]?.number), [])
    })

    test('records that come faster than the disk are refused, and the file stays within its bytes', async (t) => {
      const { logs, write } = await setUp(t)
      const taken = await write(numbered(10_000), 20_000)
      assert.ok(taken.includes(false) && taken[0] === true)
      for (let round = 0; round < 20; round++) await write(numbered(50), 20_000)
      assert.ok((await logs.bytesOf(NAME)) <= 20_000)
    })

    test('old records are removed in halves, and numbers rise also after the last one was removed', async (t) => {
      const { logs, write, backwards, parts } = await setUp(t)
      const now = Date.now()
      await write([{ time: now - 9 * HOUR_MS, text: 'a' }])
      await logs.removeOld(NAME, 10 * HOUR_MS, 1000)
      assert.deepEqual(await parts(), ['older'])
      await write([{ time: now - HOUR_MS, text: 'b' }])
      await logs.removeOld(NAME, 10 * HOUR_MS, 1000)
      assert.deepEqual(
        (await backwards()).map(({ text }) => text),
        ['b', 'a'],
      )
      await logs.removeOld(NAME, 8 * HOUR_MS, 1000)
      assert.deepEqual(
        (await backwards()).map(({ text }) => text),
        ['b'],
      )
      const [last] = await backwards()
      await logs.removeOld(NAME, HOUR_MS / 2, 1000)
      assert.deepEqual(await parts(), [])
      await write([{ text: 'c' }])
      const [next] = await backwards()
      assert.ok((next?.number ?? 0) > (last?.number ?? 0))
    })

    test('records of an open log become the older part without a loss', async (t) => {
      const { logs, backwards, parts } = await setUp(t)
      const records = await logs.openRecords(NAME, 1_000_000)
      records.add({ time: Date.now() - 9 * HOUR_MS })
      await until(async () => (await logs.lastNumber(NAME)) > 0)
      const removing = logs.removeOld(NAME, 10 * HOUR_MS, 1_000_000)
      records.add({ time: Date.now() })
      await removing
      records.add({ time: Date.now() })
      await records.close()
      assert.equal((await backwards()).length, 3)
      assert.deepEqual(await parts(), ['newer', 'older'])
    })
  })
}
