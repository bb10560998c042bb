import assert from 'node:assert/strict'
import { test } from 'node:test'
import { handClock } from '../../test/support/clock.ts'
import { createLog } from '../base/index.ts'
import { recordVisits } from './visits.ts'

test('visits of all apps are written together, once in a while, and the last ones at the end', async () => {
  const clock = handClock()
  const written: string[][] = []
  const setVisited = async (deployments: readonly string[]) => void written.push([...deployments])
  const visits = recordVisits({ clock, log: createLog('silent'), records: { setVisited }, everyMs: 10_000 })
  for (let report = 0; report < 50; report++) visits.add(['one', 'two'])
  await clock.advance(9000)
  assert.deepEqual(written, [])
  await clock.advance(1000)
  assert.deepEqual(written, [['one', 'two']])
  await clock.advance(10_000)
  assert.equal(written.length, 1, 'without visits, nothing is written')
  visits.add(['two'])
  await visits.stop()
  assert.deepEqual(written.at(-1), ['two'])
})
