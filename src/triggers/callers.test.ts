import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LIMITS } from '../contract/index.ts'
import { webhookRequester } from './callers.ts'

const NAMES: [userAgent: string, name: string][] = [
  ['WordPress/6.9; https://cms.example', 'WordPress/6.9'],
  ['Sanity.io webhook delivery', 'Sanity.io webhook delivery'],
  ['Mozilla/5.0 (X11; Linux x86_64)', 'Mozilla/5.0'],
  ['', 'Rebuild'],
  ['(nothing)', 'Rebuild'],
  ['a\u2028b', 'a b'],
]

test('the caller of a webhook is named by its product, or by the action if it has no user agent', () => {
  for (const [userAgent, name] of NAMES) {
    assert.deepEqual(webhookRequester('REBUILD', userAgent), { kind: 'WEBHOOK', name })
  }
  assert.equal(webhookRequester('PURGE_CACHE', ' ').name, 'Purge Cache')
})

test('a name has a maximum length, and no half of a character', () => {
  const { name } = webhookRequester('REBUILD', `${'x'.repeat(LIMITS.requesterLength - 1)}\u{1F4A9}`)
  assert.equal(name.length, LIMITS.requesterLength)
  assert.ok(name.isWellFormed())
})
