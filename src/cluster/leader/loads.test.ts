import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLoads } from './loads.ts'

function open() {
  let now = 0
  const { look } = createLoads(() => now)
  return (at: number, ...rows: [process: string, beats: number, requests: number][]) => {
    now = at
    const found = look(rows.map(([process, beats, requests]) => ({ process, beats, loads: { app: requests } })))
    return { inFlight: found.inFlight.get('app') ?? 0, dead: found.dead }
  }
}

test('requests in flight at the edges of all processes add up', () => {
  assert.equal(open()(0, ['one', 1, 3], ['two', 7, 4]).inFlight, 7)
})

test('what a process that died had reported does not count any more, and is removed later', () => {
  const look = open()
  look(0, ['one', 1, 3], ['dead', 1, 4])
  assert.equal(look(4000, ['one', 5, 3], ['dead', 1, 4]).inFlight, 7)
  assert.equal(look(5000, ['one', 6, 3], ['dead', 1, 4]).inFlight, 3)
  assert.deepEqual(look(59_000, ['one', 60, 3], ['dead', 1, 4]).dead, [])
  assert.deepEqual(look(60_000, ['one', 61, 3], ['dead', 1, 4]).dead, ['dead'])
})

test('a process that was silent counts again with its next report', () => {
  const look = open()
  look(0, ['one', 1, 3])
  assert.equal(look(6000, ['one', 1, 3]).inFlight, 0)
  assert.equal(look(7000, ['one', 2, 3]).inFlight, 3)
})
