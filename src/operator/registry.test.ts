import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { NEEDS_REGISTRY, startRegistry } from '../../test/support/images/registry.ts'
import { Secret } from '../base/index.ts'
import { registryFindings } from './registry.ts'

const SETTINGS = { registryUser: '', registryPassword: undefined, registryPlainHttp: false, registryTimeout: 5 }

test('the doctor says nothing of a registry that is not set', async () => {
  assert.deepEqual(await registryFindings(undefined, '1.2.3'), [])
})

test('the doctor pushes to a registry, pulls and deletes, and says how long each took', NEEDS_REGISTRY, async (t) => {
  const { url } = await startRegistry(t)
  const [finding] = await registryFindings({ ...SETTINGS, registry: `${url}/prefix` }, '1.2.3')
  assert.equal(finding?.state, 'ok')
  assert.match(finding?.found ?? '', /prefix: push \d+ ms, pull \d+ ms, delete \d+ ms$/)
})

test('the doctor finds a registry that does not delete', NEEDS_REGISTRY, async (t) => {
  const { url } = await startRegistry(t, { mayDelete: false })
  const [finding] = await registryFindings({ ...SETTINGS, registry: url }, '1.2.3')
  assert.equal(finding?.state, 'weaker')
  assert.match(finding?.advice ?? '', /Enable deletion/)
})

test('the doctor finds a registry that refuses the password, and does not show it', NEEDS_REGISTRY, async (t) => {
  const { url } = await startRegistry(t, { hasPassword: true })
  const login = { registryUser: 'headland', registryPassword: new Secret('battery staple') }
  const [finding] = await registryFindings({ ...SETTINGS, ...login, registry: url }, '1.2.3')
  assert.equal(finding?.state, 'broken')
  assert.match(finding?.found ?? '', /refuses the user "headland"/)
  assert.doesNotMatch(inspect(finding), /battery/)
})

test('the doctor finds a registry that is away', async () => {
  const [finding] = await registryFindings({ ...SETTINGS, registry: 'http://127.0.0.1:1' }, '1.2.3')
  assert.equal(finding?.state, 'broken')
  assert.match(finding?.found ?? '', /ECONNREFUSED/)
})
