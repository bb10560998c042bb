/** A build with the same output as the live deployment: nothing is switched, and the operation says so. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import type { resources } from '../../../src/contract/index.ts'
import { rounds } from '../../support/long.ts'
import { deploy, type Files, nodeServer, page, reasonOf, untilDone } from '../../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { startService, type TestService } from '../../support/service/service.ts'

const service = await startService({ after }, { settings: { HEADLAND_KEEP_DEPLOYMENTS: '1' } })
const as = await service.login()

const UNCHANGED = 'The output is the same as that of the live deployment: nothing to switch, and the cache stays.'

async function rebuild(name: string, body: { clean?: boolean } = {}): Promise<resources.Operation> {
  const asked = await service.call(`/v1/${name}:rebuild`, { method: 'POST', as, body })
  return untilDone(service, as, asked.json.name)
}

const buildOf = async ({ metadata }: resources.Operation): Promise<resources.Build> =>
  (await service.call(`/v1/${metadata.build}`, { as })).json
const logOf = async ({ metadata }: resources.Operation): Promise<string> =>
  (await service.call(`/v1/${metadata.build}/log`, { as })).text
const deploymentsOf = async (name: string): Promise<resources.Deployment[]> =>
  (await service.call(`/v1/${name}/deployments`, { as })).json.deployments

/** Files made by a build, whose script the test gives. */
const built = (script: string): Files => ({
  'package.json': JSON.stringify({ scripts: { build: 'node build.js' } }),
  'build.js': `require('node:fs').mkdirSync('dist'); require('node:fs').writeFileSync('dist/index.html', ${script})`,
})

async function assertUnchanged(done: resources.Operation, live: string) {
  assert.equal(done.error, undefined, JSON.stringify(done.error))
  assert.deepEqual([done.metadata.unchanged, done.metadata.deployment], [true, live])
  assert.equal(done.response?.deployment, live)
  const build = await buildOf(done)
  assert.deepEqual([build.state, build.phase, build.unchanged], ['SUCCEEDED', 'DONE', true])
  assert.deepEqual(
    Object.keys(build.durations).filter((phase) => phase === 'STARTING' || phase === 'SWITCHING'),
    [],
  )
  assert.ok((await logOf(done)).includes(UNCHANGED))
}

test('the same archive a second time is built and switches nothing', async () => {
  const { name, url } = await createEnvironment(service, as)
  const first = await deploy(service, as, name, page('the same'))
  assert.equal(first.metadata.unchanged, undefined)
  assert.equal((await buildOf(first)).unchanged, false)
  const before = await deploymentsOf(name)
  const again = await deploy(service, as, name, page('the same'))
  await assertUnchanged(again, first.metadata.deployment)
  assert.notEqual(again.metadata.build, first.metadata.build)
  assert.equal(again.response?.build, first.metadata.build, 'the output of the first build is live')
  assert.deepEqual(await deploymentsOf(name), before)
  assert.match((await siteAnswer(service, url)).text, /the same/)
})

test('a Rebuild or a Clean Rebuild switches nothing either, however often', async () => {
  const { name } = await createEnvironment(service, as)
  const first = await deploy(service, as, name, built(`'always the same'`))
  for (const body of [{}, { clean: true }, {}])
    await assertUnchanged(await rebuild(name, body), first.metadata.deployment)
})

test('a Rebuild whose output differs is switched', async () => {
  const { name, url } = await createEnvironment(service, as)
  const first = await deploy(service, as, name, built('String(process.hrtime.bigint())'))
  const text = (await siteAnswer(service, url)).text
  const again = await rebuild(name)
  assert.equal(again.metadata.unchanged, undefined)
  assert.notEqual(again.metadata.deployment, first.metadata.deployment)
  assert.ok('STARTING' in (await buildOf(again)).durations)
  assert.notEqual((await siteAnswer(service, url)).text, text)
})

test('files of a package count like all others if visitors get them', async () => {
  const { name, url } = await createEnvironment(service, as)
  const copy = `const fs = require('node:fs')
    fs.mkdirSync('dist/node_modules/lib', { recursive: true })
    fs.copyFileSync('lib.js', 'dist/node_modules/lib/lib.js')
    fs.writeFileSync('dist/index.html', 'the same')`
  const site = (text: string): Files => ({ ...built(''), 'build.js': copy, 'lib.js': text })
  await deploy(service, as, name, site('one'))
  assert.equal((await deploy(service, as, name, site('two'))).metadata.unchanged, undefined)
  assert.equal((await siteAnswer(service, url, '/node_modules/lib/lib.js')).text, 'two')
})

test('a Rebuild of an archive whose deployment is no longer live is switched, and the next one is not', async () => {
  const { name, url } = await createEnvironment(service, as)
  const older = await deploy(service, as, name, page('older'))
  await deploy(service, as, name, page('newer'))
  const asked = await service.call(`/v1/${older.metadata.deployment}:activate`, { method: 'POST', as })
  await untilDone(service, as, asked.json.name)
  // The rollback pinned the older archive: a Rebuild of that one changes nothing.
  await assertUnchanged(await rebuild(name), older.metadata.deployment)
  await service.call(`/v1/${name}:unpin`, { method: 'POST', as })
  const forward = await rebuild(name)
  assert.equal(forward.metadata.unchanged, undefined)
  assert.match((await siteAnswer(service, url)).text, /newer/)
  await assertUnchanged(await rebuild(name), forward.metadata.deployment)
})

test('a Rebuild restarts a server, even if its output is the same', async () => {
  const { name, url } = await createEnvironment(service, as)
  const server = nodeServer('', 'response.write(String(started))')
  const files = { ...server, 'server.js': `const started = process.hrtime.bigint()\n${server['server.js']}` }
  const first = await deploy(service, as, name, files)
  const text = (await siteAnswer(service, url)).text
  const again = await rebuild(name)
  assert.equal(again.metadata.unchanged, undefined)
  assert.notEqual(again.metadata.deployment, first.metadata.deployment)
  assert.notEqual((await siteAnswer(service, url)).text, text)
})

const withVariable = (value: string) => ({ shellVariables: [{ key: 'COLOUR', value }] })

async function change(name: string, value: string): Promise<resources.Operation> {
  const asked = await service.call(`/v1/${name}`, { method: 'PATCH', as, body: withVariable(value) })
  return untilDone(service, as, asked.json.name)
}

test('after a change of variables a Rebuild finds the deployment that the change made', async () => {
  const { name } = await createEnvironment(service, as)
  await deploy(service, as, name, built(`'without colour'`))
  const changed = await change(name, 'red')
  await assertUnchanged(await rebuild(name), changed.metadata.deployment)
})

test('a failure after a build that changed nothing still names the new variable', async () => {
  const { name } = await createEnvironment(service, as)
  await change(name, 'red')
  await deploy(service, as, name, built(`process.env.COLOUR === 'blue' ? process.exit(1) : 'red'`))
  assert.equal((await rebuild(name)).metadata.unchanged, true)
  await change(name, 'blue')
  const failed = await rebuild(name)
  assert.equal(reasonOf(failed), 'BUILD_SCRIPT_FAILED')
  assert.match((await buildOf(failed)).failure?.changes.join('\n') ?? '', /COLOUR/)
})

test('the live deployment stays complete when other builds with the same output are discarded', async () => {
  const { name, url } = await createEnvironment(service, as)
  const first = await deploy(service, as, name, page('to come back to'))
  for (let count = 0; count < 3; count++) await rebuild(name)
  await deploy(service, as, name, page('in between'))
  const asked = await service.call(`/v1/${first.metadata.deployment}:activate`, { method: 'POST', as })
  assert.equal((await untilDone(service, as, asked.json.name)).error, undefined)
  assert.match((await siteAnswer(service, url)).text, /to come back to/)
  await assertUnchanged(await deploy(service, as, name, page('to come back to')), first.metadata.deployment)
})

const ROUNDS = rounds({ short: 2, long: 20 })

test(`kill -9 at ${ROUNDS} random points of a Rebuild that changes nothing: it ends, and still changes nothing`, async (t) => {
  let killed: TestService = await startService(t)
  const { dataDir } = killed
  const login = await killed.login()
  const { name } = await createEnvironment(killed, login)
  const first = await deploy(killed, login, name, built(`'as ever'`))
  for (let round = 0; round < ROUNDS; round++) {
    const asked = await killed.call(`/v1/${name}:rebuild`, { method: 'POST', as: login, body: {} })
    await wait(Math.random() * 800)
    await killed.kill()
    killed = await startService(t, { dataDir })
    const done = await untilDone(killed, login, asked.json.name)
    assert.equal(done.error, undefined, JSON.stringify(done.error))
    assert.deepEqual([done.metadata.unchanged, done.metadata.deployment], [true, first.metadata.deployment])
  }
  const { json } = await killed.call(`/v1/${name}/deployments`, { as: login })
  assert.equal(json.deployments.length, 1)
  assert.match((await siteAnswer(killed, (await killed.call(`/v1/${name}`, { as: login })).json.url)).text, /as ever/)
})
