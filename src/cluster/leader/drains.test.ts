import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createDrains } from './drains.ts'

function open() {
  let now = 0
  const { look } = createDrains(() => now)
  return (at: number, busy: Record<string, number>) => {
    now = at
    return look(new Map(Object.entries(busy)))
  }
}

test('an app without requests in flight is done after the time that other processes need to report some', () => {
  const look = open()
  assert.deepEqual(look(0, { one: 4 }), [])
  assert.deepEqual(look(2900, { one: 4 }), [])
  assert.deepEqual(look(3000, { one: 4 }), ['one'])
})

test('an app is kept while requests are reported, and not longer than the longest time', () => {
  const look = open()
  for (let at = 0; at < 30_000; at += 1000) assert.deepEqual(look(at, { one: at }), [])
  assert.deepEqual(look(30_000, { one: 30_000 }), ['one'])
})

test('an app that was awake meanwhile is counted anew', () => {
  const look = open()
  look(0, { one: 1 })
  look(2000, {})
  assert.deepEqual(look(4000, { one: 1 }), [])
  assert.deepEqual(look(7000, { one: 1 }), ['one'])
})
