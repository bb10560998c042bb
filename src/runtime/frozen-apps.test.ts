import assert from 'node:assert/strict'
import { test } from 'node:test'
import { frozenToEnd } from './frozen-apps.ts'

const GB = 1024 ** 3
const app = (name: string, visitTime: number, more = {}) => ({
  name,
  visitTime,
  frozenTime: 0,
  memoryBytes: GB,
  ...more,
})
const APPS = [app('second', 2), app('third', 3), app('first', 1)]
const plenty = { now: 10, availableBytes: 100 * GB }
const named = (apps: readonly { name: string }[]) => apps.map(({ name }) => name)

test('within the limits all stay frozen', () => {
  assert.deepEqual(frozenToEnd(APPS, { memoryBytes: 3 * GB, ageMs: 100 }, plenty), [])
})

test('above the memory that they may keep, those that were unvisited for longest end', () => {
  assert.deepEqual(named(frozenToEnd(APPS, { memoryBytes: 2 * GB, ageMs: 100 }, plenty)), ['first'])
  assert.deepEqual(named(frozenToEnd(APPS, { memoryBytes: GB, ageMs: 100 }, plenty)), ['first', 'second'])
})

test('where the machine is short of memory, as many end as give back what is missing', () => {
  const limits = { memoryBytes: 100 * GB, ageMs: 100 }
  assert.deepEqual(named(frozenToEnd(APPS, limits, { now: 10, availableBytes: GB })), [])
  assert.deepEqual(named(frozenToEnd(APPS, limits, { now: 10, availableBytes: GB - 1 })), ['first'])
  assert.deepEqual(named(frozenToEnd(APPS, limits, { now: 10, availableBytes: -GB })), ['first', 'second'])
})

test('one that was frozen for long ends, and what it gives back counts', () => {
  const apps = [...APPS, app('old', 9, { frozenTime: -90 })]
  assert.deepEqual(named(frozenToEnd(apps, { memoryBytes: 3 * GB, ageMs: 100 }, plenty)), ['old'])
  const short = { now: 10, availableBytes: 0 }
  assert.deepEqual(named(frozenToEnd(apps, { memoryBytes: 3 * GB, ageMs: 100 }, short)), ['old'])
})
