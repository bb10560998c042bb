/** What a build keeps for the next one, and what it must never keep. */
import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { resources } from '../../../src/contract/index.ts'
import { makeAccount } from '../../support/e2e/account.ts'
import { deploy, type Files, untilDone } from '../../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import type { Login } from '../../support/service/service.ts'
import { until } from '../../support/until.ts'
import { service } from './service.ts'

const as = await service.login()

const IS_NUMBER = {
  version: '7.0.0',
  integrity: 'sha512-41Cifkg6e8TylSpdtTpeLVMqvSBEVzTttHvERD741+pnZ8ANv0004MRL43QKPDlK9cGvNp6NZWZUBlbGXYxxng==',
}

/** An app with a package of the registry, whose build does what the test says and writes a page. */
function app(build: string, { version = '1.0.0', scripts = {}, files = {} }: Given = {}): Files {
  const about = { name: 'counter', version, dependencies: { 'is-number': '7.0.0' } }
  return {
    'package.json': JSON.stringify({ ...about, scripts: { build: 'node build.js', ...scripts } }),
    'package-lock.json': JSON.stringify({
      ...{ name: 'counter', version, lockfileVersion: 3, requires: true },
      packages: { '': about, 'node_modules/is-number': IS_NUMBER },
    }),
    'build.js': `
      const fs = require('node:fs')
      const kept = 'node_modules/.cache/count'
      const count = fs.existsSync(kept) ? Number(fs.readFileSync(kept)) + 1 : 1
      fs.mkdirSync('node_modules/.cache', { recursive: true })
      fs.writeFileSync(kept, String(count))
      fs.mkdirSync('dist', { recursive: true })
      let page = 'built ' + count + ' times, 7 is a number: ' + require('is-number')(7)
      ${build}
      fs.writeFileSync('dist/index.html', page)
    `,
    ...files,
  }
}
type Given = { version?: string; scripts?: Record<string, string>; files?: Files }

type Built = resources.Operation & { log: string; build: resources.Build }

async function look(done: resources.Operation, who: Login = as): Promise<Built> {
  const log = await service.call(`/v1/${done.metadata.build}/log`, { as: who })
  const build = await service.call(`/v1/${done.metadata.build}`, { as: who })
  return { ...done, log: log.text, build: build.json }
}

async function rebuild(environment: string, body: { clean?: boolean } = {}): Promise<Built> {
  const asked = await service.call(`/v1/${environment}:rebuild`, { method: 'POST', as, body })
  return look(await untilDone(service, as, asked.json.name))
}

const stateOf = ({ build }: Built, cache: string): string | undefined =>
  build.caches.find((use) => use.cache === cache)?.state

const INSTALLS = /\$ npm ci/

const shop = await createEnvironment(service, as)

test('the first build installs and fills the caches', async () => {
  const first = await look(await deploy(service, as, shop.name, app('')))
  assert.equal(first.error, undefined, first.log)
  assert.match(first.log, INSTALLS)
  assert.deepEqual([stateOf(first, 'packages'), stateOf(first, 'compile')], ['MISS', 'MISS'])
  assert.equal((await siteAnswer(service, shop.url)).text, 'built 1 times, 7 is a number: true')
})

test("a Rebuild with the same lockfile runs no package manager, and has the compiler's cache", async () => {
  const again = await rebuild(shop.name)
  assert.equal(again.error, undefined, again.log)
  assert.doesNotMatch(again.log, INSTALLS)
  assert.match(again.log, /Nothing to install: package-lock\.json is unchanged/)
  assert.deepEqual([stateOf(again, 'packages'), stateOf(again, 'compile')], ['HIT', 'HIT'])
  assert.equal((await siteAnswer(service, shop.url)).text, 'built 2 times, 7 is a number: true')
})

test('a Clean Rebuild uses nothing of earlier builds', async () => {
  const clean = await rebuild(shop.name, { clean: true })
  assert.equal(clean.error, undefined, clean.log)
  assert.match(clean.log, INSTALLS)
  for (const cache of ['packages', 'store', 'compile']) assert.equal(stateOf(clean, cache), 'DROPPED', cache)
  assert.equal((await siteAnswer(service, shop.url)).text, 'built 1 times, 7 is a number: true')
})

test('another lockfile is installed again, from the same package store', async () => {
  const changed = await look(await deploy(service, as, shop.name, app('', { version: '1.0.1' })))
  assert.match(changed.log, INSTALLS)
  assert.deepEqual([stateOf(changed, 'packages'), stateOf(changed, 'store')], ['MISS', 'HIT'])
})

test('another source with the same lockfile is not installed again', async () => {
  const changed = await look(await deploy(service, as, shop.name, app('page += "!"', { version: '1.0.1' })))
  assert.doesNotMatch(changed.log, INSTALLS)
  assert.match((await siteAnswer(service, shop.url)).text, /true!$/)
})

test('an environment of the same account has the packages from the start, and no other cache', async () => {
  const other = await createEnvironment(service, as)
  const first = await look(await deploy(service, as, other.name, app('')))
  assert.doesNotMatch(first.log, INSTALLS)
  assert.deepEqual([stateOf(first, 'packages'), stateOf(first, 'compile')], ['HIT', 'MISS'])
  assert.equal((await siteAnswer(service, other.url)).text, 'built 1 times, 7 is a number: true')
})

test('an environment of another account has nothing of it', async () => {
  await makeAccount(service, 'other')
  const stranger = await service.login('owner', 'other')
  const theirs = await createEnvironment(service, stranger, { account: 'other' })
  const first = await look(await deploy(service, stranger, theirs.name, app('')), stranger)
  assert.match(first.log, INSTALLS)
  for (const cache of ['packages', 'store', 'compile']) assert.equal(stateOf(first, cache), 'MISS', cache)
})

test('changes of a build to a package are not seen by other builds', async () => {
  const careless = await createEnvironment(service, as)
  const spoil = `fs.writeFileSync('node_modules/is-number/index.js', 'module.exports = () => "spoilt"')`
  await deploy(service, as, careless.name, app(spoil))
  const neighbour = await createEnvironment(service, as)
  const done = await look(await deploy(service, as, neighbour.name, app('')))
  assert.equal(stateOf(done, 'packages'), 'HIT')
  assert.match((await siteAnswer(service, neighbour.url)).text, /true$/)
})

test('a build that fails leaves every cache as it was', async () => {
  const { name } = await createEnvironment(service, as)
  await deploy(service, as, name, app(''))
  const failed = await look(await deploy(service, as, name, app('process.exit(1)')))
  assert.equal(failed.build.state, 'FAILED')
  assert.equal(failed.log.split(failed.build.failure?.message ?? '').length - 1, 1, failed.log)
  assert.match(failed.log, /Without caches it failed in the same way\./)
  await deploy(service, as, name, app(''))
  const { json } = await service.call(`/v1/${name}`, { as })
  assert.match((await siteAnswer(service, json.url)).text, /^built 2 times/)
})

test('a build that fails with warm caches is tried once more without, and says so', async () => {
  const { name } = await createEnvironment(service, as)
  const brittle = app('if (count === 2) throw new Error("the cache is broken")')
  await deploy(service, as, name, brittle)
  const healed = await rebuild(name)
  assert.equal(healed.error, undefined, healed.log)
  assert.match(
    healed.log,
    /the cache is broken[\s\S]*tried once more without caches, because it used installed packages[\s\S]*\$ npm ci[\s\S]*The output is the same/,
  )
  const { reason, message, retriedBecause } = healed.build.firstFailure ?? {}
  assert.equal(reason, 'BUILD_SCRIPT_FAILED')
  assert.match(message ?? '', /the cache is broken/)
  assert.match(retriedBecause ?? '', /compiler caches of earlier builds/)
})

test('a failure of the source is reported after one attempt, also with warm caches', async () => {
  const { name } = await createEnvironment(service, as)
  await deploy(service, as, name, app(''))
  const says = `console.log("src/main.ts(1,7): error TS2322: Type 'string' is not assignable to type 'number'."); process.exit(2)`
  const failed = await look(await deploy(service, as, name, app(says)))
  assert.equal(failed.build.failure?.reason, 'TYPE_ERROR', failed.log)
  assert.equal(failed.log.match(/\$ npm run build/g)?.length, 1, failed.log)
  assert.equal(failed.build.firstFailure, undefined)
})

test('packages that were installed for a build that failed are there for the next, as they were installed', async () => {
  const { name, url } = await createEnvironment(service, as)
  const spoil = `fs.writeFileSync('node_modules/is-number/index.js', 'module.exports = () => "spoilt"'); process.exit(1)`
  const failed = await look(await deploy(service, as, name, app(spoil, { version: '3.1.4' })))
  assert.equal(failed.build.state, 'FAILED')
  assert.match(failed.log, INSTALLS)
  const next = await look(await deploy(service, as, name, app('', { version: '3.1.4' })))
  assert.equal(next.error, undefined, next.log)
  assert.doesNotMatch(next.log, INSTALLS)
  assert.match(next.log, /Nothing to install: package-lock\.json is unchanged/)
  assert.equal(stateOf(next, 'packages'), 'HIT')
  assert.match((await siteAnswer(service, url)).text, /true$/)
})

test('a build with warm caches that is cancelled is not tried again', async () => {
  const { name } = await createEnvironment(service, as)
  const hangsWhenWarm = app(`if (count > 1) { console.log('it hangs'); setInterval(() => {}, 1000) }`)
  assert.equal((await deploy(service, as, name, hangsWhenWarm)).error, undefined)
  const { json } = await service.call(`/v1/${name}:rebuild`, { method: 'POST', as, body: {} })
  const { build } = json.metadata
  await until(async () => (await service.call(`/v1/${build}/log`, { as })).text.includes('it hangs'))
  await service.call(`/v1/${build}:cancel`, { method: 'POST', as })
  const { log } = await look(await untilDone(service, as, json.name))
  assert.doesNotMatch(log, /tried once more/)
})

test('a build that fails without caches is not tried again', async () => {
  const { name } = await createEnvironment(service, as)
  await deploy(service, as, name, app(''))
  await deploy(service, as, name, app('process.exit(1)'))
  const failed = await rebuild(name, { clean: true })
  assert.equal(failed.build.state, 'FAILED')
  assert.equal(failed.log.match(/\$ npm run build/g)?.length, 1)
})

test("a script of the app's own runs again for another source, and not for the same", async () => {
  const { name } = await createEnvironment(service, as)
  const given = (text: string): Files =>
    app('page = fs.readFileSync("made", "utf8")', {
      scripts: { postinstall: 'cp text made' },
      files: { text },
    })
  await deploy(service, as, name, given('one'))
  const again = await rebuild(name)
  assert.doesNotMatch(again.log, INSTALLS)
  const changed = await look(await deploy(service, as, name, given('two')))
  assert.match(changed.log, INSTALLS)
  const { json } = await service.call(`/v1/${name}`, { as })
  assert.equal((await siteAnswer(service, json.url)).text, 'two')
})

test('a server runs on the packages of its own build, also when an older one is made live again', async () => {
  const server = (text: string): Files => ({
    ...app('', {
      scripts: { start: 'node server.js' },
      files: {
        'server.js': `const isNumber = require('is-number')
          require('node:http').createServer((_, response) => response.end('${text} ' + isNumber(7)))
            .listen(process.env.PORT, process.env.HOST)`,
      },
    }),
  })
  const { name, url } = await createEnvironment(service, as)
  const first = await deploy(service, as, name, server('one'))
  assert.equal((await siteAnswer(service, url)).text, 'one true')
  await deploy(service, as, name, server('two'))
  await rebuild(name, { clean: true })
  const asked = await service.call(`/v1/${first.metadata.deployment}:activate`, { method: 'POST', as })
  await untilDone(service, as, asked.json.name)
  assert.equal((await siteAnswer(service, url)).text, 'one true')
})

test('packages that no environment needs any more are removed', async () => {
  const { name } = await createEnvironment(service, as)
  const packages = () => readdir(join(service.dataDir, 'packages'))
  await deploy(service, as, name, app('', { version: '9.9.9' }))
  const before = await packages()
  const asked = await service.call(`/v1/${name}`, { method: 'DELETE', as })
  await untilDone(service, as, asked.json.name)
  assert.equal((await packages()).length, before.length - 1)
})
