import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isAffected } from './affected.ts'

const E = 'accounts/a/apps/b/environments/c'

test('a change refreshes the thing itself and the list that it stands in', () => {
  assert.ok(isAffected('accounts/a/apps/b', 'accounts/a/apps/b'))
  assert.ok(isAffected('accounts/a/apps', 'accounts/a/apps/b'))
  assert.ok(isAffected(`${E}/webhooks`, `${E}/webhooks`))
  assert.ok(isAffected('accounts/a/credentials', 'accounts/a/credentials/x'))
})

test('any change in an environment refreshes the environment', () => {
  for (const part of ['operations/o', 'builds/x', 'deployments/x', 'domains', 'triggers/t']) {
    assert.ok(isAffected(E, `${E}/${part}`))
    assert.ok(isAffected('accounts/a/apps/b/environments', `${E}/${part}`))
  }
})

test('an operation that moves on refreshes builds and deployments, one by one and as lists', () => {
  for (const key of ['builds', 'builds/x', 'deployments', 'deployments/x'])
    assert.ok(isAffected(`${E}/${key}`, `${E}/operations/o`))
  assert.ok(!isAffected(`${E}/webhooks`, `${E}/operations/o`))
  assert.ok(!isAffected(`${E}/builds`, `${E}/domains`))
})

test('a change elsewhere refreshes nothing', () => {
  assert.ok(!isAffected(E, 'accounts/a/apps/b/environments/cc/operations/o'))
  assert.ok(!isAffected(`${E}/builds`, 'accounts/a/apps/b/environments/d/operations/o'))
  assert.ok(!isAffected('accounts/a/apps/b', `${E}/operations/o`))
  assert.ok(!isAffected('session', 'accounts/a/users/u'))
  assert.ok(!isAffected('', 'accounts'), 'a name without a parent is in no list')
})

test('an app that changed refreshes its list of environments', () => {
  assert.ok(isAffected('accounts/a/apps/b/environments', 'accounts/a/apps/b'))
})

test('whatever happens in an app of the account refreshes the list over all apps, and nothing elsewhere does', () => {
  for (const all of ['accounts/a/apps/-/environments', 'accounts/a/runningOperations']) {
    for (const name of ['accounts/a/apps/b', E, `${E}/operations/o`, `${E}/domains`]) assert.ok(isAffected(all, name))
    for (const name of ['accounts/aa/apps/b', 'accounts/a/users/u', 'accounts/a/credentials/c'])
      assert.ok(!isAffected(all, name))
  }
})
