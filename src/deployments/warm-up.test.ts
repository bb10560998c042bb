import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLog } from '../base/index.ts'
import { createWarmUp } from './warm-up.ts'

const GIGABYTE = 1024 ** 3
const log = createLog('silent')

/** Instances whose starts take until `finish` is called, and the starts that it was asked for. */
function instances() {
  const asked: string[] = []
  const waiting: (() => void)[] = []
  return {
    asked,
    finish: () => waiting.shift()?.(),
    warmUp(deployment: string) {
      asked.push(deployment)
      return new Promise<void>((resolve) => waiting.push(resolve))
    },
  }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

test('apps are started in the given order, a few at a time', async () => {
  const starts = instances()
  const parts = { log, instances: starts, availableBytes: () => 4 * GIGABYTE, concurrency: 2 }
  const started = createWarmUp(parts).start(['a', 'b', 'c'])
  assert.deepEqual(starts.asked, ['a', 'b'])
  starts.finish()
  await turn()
  assert.deepEqual(starts.asked, ['a', 'b', 'c'])
  starts.finish()
  starts.finish()
  await started
})

test('where memory is short, the rest sleeps', async () => {
  const starts = instances()
  let availableBytes = 4 * GIGABYTE
  const parts = { log, instances: starts, availableBytes: () => availableBytes, concurrency: 1 }
  const started = createWarmUp(parts).start(['a', 'b'])
  availableBytes = GIGABYTE / 2
  starts.finish()
  await started
  assert.deepEqual(starts.asked, ['a'])
})

test('a stop starts nothing more', async () => {
  const starts = instances()
  const parts = { log, instances: starts, availableBytes: () => 4 * GIGABYTE, concurrency: 1 }
  const warmUp = createWarmUp(parts)
  void warmUp.start(['a', 'b'])
  const stopped = warmUp.stop()
  starts.finish()
  await stopped
  assert.deepEqual(starts.asked, ['a'])
})
