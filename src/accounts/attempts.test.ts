import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openCoreModules } from '../../test/support/modules/core.ts'
import { createAttempts, LOG_IN_LIMITS } from './attempts.ts'

const HOUR_MS = 3_600_000

test('a clock that is set back keeps no user from logging in until it has caught up', async (t) => {
  const modules = await openCoreModules(t)
  const { take } = createAttempts(modules)
  const attempt = () => take({ email: 'ann@example.com', network: '192.0.2.1', isKnown: false })
  for (let times = 0; times < LOG_IN_LIMITS.guesses.burst; times++) await attempt()
  await assert.rejects(attempt(), { reason: 'TOO_MANY_LOG_INS' })
  await modules.clock.advance(-HOUR_MS)
  for (let times = 0; times < LOG_IN_LIMITS.guesses.burst; times++) await attempt()
  await assert.rejects(attempt(), { reason: 'TOO_MANY_LOG_INS' })
})
