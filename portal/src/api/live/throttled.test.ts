import assert from 'node:assert/strict'
import { test } from 'node:test'
import { throttled } from './throttled.ts'

test('the first call works at once, many calls once more, and the last of them is not lost', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let times = 0
  const refresh = throttled(() => times++, 2000)
  refresh.call()
  assert.equal(times, 1)
  for (let calls = 0; calls < 100; calls++) refresh.call()
  assert.equal(times, 1)
  t.mock.timers.tick(2000)
  assert.equal(times, 2)
  t.mock.timers.tick(2000)
  assert.equal(times, 2, 'there was no further call')
  refresh.call()
  assert.equal(times, 3)
})

test('once it is stopped, nothing is done any more', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let times = 0
  const refresh = throttled(() => times++, 2000)
  refresh.call()
  refresh.call()
  refresh.stop()
  t.mock.timers.tick(10_000)
  assert.equal(times, 1)
})
