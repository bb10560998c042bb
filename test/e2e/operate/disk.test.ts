/** The promises about the disk: what is kept, what may be deleted, how much an account may use. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import type { resources } from '../../../src/contract/index.ts'
import { rounds } from '../../support/long.ts'
import {
  deploy,
  type Files,
  formOf,
  nodeServer,
  page,
  reasonOf,
  untilDone,
  upload,
} from '../../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { startService, type TestService } from '../../support/service/service.ts'
import { until } from '../../support/until.ts'

const ends: (() => unknown)[] = []
const scope = { after: (end: () => unknown) => void ends.unshift(end) }
after(async () => {
  for (const end of ends) await end()
})

const QUOTA = 2_000_000
const settings = { HEADLAND_KEEP_DEPLOYMENTS: '2', HEADLAND_ACCOUNT_BYTES: String(QUOTA) }
const service = await startService(scope, { settings })
const as = await service.login()

async function deploymentsOf(name: string): Promise<resources.Deployment[]> {
  return (await service.call(`/v1/${name}/deployments`, { as })).json.deployments
}

const activate = (deployment: string) => service.call(`/v1/${deployment}:activate`, { method: 'POST', as })

const tooLarge = (): Files => ({ ...page('x'), 'noise.bin': randomBytes(QUOTA) })

/** Environments with five deployments each, for the tests that only look at what is left of them. */
const sites = deployedFiveTimes(page)
const servers = deployedFiveTimes(nodeServer)

async function deployedFiveTimes(files: (version: string) => Files): Promise<resources.Environment> {
  const environment = await createEnvironment(service, as)
  for (let version = 1; version <= 5; version++) {
    const { error } = await deploy(service, as, environment.name, files(`version ${version}`))
    assert.equal(error, undefined, JSON.stringify(error))
  }
  return environment
}

test('the live deployment and the last two before it can be made live, and older ones cannot', async () => {
  const { name } = await sites
  const activatable = async () => (await deploymentsOf(name)).map((one) => one.activatable)
  const expected = [true, true, true, false, false]
  await until(async () => JSON.stringify(await activatable()) === JSON.stringify(expected), `${expected}`)
  assert.deepEqual(
    (await deploymentsOf(name)).map(({ state }) => state),
    ['LIVE', 'RETIRED', 'RETIRED', 'RETIRED', 'RETIRED'],
  )
})

test('a deployment whose files are gone refuses an activation with that reason', async () => {
  const { name } = await servers
  const oldest = async () => (await deploymentsOf(name)).at(-1) as resources.Deployment
  await until(async () => !(await oldest()).activatable, 'the oldest is discarded')
  const refused = await activate((await oldest()).name)
  assert.deepEqual([refused.status, refused.reason], [400, 'DEPLOYMENT_NOT_ACTIVATABLE'])
  assert.match(refused.json.error.message, /files were removed to free space/)
})

test('after a rollback it is possible to roll forward again', async () => {
  const { name, url } = await servers
  const [newest, , third] = await deploymentsOf(name)
  for (const [target, text] of [
    [third, 'version 3'],
    [newest, 'version 5'],
  ] as const) {
    const asked = await activate(target?.name ?? '')
    assert.equal(asked.status, 200, asked.text)
    assert.equal((await untilDone(service, as, asked.json.name)).error, undefined)
    assert.equal((await siteAnswer(service, url)).text, text)
  }
})

test('a rebuild works however many archives went before', async () => {
  const { name, url } = await sites
  const asked = await service.call(`/v1/${name}:rebuild`, { method: 'POST', as, body: {} })
  assert.equal((await untilDone(service, as, asked.json.name)).error, undefined)
  assert.match((await siteAnswer(service, url)).text, /version 5/)
})

test('usage is reported by kind, for an environment and for its account', async () => {
  const { name } = await createEnvironment(service, as)
  await deploy(service, as, name, page('x'.repeat(1000)))
  const { json } = await service.call(`/v1/${name}/usage`, { as })
  assert.equal(json.name, `${name}/usage`)
  const bytes = Object.fromEntries(json.kinds.map((one: { kind: string; bytes: number }) => [one.kind, one.bytes]))
  assert.ok(bytes.ARCHIVES > 0 && bytes.OUTPUTS > 1000 && bytes.LOGS > 0, JSON.stringify(bytes))
  const account = await service.call('/v1/accounts/default/usage', { as })
  assert.equal(account.json.limitBytes, QUOTA)
  assert.ok(account.json.bytes >= json.bytes)
  assert.ok(account.json.environments.some(({ environment }: { environment: string }) => environment === name))
})

test('an upload that would exceed the quota of the account is refused with what would free space', async () => {
  const { name } = await createEnvironment(service, as)
  const refused = await upload(service, as, name, tooLarge())
  assert.deepEqual([refused.status, refused.reason], [413, 'QUOTA_EXCEEDED'])
  assert.match(refused.json.error.message, /Deleting environments that are not needed frees space: accounts\/default\//)
  assert.deepEqual((await service.call(`/v1/${name}/builds`, { as })).json.builds, [])
})

test('an upload without a declared length is refused, too', async () => {
  const { name } = await createEnvironment(service, as)
  const form = new Response(formOf(tooLarge()))
  const response = await fetch(`${service.api}/fu/v1/${name}:upload`, {
    method: 'POST',
    headers: {
      authorization: `Basic ${btoa(`${as.userId}:${as.password}`)}`,
      'content-type': form.headers.get('content-type') ?? '',
    },
    body: form.body,
    duplex: 'half',
  } as RequestInit)
  assert.equal(response.status, 413)
  assert.match(await response.text(), /QUOTA_EXCEEDED/)
})

const greedy: Files = {
  'package.json': JSON.stringify({ scripts: { build: 'node build.js' } }),
  'build.js': `
    const fs = require('node:fs')
    fs.mkdirSync('dist')
    fs.writeFileSync('dist/index.html', 'large')
    fs.writeFileSync('dist/video.bin', require('node:crypto').randomBytes(${QUOTA}))`,
}

test('a build whose output exceeds the quota fails with the reason, and the live deployment stays', async () => {
  const { name, url } = await createEnvironment(service, as)
  await deploy(service, as, name, page('small'))
  const failed = await deploy(service, as, name, greedy)
  assert.equal(reasonOf(failed), 'QUOTA_EXCEEDED')
  assert.match((await siteAnswer(service, url)).text, /small/)
  const { json } = await service.call(`/v1/${failed.metadata.build}`, { as })
  assert.equal(json.failure.page, '/docs/troubleshooting/quota-exceeded')
})

test('deleting an environment frees space', async () => {
  const large = await createEnvironment(service, as)
  // Stored twice: as uploaded, and as served.
  const site = () => ({ ...page('large'), 'noise.bin': randomBytes(0.4 * QUOTA) })
  assert.equal((await deploy(service, as, large.name, site())).error, undefined)
  const { name } = await createEnvironment(service, as)
  assert.equal((await upload(service, as, name, site())).reason, 'QUOTA_EXCEEDED')
  const asked = await service.call(`/v1/${large.name}`, { method: 'DELETE', as })
  await untilDone(service, as, asked.json.name)
  assert.equal((await deploy(service, as, name, site())).error, undefined)
})

test('metrics show used and free space', async () => {
  const { text } = await service.call('/metrics')
  for (const kind of ['archives', 'outputs', 'packages', 'caches', 'logs', 'runs']) {
    assert.match(text, new RegExp(`^headland_disk_bytes\\{kind="${kind}"\\} \\d+$`, 'm'))
  }
  assert.match(text, /^headland_disk_free_bytes [1-9]\d*/m)
})

const ROUNDS = rounds({ short: 2, long: 20 })

test(`kill -9 at ${ROUNDS} random points around a switch: promised files are kept, and the rest is deleted in the end`, async (t) => {
  const keepOne = { HEADLAND_KEEP_DEPLOYMENTS: '1' }
  let killed: TestService = await startService(t, { settings: keepOne })
  const { dataDir } = killed
  const login = await killed.login()
  const { name } = await createEnvironment(killed, login)
  for (let round = 0; round < ROUNDS; round++) {
    const files = round % 2 ? page(`version ${round}`) : nodeServer(`version ${round}`)
    const { error } = await deploy(killed, login, name, files)
    assert.equal(error, undefined, JSON.stringify(error))
    await wait(Math.random() * 100)
    await killed.kill()
    killed = await startService(t, { dataDir, settings: keepOne })
    const { json } = await killed.call(`/v1/${name}/deployments`, { as: login })
    const promised: resources.Deployment[] = json.deployments.filter((one: resources.Deployment) => one.activatable)
    assert.ok(promised.length >= Math.min(2, round + 1), `${promised.length} deployments are left`)
    const asked = await killed.call(`/v1/${promised.at(-1)?.name}:activate`, { method: 'POST', as: login })
    const done = await untilDone(killed, login, asked.json.name)
    assert.equal(done.error, undefined, JSON.stringify(done.error))
    assert.equal((await siteAnswer(killed, (await killed.call(`/v1/${name}`, { as: login })).json.url)).status, 200)
  }
  await until(async () => (await readdir(join(dataDir, 'outputs'))).length === 2, 'two outputs are left')
  assert.equal(await killed.stop(), 0)
})
