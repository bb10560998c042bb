import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { App, Environment } from '../../api/types.ts'
import { type AppWithEnvironments, countsOf, narrow, stateIn } from './narrow.ts'

const environment = (displayName: string, given: object = {}) =>
  ({
    displayName,
    cmsEnvironment: 'cms',
    url: `http://${displayName.toLowerCase()}-x1.sites.test`,
    domains: [],
    state: 'LIVE',
    reconciling: false,
    ...given,
  }) as unknown as Environment

const app = (name: string, ...environments: Environment[]): AppWithEnvironments => ({
  app: { name: `accounts/agency/apps/${name}` } as App,
  environments,
})

const failed = { latestOperation: { done: true, reason: 'TYPE_ERROR', trigger: 'UPLOAD', build: 'b' } }
const apps = [
  app('blog', environment('Production'), environment('Staging', { state: 'EMPTY' })),
  app('shop', environment('Production', { ...failed, domains: ['www.shop.example'] }), environment('Preview')),
  app('fresh'),
]
const shown = (search: string, state?: 'failed' | 'working' | 'live' | 'empty') =>
  narrow(apps, { search, state }).map((each) => [
    each.app.name.split('/').at(-1),
    each.environments.map(({ displayName }) => displayName),
  ])

test('without a search everything is shown, also apps that have no environment yet', () => {
  assert.deepEqual(
    shown(' ').map(([name]) => name),
    ['blog', 'shop', 'fresh'],
  )
})

test('the name of an app shows all of it; other words show the environments that have them', () => {
  assert.deepEqual(shown('BLOG'), [['blog', ['Production', 'Staging']]])
  assert.deepEqual(shown('shop preview'), [['shop', ['Preview']]])
  assert.equal(narrow(apps, { search: 'shop preview', state: undefined })[0]?.total, 2)
  assert.deepEqual(shown('www.shop'), [['shop', ['Production']]])
  assert.deepEqual(shown('production'), [
    ['blog', ['Production']],
    ['shop', ['Production']],
  ])
  assert.deepEqual(shown('agency'), [], 'the account is in every name, so it is not searched')
  assert.deepEqual(shown('nothing like it'), [])
})

test('a state narrows to the environments that are in it; one that is live and failed is in both', () => {
  assert.deepEqual(shown('', 'failed'), [['shop', ['Production']]])
  assert.deepEqual(shown('blog', 'empty'), [['blog', ['Staging']]])
  assert.deepEqual(countsOf(apps), { failed: 1, working: 0, live: 3, empty: 1 })
  assert.equal(stateIn('failed'), 'failed')
  assert.equal(stateIn('toString'), undefined)
})
