import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { handClock } from '../../test/support/clock.ts'
import { until } from '../../test/support/until.ts'
import { createLog } from '../base/index.ts'
import type { TaskOutput } from './docker/log-frames.ts'
import { createTaskLogs } from './task-logs.ts'

const outputOf = (second: number, text: string): TaskOutput => ({
  stream: 'stdout',
  time: `2026-01-01T00:00:${String(second).padStart(2, '0')}.000000000Z`,
  bytes: Buffer.from(text),
})

/** An engine whose streams are what the test gives, and then stay open or fail. */
function setUp(
  t: TestContext,
  streams: (readonly TaskOutput[])[],
  onOutput = async (_: string): Promise<void> => undefined,
  onEnd = (_: string): void => undefined,
) {
  const clock = handClock()
  const world = { asked: [] as number[], taken: 0, given: [] as string[] }
  const logs = createTaskLogs({
    clock,
    log: createLog('silent'),
    docker: {
      async *taskLogs(_, { since, isFollowed, signal }) {
        world.asked.push(since)
        for (const output of streams.shift() ?? []) {
          world.taken += 1
          yield output
        }
        if (streams.length > 0) throw new Error('the stream broke')
        if (isFollowed && !signal.aborted)
          await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
      },
    },
    async onOutput(_, { bytes }) {
      world.given.push(bytes.toString())
      await onOutput(bytes.toString())
    },
    onEnd,
  })
  t.after(() => logs.stop())
  return { clock, logs, world }
}

test('a stream that is begun again skips what was given, also pieces of the same time', async (t) => {
  const first = [outputOf(8, 'a'), outputOf(9, 'b'), outputOf(9, 'c')]
  const { clock, logs, world } = setUp(t, [first, [...first, outputOf(9, 'd'), outputOf(10, 'e')]])
  logs.follow([{ instance: 'i' }])
  await until(() => clock.sleeping() > 0)
  await clock.advance(1000)
  await until(() => world.given.length === 5)
  assert.deepEqual(world.given, ['a', 'b', 'c', 'd', 'e'])
  assert.deepEqual(world.asked, [0, Date.parse('2026-01-01T00:00:04Z') / 1000])
})

test('nothing more is read while the receiver is busy', async (t) => {
  const busy = Promise.withResolvers<void>()
  const many = Array.from({ length: 100 }, (_, at) => outputOf(1, String(at)))
  const { logs, world } = setUp(t, [many], () => busy.promise)
  logs.follow([{ instance: 'i' }])
  await until(() => world.given.length === 1)
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual([world.taken, world.given.length], [1, 1])
  busy.resolve()
  await until(() => world.given.length === 100)
})

test('an instance that is not named any more is left after a while, and one that is named again is not', async (t) => {
  const { clock, logs } = setUp(t, [[outputOf(1, 'a')]])
  logs.follow([{ instance: 'i' }])
  logs.follow([])
  logs.follow([{ instance: 'i' }])
  await clock.advance(10_000)
  assert.equal(logs.positions().size, 1)
  logs.follow([])
  await clock.advance(10_000)
  await until(() => logs.positions().size === 0)
})

test('an instance that has ended is read to its end, and then nothing of it is followed', async (t) => {
  const [first, later] = [outputOf(1, 'a'), outputOf(2, 'b')]
  const { logs, world } = setUp(t, [[first]])
  const ended: string[] = []
  const again = setUp(t, [[], [first, later]], undefined, (instance) => void ended.push(instance))
  logs.follow([{ instance: 'i' }])
  await until(() => world.given.length === 1)
  again.logs.follow([{ instance: 'i', position: logs.positions().get('i') }])
  again.logs.follow([])
  await until(() => ended.length === 1)
  assert.deepEqual(again.world.given, ['b'])
})
