import assert from 'node:assert/strict'
import { request } from 'node:http'
import { after, test } from 'node:test'
import { createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { startService } from '../../support/service/service.ts'

const ENVIRONMENT = { displayName: 'Production', branch: 'uploadable', cmsEnvironment: 'my-wordpress' }

const ends: (() => unknown)[] = []
const file = { after: (end: () => unknown) => void ends.unshift(end) }
after(async () => {
  for (const end of ends) await end()
})
const service = await startService(file)

test('the calls of the specification create an app and an environment, and its host answers', async () => {
  const as = await service.login()

  const app = await service.call('/v1/accounts/default/apps?appId=shop', {
    method: 'POST',
    as,
    body: { region: 'regions/EU-W', uploadable: {} },
  })
  assert.equal(app.status, 200)
  assert.equal(app.text, '')

  const asked = await service.call('/v1/accounts/default/apps/shop/environments', {
    method: 'POST',
    as,
    body: ENVIRONMENT,
  })
  assert.equal(asked.status, 200)
  assert.equal(asked.json.done, false)
  assert.match(
    asked.json.name,
    /^accounts\/default\/apps\/shop\/environments\/[0-9a-f-]{36}\/operations\/[0-9a-f-]{36}$/,
  )
  assert.match(asked.json.metadata.build, /\/builds\/no_build$/)
  assert.equal(asked.json.metadata.deployment, '')
  assert.equal(asked.json.metadata['@type'], 'type.googleapis.com/headland.apps.v1.UpdateEnvironmentMetadata')

  const done = await service.call(`/v1/${asked.json.name}:wait?timeout=30s`, { method: 'POST', as })
  assert.equal(done.json.done, true)
  assert.equal(done.json.response.state, 'EMPTY')
  const site = await siteAnswer(service, done.json.response.url)
  assert.equal(site.status, 404)
  assert.match(site.text, /Nothing deployed yet/)
})

test('an unknown host gets a page without any information', async () => {
  const site = await siteAnswer(service, 'http://unknown.localhost')
  assert.equal(site.status, 404)
  assert.doesNotMatch(site.text, /deployed|headland/i)
})

test('wpEnvironment is taken as another name for cmsEnvironment', async () => {
  const as = await service.login()
  const { cmsEnvironment: wpEnvironment, ...rest } = ENVIRONMENT
  const environment = await createEnvironment(service, as, { body: { ...rest, wpEnvironment } })
  assert.equal(environment.cmsEnvironment, 'my-wordpress')
})

test('a deleted environment is gone from the API and from the edge, and its operation is still read', async () => {
  const as = await service.login()
  const environment = await createEnvironment(service, as)

  const asked = await service.call(`/v1/${environment.name}`, { method: 'DELETE', as })
  const done = await service.call(`/v1/${asked.json.name}:wait`, { method: 'POST', as })
  assert.equal(done.json.done, true)
  assert.deepEqual(done.json.response, {})
  assert.equal((await service.call(`/v1/${environment.name}`, { as })).status, 404)
  assert.equal((await service.call(`/v1/${asked.json.name}`, { as })).json.done, true)
  assert.doesNotMatch((await siteAnswer(service, environment.url)).text, /Nothing deployed yet/)
})

test('an HTTP/1.0 request without a Host header is answered by the edge and does no harm', async () => {
  const { port } = new URL(service.edge)
  const status = await new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, setHost: false, agent: false }, (response) => resolve(response.statusCode))
      .on('error', reject)
      .end()
  })
  assert.ok(status === 400 || status === 404)
})

test('a restart changes nothing', async () => {
  const as = await service.login()
  const environment = await createEnvironment(service, as)
  assert.equal(await service.stop(), 0)

  const second = await startService(file, { dataDir: service.dataDir })
  const again = await second.call(`/v1/${environment.name}`, { as })
  assert.equal(again.status, 200)
  assert.equal(again.json.createTime, environment.createTime)
  assert.equal((await siteAnswer(second, again.json.url)).status, 404)
})
