/** Reading across collections (AIP-159) on the real service: the environments of all apps as one list. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { resources } from '../../../src/contract/index.ts'
import { makeAccount } from '../../support/e2e/account.ts'
import { deploy, page } from '../../support/service/deploy.ts'
import { createApp, createEnvironment } from '../../support/service/environment.ts'
import { service } from './service.ts'

const as = await service.login()
const ALL = '/v1/accounts/default/apps/-/environments'

test('one list has the environments of all apps, with the current work of each', async () => {
  const [blog, shop] = [await createApp(service, as, { app: 'blog' }), await createApp(service, as, { app: 'shop' })]
  const live = await createEnvironment(service, as, { app: blog })
  const empty = await createEnvironment(service, as, { app: shop })
  await deploy(service, as, live.name, page('hello'))
  await deploy(service, as, live.name, {
    'package.json': JSON.stringify({ scripts: { build: 'node -e "process.exit(3)"', start: 'node x' } }),
  })
  const { status, json } = await service.call(ALL, { as })
  assert.equal(status, 200)
  const [second, first] = json.environments as resources.Environment[]
  assert.deepEqual([second?.name, first?.name], [empty.name, live.name])
  assert.equal(first?.state, 'LIVE')
  assert.notEqual(first?.deployment, '')
  assert.notEqual(first?.build, first?.latestBuild?.name, 'the newest build is not the live one')
  assert.deepEqual([first?.latestBuild?.state, first?.latestBuild?.reason], ['FAILED', 'BUILD_SCRIPT_FAILED'])
  assert.deepEqual([first?.latestOperation?.done, first?.latestOperation?.reason], [true, 'BUILD_SCRIPT_FAILED'])
  assert.deepEqual([second?.state, second?.latestOperation?.trigger], ['EMPTY', 'CREATE'])
  // The same resource wherever it is read; only a single read says what a purge reaches.
  const { freshness, ...same } = (await service.call(`/v1/${live.name}`, { as })).json
  assert.deepEqual(same, first)
  assert.equal(freshness.purge, 'NOTHING')
  const ofApp = await service.call('/v1/accounts/default/apps/blog/environments', { as })
  assert.deepEqual(ofApp.json.environments, [first])
})

test('a viewer sees the list without values of variables; another account and a stranger see nothing', async () => {
  const body = {
    displayName: 'Secretive',
    branch: 'uploadable',
    cmsEnvironment: 'cms',
    shellVariables: [{ key: 'TOKEN', value: 'a-secret-value' }],
  }
  const { name } = await createEnvironment(service, as, { body })
  const viewer = await service.login('viewer')
  const seen = await service.call(ALL, { as: viewer })
  assert.equal(seen.status, 200)
  assert.ok(seen.json.environments.some((one: resources.Environment) => one.name === name))
  for (const who of [viewer, as]) assert.doesNotMatch((await service.call(ALL, { as: who })).text, /a-secret-value/)
  // The list never shows values.
  const full = await service.call(`${ALL}?view=FULL`, { as })
  assert.deepEqual([full.status, full.reason], [400, 'FIELD_INVALID'])

  await makeAccount(service, 'other')
  const other = await service.login('owner', 'other')
  assert.deepEqual((await service.call('/v1/accounts/other/activity', { as: other })).json, {
    activity: [],
    nextPageToken: '',
  })
  assert.equal((await service.call('/v1/accounts/default/activity', { as: other })).status, 404)
  assert.equal((await service.call('/v1/accounts/default/activity')).status, 401)
  assert.deepEqual((await service.call('/v1/accounts/other/apps/-/environments', { as: other })).json, {
    environments: [],
    nextPageToken: '',
  })
  assert.equal((await service.call(ALL, { as: other })).status, 404)
  assert.equal((await service.call(ALL)).status, 401)
})

test('the wildcard is taken by that list and nowhere else, and the answer says so', async () => {
  const id = '0199e7c0-0000-7000-8000-000000000000'
  const body = { displayName: 'Test', branch: 'uploadable', cmsEnvironment: 'cms' }
  for (const [method, path, sent] of [
    ['GET', '/v1/accounts/default/apps/-'],
    ['DELETE', '/v1/accounts/default/apps/-?force=true'],
    ['POST', ALL, body],
    ['GET', `${ALL}/${id}`],
    ['PATCH', `${ALL}/${id}`, { displayName: 'All' }],
    ['DELETE', `${ALL}/${id}`],
    ['GET', '/v1/accounts/default/apps/blog/environments/-'],
    ['GET', '/v1/accounts/default/apps/blog/environments/-/builds'],
    ['GET', '/v1/accounts/default/apps/-/environments/-/operations'],
    ['POST', `${ALL}/${id}:rebuild`, {}],
  ] as const) {
    const answer = await service.call(path, { method, as, ...(sent ? { body: sent } : {}) })
    assert.equal(answer.status, 400, `${method} ${path}: ${answer.text}`)
    assert.match(answer.json.error.message, /apps\/-\/environments, and nowhere else/)
  }
  // No account has such a name.
  assert.equal((await service.call('/v1/accounts/-/apps/-/environments', { as })).status, 404)
  assert.equal((await service.call('/v1/accounts/default/apps?appId=-', { method: 'POST', as, body: {} })).status, 400)
  const wrong = await service.call(ALL, { method: 'DELETE', as })
  assert.deepEqual([wrong.status, wrong.headers.get('allow')], [405, 'POST, GET, HEAD'])
})
