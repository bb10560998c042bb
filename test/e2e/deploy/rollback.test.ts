/**
 * A rollback through the whole service: what rebuilds and webhooks make live after it, how it ends, and what the
 * command line prints.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { resources } from '../../../src/contract/index.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { deploy, type Files, reasonOf, untilDone, upload } from '../../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { startService } from '../../support/service/service.ts'
import { createWebhooks, hook } from '../../support/service/webhooks.ts'
import { TIMEOUT_MS } from '../../support/until.ts'

const HEADLAND = fileURLToPath(new URL('../../../bin/headland', import.meta.url))

const service = await startService({ after })
const as = await service.login('developer')
const folder = await temporaryFolder({ after })

/** Each build writes another page, like a build with changing content. */
const version = (name: string): Files => ({
  'package.json': JSON.stringify({ name: 'site', scripts: { build: 'node build.js' } }),
  'build.js': `
    const fs = require('node:fs')
    fs.mkdirSync('dist', { recursive: true })
    fs.writeFileSync('dist/index.html', ${JSON.stringify(`<p>${name}</p>`)} + process.hrtime.bigint())
  `,
})

const BROKEN: Files = {
  'package.json': JSON.stringify({ name: 'site', scripts: { build: 'node build.js' } }),
  'build.js': 'process.exit(1)',
}

const read = async (name: string): Promise<resources.Environment> => (await service.call(`/v1/${name}`, { as })).json
const post = (path: string, body: unknown = {}) => service.call(`/v1/${path}`, { method: 'POST', as, body })

async function done(asked: Promise<{ status: number; text: string; json: resources.Operation }>) {
  const { status, text, json } = await asked
  assert.equal(status, 200, text)
  const ended = await untilDone(service, as, json.name)
  assert.equal(ended.error, undefined, JSON.stringify(ended.error))
  return ended
}

/** `good` was live, then `bad`: the state before the rollback. */
async function deployedTwice() {
  const { name, url } = await createEnvironment(service, as)
  const good = (await deploy(service, as, name, version('good'))).metadata.deployment
  const bad = (await deploy(service, as, name, version('bad'))).metadata.deployment
  const shown = async () => (await siteAnswer(service, url)).text
  return { name, good, bad, shown }
}

async function cli(environment: string, ...args: string[]) {
  const [, account = '', , app = '', , id = ''] = environment.split('/')
  const where = ['--account', account, '--app', app, ...(args[0] === 'envs' ? [id] : ['--env', id])]
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [HEADLAND, ...args, ...where], {
    cwd: folder,
    timeout: TIMEOUT_MS,
    env: {
      PATH: process.env.PATH,
      XDG_CONFIG_HOME: join(folder, 'config'),
      HEADLAND_URL: service.api,
      HEADLAND_API_USER: as.userId,
      HEADLAND_API_PASSWORD: as.password,
    },
  })
  return `${stdout}${stderr}`
}

test('code that was rolled back does not return by a rebuild or by a webhook, until an upload is live', async () => {
  const { name, good, shown } = await deployedTwice()
  const urls = await createWebhooks(service, as, name)
  assert.equal((await read(name)).pin, null)
  const activated = await done(post(`${good}:activate`))
  const { pin } = await read(name)
  assert.deepEqual([pin?.deployment, pin?.operation], [good, activated.name])
  assert.equal(
    (activated.response as resources.Environment).pin?.deployment,
    good,
    'the response of the activation has it',
  )

  await done(post(`${name}:rebuild`))
  assert.match(await shown(), /good/)
  await done(hook(service, urls.cleanRebuild))
  assert.match(await shown(), /good/)
  const { build } = await read(name)
  const { archive }: resources.Build = (await service.call(`/v1/${build}`, { as })).json
  assert.equal(archive.digest, pin?.archive)

  const failed = await deploy(service, as, name, BROKEN)
  assert.ok(failed.error)
  assert.deepEqual((await read(name)).pin, pin, 'an upload whose build fails does not end the pin')
  await done(post(`${name}:rebuild`))
  assert.match(await shown(), /good/)

  await done(upload(service, as, name, version('better')))
  assert.equal((await read(name)).pin, null)
  await done(post(`${name}:rebuild`))
  assert.match(await shown(), /better/)
})

test('a webhook call in its quiet period during a rollback builds the archive of the rollback', async () => {
  const { name, good, shown } = await deployedTwice()
  const urls = await createWebhooks(service, as, name, { quietSeconds: 300, maxQuietSeconds: 3600 })
  const waiting: resources.WebhookAnswer = (await hook(service, urls.rebuild)).json
  await done(post(`${good}:activate`))
  // A rebuild by the API joins it, and ends the quiet period.
  const joined = await done(post(`${name}:rebuild`))
  assert.match(await shown(), /good/)
  const first = await untilDone(service, as, waiting.name)
  assert.deepEqual([first.error, first.name === joined.name], [undefined, false], 'the call is satisfied by it')
})

test('unpin answers with the environment, builds nothing, and may be called twice', async () => {
  const { name, good, shown } = await deployedTwice()
  await done(post(`${good}:activate`))
  for (const _ of ['once', 'twice']) {
    const unpinned = await post(`${name}:unpin`)
    assert.deepEqual([unpinned.status, unpinned.json.pin, unpinned.json.deployment], [200, null, good], unpinned.text)
  }
  assert.match(await shown(), /good/)
  await done(post(`${name}:rebuild`))
  assert.match(await shown(), /bad/)
  const viewer = await service.login('viewer')
  const refused = await service.call(`/v1/${name}:unpin`, { method: 'POST', as: viewer, body: {} })
  assert.equal(refused.status, 403, refused.text)
  const missing = await post(`${name.replace(/[^/]+$/, '01900000-0000-7000-8000-000000000000')}:unpin`)
  assert.equal(missing.status, 404, missing.text)
})

test('a rebuild of an archive that is not stored any more says what to do', async () => {
  const { name, good } = await deployedTwice()
  await done(post(`${good}:activate`))
  const hex = (await read(name)).pin?.archive.slice('sha256:'.length) ?? assert.fail('it is not pinned')
  await rm(join(service.dataDir, 'blobs', hex.slice(0, 2), hex))
  const { json } = await post(`${name}:rebuild`)
  const ended = await untilDone(service, as, json.name)
  assert.equal(reasonOf(ended), 'NOTHING_UPLOADED', JSON.stringify(ended.error))
  assert.match(ended.error?.message ?? '', /Upload it again, or end the pin/)
})

test('the command line says what is pinned, what a rebuild builds, and how to end it', async () => {
  const { name, good } = await deployedTwice()
  const activated = await cli(name, 'deployments', 'activate', 'previous')
  assert.match(
    activated,
    /pinned to it: rebuilds and webhooks build its archive [0-9a-f]{12}, until an upload is live or 'headland unpin'/,
  )
  const id = good.split('/').at(-1) ?? ''
  assert.match(
    await cli(name, 'envs', 'show'),
    new RegExp(`pinned +archive [0-9a-f]{12} of deployment ${id}, since .*'headland unpin' ends it`),
  )
  assert.match(
    await cli(name, 'rebuild'),
    /A rollback pinned this environment, so the archive [0-9a-f]{12} is built and not the newest upload/,
  )
  assert.match(
    await cli(name, 'unpin'),
    /is not pinned any more\. What is live stays; the next rebuild builds the newest upload\./,
  )
  assert.match(await cli(name, 'unpin'), /was not pinned: rebuilds build the newest upload\./)
  assert.doesNotMatch(await cli(name, 'envs', 'show'), /unpin/)
})
