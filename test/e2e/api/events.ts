/** Changes in an account are sent to every follower, for as long as they have access, on the real service. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LIMITS } from '../../../src/contract/index.ts'
import { makeAccount } from '../../support/e2e/account.ts'
import { deploy, nodeServer, page, untilDone, upload } from '../../support/service/deploy.ts'
import { createApp, createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { follow } from '../../support/service/events.ts'
import type { Login } from '../../support/service/service.ts'
import { until } from '../../support/until.ts'
import { service } from './service.ts'

const owner = await service.login('owner')

async function userOf(account: string, role: string, email: string): Promise<{ cookie: string; name: string }> {
  const made = await service.call(`/v1/accounts/${account}/users`, { method: 'POST', as: owner, body: { email, role } })
  assert.equal(made.status, 200, made.text)
  const { status, headers } = await service.call('/v1/session', {
    method: 'POST',
    body: { email, password: made.json.password },
  })
  assert.equal(status, 200)
  return { cookie: headers.get('set-cookie')?.split(';')[0] ?? '', name: made.json.name }
}

test('a viewer follows an app from its creation to its deletion', async (t) => {
  const stream = await follow(t, service, { as: await service.login('viewer') })
  await stream.until((events) => events[0]?.event === 'hello')
  const app = await createApp(service, owner, { app: 'watched' })
  await stream.untilNamed('accounts/default/apps/watched')

  const { name } = await createEnvironment(service, owner, { app })
  await stream.untilNamed(name)
  await stream.untilNamed(new RegExp(`^${name}/operations/`))

  const done = await deploy(service, owner, name, page('one'))
  for (const changed of [done.name, done.metadata.build, done.metadata.deployment]) await stream.untilNamed(changed)

  await service.call(`/v1/${name}/domains:replace`, {
    method: 'POST',
    as: owner,
    body: { domains: ['watched.example.com'] },
  })
  await stream.untilNamed(`${name}/domains`)

  const purged = await service.call(`/v1/${name}:clearCache`, { method: 'POST', as: owner, body: {} })
  await stream.untilNamed(purged.json.name)

  stream.events.length = 0
  const next = await deploy(service, owner, name, page('two'))
  // The replaced deployment changes, too, and so does the environment.
  for (const changed of [done.metadata.deployment, next.metadata.deployment, name]) await stream.untilNamed(changed)

  stream.events.length = 0
  await service.call('/v1/accounts/default/apps/watched?force=true', { method: 'DELETE', as: owner })
  await stream.untilNamed('accounts/default/apps/watched')
  await stream.untilNamed(name)
})

test('the phases of an operation and a cancel are sent as they happen', async (t) => {
  const { name } = await createEnvironment(service, owner)
  const stream = await follow(t, service, { as: owner })
  const slow = { 'package.json': JSON.stringify({ scripts: { build: 'sleep 60', start: 'node x' } }), 'x.js': '' }
  const asked = await upload(service, owner, name, slow)
  const phases = new Set<string>()
  const operation: string = asked.json.name
  for (let seen = 0; !phases.has('BUILDING'); ) {
    await stream.until(() => stream.names().filter((one) => one === operation).length > seen)
    seen = stream.names().filter((one) => one === operation).length
    phases.add((await service.call(`/v1/${operation}`, { as: owner })).json.metadata.phase)
  }
  stream.events.length = 0
  await service.call(`/v1/${operation}:cancel`, { method: 'POST', as: owner, body: {} })
  await stream.untilNamed(operation)
  await untilDone(service, owner, operation)
  await stream.untilNamed(asked.json.metadata.build)
})

test('the crash of an app is sent', async (t) => {
  const { name } = await createEnvironment(service, owner)
  const files = nodeServer('mortal', "if (request.url === '/die') process.exit(1)")
  const live = await deploy(service, owner, name, files)
  const { json } = await service.call(`/v1/${name}`, { as: owner })
  const stream = await follow(t, service, { as: owner })
  await stream.until((events) => events.length > 0)
  await siteAnswer(service, json.url, '/die')
  await stream.untilNamed(live.metadata.deployment)
})

test('changes of credentials and users are sent', async (t) => {
  const stream = await follow(t, service, { as: owner })
  const issued = await service.call('/v1/accounts/default/credentials', { method: 'POST', as: owner, body: {} })
  await stream.untilNamed(issued.json.name)
  const user = await userOf('default', 'viewer', 'watched@example.com')
  await stream.untilNamed(user.name)
  stream.events.length = 0
  await service.call(`/v1/${user.name}`, { method: 'PATCH', as: owner, body: { role: 'developer' } })
  await service.call(`/v1/${issued.json.name}`, { method: 'DELETE', as: owner })
  await stream.untilNamed(user.name)
  await stream.untilNamed(issued.json.name)
})

test('a refused call changes nothing, and is not sent', async (t) => {
  await createApp(service, owner, { app: 'taken' })
  const stream = await follow(t, service, { as: owner })
  await stream.until((events) => events.length > 0)
  const again = await service.call('/v1/accounts/default/apps?appId=taken', {
    method: 'POST',
    as: owner,
    body: { region: 'regions/UK', uploadable: {} },
  })
  assert.equal(again.reason, 'APP_EXISTS')
  await createApp(service, owner, { app: 'after-it' })
  await stream.untilNamed('accounts/default/apps/after-it')
  assert.ok(!stream.names().includes('accounts/default/apps/taken'))
})

test('changes of another account are not sent', async (t) => {
  await makeAccount(service, 'other')
  const other = await service.login('owner', 'other')
  const stream = await follow(t, service, { as: other }, '/v1/accounts/other/events')
  await stream.until((events) => events.length > 0)
  await createApp(service, owner, { app: 'ours' })
  await createApp(service, other, { account: 'other', app: 'theirs' })
  await stream.untilNamed('accounts/other/apps/theirs')
  assert.deepEqual(
    stream.names().filter((name) => !name.startsWith('accounts/other/')),
    [],
  )
})

test('a credential that is revoked ends its stream', async (t) => {
  const issued = await service.call('/v1/accounts/default/credentials', {
    method: 'POST',
    as: owner,
    body: { role: 'viewer' },
  })
  const login: Login = issued.json
  const stream = await follow(t, service, { as: login })
  await service.call(`/v1/${issued.json.name}`, { method: 'DELETE', as: owner })
  await stream.ended
})

test('the stream of a user who logs out, or is removed from the account, ends', async (t) => {
  const leaving = await userOf('default', 'viewer', 'leaving@example.com')
  const first = await follow(t, service, { cookie: leaving.cookie })
  await service.call('/v1/session', { method: 'DELETE', headers: { cookie: leaving.cookie } })
  await first.ended

  const removed = await userOf('default', 'viewer', 'expelled@example.com')
  const second = await follow(t, service, { cookie: removed.cookie })
  await service.call(`/v1/${removed.name}`, { method: 'DELETE', as: owner })
  await second.ended
})

test('a log that is followed ends with the access of its reader', async (t) => {
  const { name } = await createEnvironment(service, owner)
  await deploy(service, owner, name, nodeServer('writes'))
  const issued = await service.call('/v1/accounts/default/credentials', { method: 'POST', as: owner, body: {} })
  const stream = await follow(t, service, { as: issued.json }, `/v1/${name}/logs`)
  await service.call(`/v1/${issued.json.name}`, { method: 'DELETE', as: owner })
  await stream.ended
})

test('a caller has a bounded number of open streams, and closing one allows another', async (t) => {
  const viewer = await service.login('viewer')
  const streams = []
  for (let count = 0; count < LIMITS.eventStreams; count++) streams.push(await follow(t, service, { as: viewer }))
  const refused = await service.call('/v1/accounts/default/events', { as: viewer })
  assert.equal(refused.status, 429)
  assert.equal(refused.reason, 'TOO_MANY_STREAMS')
  assert.ok(refused.headers.has('retry-after'))
  // Other callers are not affected.
  ;(await follow(t, service, { as: owner })).close()
  streams[0]?.close()
  await streams[0]?.ended
  await until(async () => {
    const response = await fetch(`${service.api}/v1/accounts/default/events`, {
      headers: { authorization: `Basic ${btoa(`${viewer.userId}:${viewer.password}`)}` },
    })
    await response.body?.cancel()
    return response.status === 200
  })
})

test('a caller follows a bounded number of logs, and other callers are not affected', async (t) => {
  const { name } = await createEnvironment(service, owner)
  await deploy(service, owner, name, nodeServer('writes'))
  const viewer = await service.login('viewer')
  const path = `/v1/${name}/logs`
  const streams = []
  for (let count = 0; count < LIMITS.logStreams; count++) streams.push(await follow(t, service, { as: viewer }, path))
  for (const headers of [{ accept: 'text/event-stream' }, {}]) {
    const refused = await service.call(path, { as: viewer, headers })
    assert.equal(refused.status, 429)
    assert.equal(refused.reason, 'TOO_MANY_STREAMS')
    assert.deepEqual(refused.json.error.details[0].metadata, { limit: String(LIMITS.logStreams), of: 'caller' })
  }
  ;(await follow(t, service, { as: owner }, path)).close()
  for (const stream of streams) stream.close()
  await until(async () => (await service.call(path, { as: viewer })).status === 200)
})

test('HEAD opens no stream', async () => {
  for (let count = 0; count < LIMITS.eventStreams * 2; count++) {
    const { status } = await service.call('/v1/accounts/default/events', { method: 'HEAD', as: owner })
    assert.equal(status, 200)
  }
})
