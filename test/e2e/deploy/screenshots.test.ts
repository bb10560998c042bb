/** A picture of the live site: taken after a deploy, for members of the account, and never in the way of anything. */
import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { resources } from '../../../src/contract/index.ts'
import { CHROMIUM } from '../../support/chromium.ts'
import { deploy, nodeServer, page, untilDone } from '../../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { startService, type TestService } from '../../support/service/service.ts'
import { until } from '../../support/until.ts'

const service = await startService({ after }, { settings: { HEADLAND_SCREENSHOT_BROWSER: CHROMIUM } })
const as = await service.login()
const authorization = `Basic ${btoa(`${as.userId}:${as.password}`)}`

const pathOf = ({ name }: Pick<resources.Environment, 'name'>) => `/v1/${name}/screenshot`

const ask = (environment: Pick<resources.Environment, 'name'>, headers: Record<string, string> = {}) =>
  fetch(`${service.api}${pathOf(environment)}`, { headers: { authorization, ...headers } })

/** Waits until no other picture of this environment is on its way. */
const settled = (environment: Pick<resources.Environment, 'name'>): Promise<Response> =>
  until(async () => {
    const answer = await ask(environment)
    return answer.headers.has('retry-after') ? undefined : answer
  }, 'the picture is taken')

const reasonOf = async (answer: Response): Promise<[string, string]> => {
  const { error } = (await answer.json()) as { error: { message: string; details: { reason: string }[] } }
  return [error.details[0]?.reason ?? '', error.message]
}

const picturesOf = (id: string) => readdir(join(service.dataDir, 'environments', id, 'screenshot')).catch(() => [])

test('after a deploy there is a picture of the site, and after the next one another', async () => {
  const environment = await createEnvironment(service, as)
  assert.deepEqual(await reasonOf(await ask(environment)), [
    'SCREENSHOT_NOT_FOUND',
    'There is no picture of the site: none was taken since it was deployed, or it did not load.',
  ])

  await deploy(service, as, environment.name, page('the first'))
  const first = await settled(environment)
  assert.equal(first.status, 200)
  assert.equal(first.headers.get('content-type'), 'image/png')
  assert.equal(first.headers.get('x-content-type-options'), 'nosniff')
  assert.match(first.headers.get('content-security-policy') ?? '', /^default-src 'none'; .*sandbox$/)
  const png = Buffer.from(await first.arrayBuffer())
  assert.deepEqual([png.readUInt32BE(16), png.readUInt32BE(20)], [1280, 800])
  const etag = first.headers.get('etag') ?? ''
  assert.equal((await ask(environment, { 'if-none-match': etag })).status, 304)

  await deploy(service, as, environment.name, {
    'package.json': JSON.stringify({ scripts: { start: 'node server.js' } }),
    'server.js': `require('node:http').createServer((request, response) => {
      response.setHeader('content-type', 'text/html')
      response.end('<body style="background: #123">' + request.headers.host)
    }).listen(process.env.PORT, process.env.HOST)`,
  })
  const second = await settled(environment)
  assert.equal(second.status, 200)
  assert.notEqual(second.headers.get('etag'), etag)
  const { json } = await service.call(`/v1/${environment.name}`, { as })
  const [, id = ''] = /environments\/([^/]+)$/.exec(environment.name) ?? []
  assert.deepEqual(await picturesOf(id), [`${json.deployment.split('/').at(-1)}.png`])

  const removal = await service.call(`/v1/${environment.name}`, { method: 'DELETE', as })
  await untilDone(service, as, removal.json.name)
  assert.deepEqual(await picturesOf(id), [])
})

test('a picture is no visit: nothing of it is counted or recorded', async () => {
  const environment = await createEnvironment(service, as)
  await deploy(service, as, environment.name, page('not visited'))
  assert.equal((await settled(environment)).status, 200)
  // Once this visit is recorded, everything before it is.
  await siteAnswer(service, environment.url)
  const requests = await until(async () => {
    const { json } = await service.call(`/v1/${environment.name}/requests`, { as })
    return json.requests.length > 0 ? json.requests : undefined
  }, 'the visit is recorded')
  assert.equal(requests.length, 1)
})

test('a viewer of the account sees it, and nobody without credentials', async () => {
  const environment = await createEnvironment(service, as)
  await deploy(service, as, environment.name, page('ours'))
  assert.equal((await settled(environment)).status, 200)
  const viewer = await service.login('viewer')
  assert.equal((await service.call(pathOf(environment), { as: viewer })).status, 200)
  assert.equal((await service.call(pathOf(environment))).reason, 'CREDENTIALS_REQUIRED')
})

test('a site that answers with no page has no picture, nor that of the deployment before', async () => {
  const environment = await createEnvironment(service, as)
  await deploy(service, as, environment.name, page('a page'))
  assert.equal((await settled(environment)).status, 200)
  const done = await deploy(service, as, environment.name, nodeServer('no page', 'response.statusCode = 404'))
  assert.equal(done.error, undefined)
  assert.equal((await settled(environment)).status, 404)
})

test('a protected site has no picture', async () => {
  const environment = await createEnvironment(service, as)
  const asked = await service.call(`/v1/${environment.name}`, {
    method: 'PATCH',
    as,
    body: { protection: { password: 'a long enough password' } },
  })
  await untilDone(service, as, asked.json.name)
  await deploy(service, as, environment.name, page('for a few'))
  const answer = await settled(environment)
  assert.deepEqual(await reasonOf(answer), [
    'SCREENSHOT_NOT_FOUND',
    'There is no picture of the site: it is protected, and the service does not log in.',
  ])
  assert.ok(!service.log().includes('a long enough password'))
})

test('of deploys in a row, the picture is that of the last one', async () => {
  const environment = await createEnvironment(service, as)
  for (const text of ['one', 'two', 'three']) await deploy(service, as, environment.name, page(text))
  assert.equal((await settled(environment)).status, 200)
  const { json } = await service.call(`/v1/${environment.name}`, { as })
  assert.deepEqual(await picturesOf(json.name.split('/').at(-1)), [`${json.deployment.split('/').at(-1)}.png`])
})

test('a service without a browser deploys as any other, and says that it takes no pictures', async (t) => {
  const without: TestService = await startService(t, {
    settings: { HEADLAND_SCREENSHOT_BROWSER: '/usr/bin/no-such-browser' },
  })
  const login = await without.login()
  const { name } = await createEnvironment(without, login)
  const done = await deploy(without, login, name, page('no picture'))
  assert.equal(done.error, undefined)
  const answer = await without.call(`/v1/${name}/screenshot`, { as: login })
  assert.equal(answer.reason, 'SCREENSHOT_NOT_FOUND')
  assert.equal(answer.json.error.message, 'There is no picture of the site: the service has no browser.')
  assert.equal(await without.stop(), 0)
})
