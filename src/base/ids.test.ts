import assert from 'node:assert/strict'
import { test } from 'node:test'
import { handClock } from '../../test/support/clock.ts'
import { createIds } from './ids.ts'

test('an id is a UUID of version 7 that carries its time', () => {
  const id = createIds({ now: () => Date.UTC(2026, 0, 1) })()
  assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  assert.equal(Number.parseInt(id.slice(0, 13).replace('-', ''), 16), Date.UTC(2026, 0, 1))
})

test('ids made in the same millisecond, or while the clock goes back, still rise', async () => {
  const clock = handClock()
  const newId = createIds(clock)
  const ids = Array.from({ length: 10_000 }, () => newId())
  await clock.advance(-5000)
  ids.push(newId(), newId())
  assert.deepEqual(ids, ids.toSorted())
  assert.equal(new Set(ids).size, ids.length)
})

test('ids of a process that starts with its clock behind sort after those that there are', () => {
  const before = createIds({ now: () => Date.UTC(2026, 0, 2) })()
  const newId = createIds({ now: () => Date.UTC(2026, 0, 1) }, before)
  const ids = [before, ...Array.from({ length: 10_000 }, () => newId())]
  assert.deepEqual(ids, ids.toSorted())
})

test('an id that lies behind the clock changes nothing', () => {
  const before = createIds({ now: () => Date.UTC(2026, 0, 1) })()
  const id = createIds({ now: () => Date.UTC(2026, 0, 2) }, before)()
  assert.equal(Number.parseInt(id.slice(0, 13).replace('-', ''), 16), Date.UTC(2026, 0, 2))
})
