import assert from 'node:assert/strict'
import { test } from 'node:test'
import { timesIn, typedAction } from './words.ts'

test('a time is shown by the clock of the schedule', () => {
  assert.deepEqual(timesIn(['2026-11-18T02:00:00Z'], 'Europe/Berlin'), ['18 Nov 2026, 03:00'])
})

test('an action is written as the command line takes it', () => {
  assert.deepEqual((['REBUILD', 'CLEAN_REBUILD', 'PURGE_CACHE'] as const).map(typedAction), [
    'rebuild',
    'clean-rebuild',
    'purge',
  ])
})
