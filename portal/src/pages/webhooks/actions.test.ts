import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RecordedTrigger } from '../../api/types.ts'
import { masked, whatStops } from './actions.ts'

const NOW = Date.UTC(2026, 10, 15, 12)
const at = (minutes: number) => new Date(NOW - minutes * 60_000).toISOString()

function trigger(given: Partial<RecordedTrigger>): RecordedTrigger {
  const base = { name: 't', createTime: at(0), answer: 200, operation: '', address: '10.0.0.3', userAgent: 'curl/8' }
  return { ...base, action: 'REBUILD', source: 'WEBHOOK', ...given } as RecordedTrigger
}

test('those that were called last come first, with who called them', () => {
  const webhooks = [
    { action: 'rebuild' as const, lastUseTime: at(90) },
    { action: 'cleanRebuild' as const },
    { action: 'purgeCache' as const, lastUseTime: at(3) },
  ]
  const triggers = [
    trigger({ source: 'API', userAgent: 'portal' }),
    trigger({ action: 'PURGE_CACHE', userAgent: 'WordPress/6.8' }),
  ]
  assert.deepEqual(whatStops(webhooks, triggers, NOW), [
    'Purge cache was last called 3 minutes ago, by WordPress/6.8 from 10.0.0.3.',
    'Rebuild was last called 1 hour ago.',
    'Not called since they were made: Clean Rebuild.',
  ])
})

test('a caller without a name, or with a very long one, is shown as well', () => {
  const webhooks = [{ action: 'rebuild' as const, lastUseTime: at(3) }]
  const [nameless] = whatStops(webhooks, [trigger({ userAgent: '' })], NOW)
  assert.equal(nameless, 'Rebuild was last called 3 minutes ago, from 10.0.0.3.')
  const [long] = whatStops(webhooks, [trigger({ userAgent: 'x'.repeat(200), address: '' })], NOW)
  assert.equal(long, `Rebuild was last called 3 minutes ago, by ${'x'.repeat(60)}….`)
})

test('a token is not seen in a URL that is masked', () => {
  const url = 'https://h.example/wh/v1/accounts/a/apps/b/environments/c/webhooks/webhook:rebuild?token=abc-DEF_123'
  assert.equal(masked(url).includes('abc'), false)
  assert.match(masked(url), /webhook:rebuild\?token=•+$/)
})
