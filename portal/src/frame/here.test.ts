import assert from 'node:assert/strict'
import { test } from 'node:test'
import { currentOf } from './here.ts'

test('a tab is lit on its page and on all pages below it', () => {
  const apps = (location: string) => currentOf(location, '/default/apps', ['/default/new-app'])
  assert.equal(apps('/default/apps'), 'page')
  assert.equal(apps('/default/apps/blog'), 'true')
  assert.equal(apps('/default/apps/blog/environments/1/settings/domains'), 'true')
  assert.equal(apps('/default/new-app'), 'true')
  assert.equal(apps('/default/users'), undefined)
  assert.equal(apps('/default/apps-of-others'), undefined)
})
