import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resources } from '../../../../src/contract/index.ts'
import { ACTIONS, actionIn, periodIn, startOf, subjectOf, WAYS } from './words.ts'

test('every action and every way has words', () => {
  assert.deepEqual(Object.keys(ACTIONS), [...resources.AUDIT_ACTIONS])
  assert.deepEqual(Object.keys(WAYS), [...resources.AUDIT_WAYS])
})

test('what is changed is called by its app and by what people call it', () => {
  const of = (resource: string, title = '') => subjectOf({ resource: `accounts/a${resource}`, title })
  assert.equal(of('/apps/shop'), 'shop')
  assert.equal(of('/apps/shop/environments/e/webhooks', 'Live'), 'shop, Live')
  assert.equal(of('/users/u', 'ann@example.com'), 'ann@example.com')
  assert.equal(of('', 'a'), 'a')
})

test('an unknown filter in the address asks for all', () => {
  assert.deepEqual([actionIn('LOG_IN'), actionIn('toString'), actionIn(null)], ['LOG_IN', undefined, undefined])
  assert.deepEqual([periodIn('week'), periodIn('year')], ['week', undefined])
  assert.equal(startOf('day', Date.parse('2026-11-18T12:34:56Z')), '2026-11-17T12:34:00.000Z')
})
