import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { readEntityTag } from '../http/index.ts'
import { createVault } from '../storage/index.ts'
import { appEtag, domainsEtag, environmentEtag, requireEtag, variableEtag } from './etags.ts'
import { createVariables } from './variables.ts'

const variables = createVariables({ vault: createVault(randomBytes(32)) })
const ID = '01900000-0000-7000-8000-000000000000'

const environment = {
  id: ID,
  displayName: 'Production',
  cmsEnvironment: 'cms',
  rootDirectory: '',
  variables: variables.seal(ID, [{ key: 'A', value: '1' }]),
}

test('every change that a user can make gives another etag, and what the service changes gives none', () => {
  const etag = environmentEtag(environment)
  const changes = [
    { displayName: 'Other' },
    { cmsEnvironment: 'other' },
    { rootDirectory: 'web' },
    { scaling: { minInstances: 1, maxInstances: 1, requestsPerInstance: 10 } },
    { scaling: { minInstances: 0, maxInstances: 2, requestsPerInstance: 10 } },
    { scaling: { minInstances: 0, maxInstances: 1, requestsPerInstance: 11 } },
    { isProduction: false },
    { hasBadge: true },
    { protection: { passwordHash: 'one', addresses: [] } },
    { protection: { passwordHash: 'two', addresses: [] } },
    { protection: { passwordHash: null, addresses: ['::1'] } },
    { variables: [] },
    { variables: variables.seal(ID, [{ key: 'A', value: '2' }]) },
    { variables: [...environment.variables, ...variables.seal(ID, [{ key: 'B', value: '1' }])] },
    { id: ID.replace('7000', '7001') },
  ]
  const others = changes.map((change) => environmentEtag({ ...environment, ...change }))
  assert.equal(new Set([etag, ...others]).size, changes.length + 1)
  const uncovered = { state: 'LIVE', liveDeployment: 'd', updateTime: 7, hostLabel: 'shop-1' }
  assert.equal(environmentEtag({ ...environment, ...uncovered }), etag)
})

test('the default number of instances leaves the etag as it was before there was one', () => {
  const scaling = { requestsPerInstance: 10, maxInstances: 1, minInstances: 0 }
  assert.equal(environmentEtag({ ...environment, scaling }), environmentEtag(environment))
})

test('a public environment has the etag that it had before there were others', () => {
  const open = { isProduction: true, protection: { passwordHash: null, addresses: [] } }
  assert.equal(environmentEtag({ ...environment, ...open }), environmentEtag(environment))
})

test('fields that are split differently have different etags', () => {
  assert.notEqual(
    environmentEtag({ ...environment, displayName: 'a","b', cmsEnvironment: 'c' }),
    environmentEtag({ ...environment, displayName: 'a', cmsEnvironment: 'b","c' }),
  )
  const domains = (names: string[], redirects: { domain: string; to: string }[] = []) => ({ names, redirects })
  const two = domains(['a.example', 'b.example'])
  assert.notEqual(domainsEtag(ID, two), domainsEtag(ID, domains(['a.example,b.example'])))
  assert.notEqual(domainsEtag(ID, domains([])), domainsEtag(ID.replace('7000', '7001'), domains([])))
  const one = { domain: 'a.example', to: 'b.example' }
  assert.notEqual(domainsEtag(ID, two), domainsEtag(ID, domains(two.names, [one])))
  assert.notEqual(
    domainsEtag(ID, domains(two.names, [one])),
    domainsEtag(ID, domains(two.names, [{ domain: 'b.example', to: 'a.example' }])),
  )
})

test('an etag reveals nothing about a value: the same value has another one each time', () => {
  const sealed = Array.from({ length: 3 }, () => variables.seal(ID, [{ key: 'A', value: 'hunter2' }]))
  assert.equal(new Set(sealed.map(([each]) => each && variableEtag(each))).size, 3)
  assert.equal(new Set(sealed.map((each) => environmentEtag({ ...environment, variables: each }))).size, 3)
})

test('a variable that keeps its value keeps its etag', () => {
  const [before] = environment.variables
  const [after] = variables.seal(ID, [{ key: 'A' }, { key: 'B', value: '' }], environment.variables)
  assert.ok(before && after)
  assert.equal(variableEtag(after), variableEtag(before))
})

test('an app that is made again under the same name has another etag', () => {
  const app = { id: 'one', name: 'shop', region: 'regions/UK' as const, createTime: 0 }
  assert.notEqual(appEtag(app), appEtag({ ...app, id: 'two' }))
})

test('all preconditions must hold, each with one of its tags', () => {
  const etag = environmentEtag(environment)
  const tag = readEntityTag(etag)
  assert.ok(tag)
  for (const met of [[], ['*'], [[tag]], [['other', tag]], ['*', [tag]]] as const) requireEtag(met, etag, 'environment')
  for (const unmet of [[['other']], [[tag], ['other']], ['*', ['']], [[etag]]] as const) {
    assert.throws(() => requireEtag(unmet, etag, 'environment'), {
      reason: 'ETAG_MISMATCH',
      message: /^The environment was changed after it was read, so nothing was done\. Read it again/,
    })
  }
})
