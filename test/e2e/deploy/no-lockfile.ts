/** An app without a lockfile: rebuilds use the versions of the last good build. */
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { resources } from '../../../src/contract/index.ts'
import { deploy, type Files, untilDone } from '../../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { service } from './service.ts'

const as = await service.login()

/** Its page is the version of its one package. */
const app = ({ range = '*', build = '' } = {}): Files => ({
  'package.json': JSON.stringify({ scripts: { build: 'node build.js' }, dependencies: { 'is-number': range } }),
  'build.js': `
    const fs = require('node:fs')
    ${build}
    fs.mkdirSync('dist')
    fs.writeFileSync('dist/index.html', require('is-number/package.json').version)
  `,
})

async function logOf({ error, metadata }: resources.Operation): Promise<string> {
  const log = await service.call(`/v1/${metadata.build}/log`, { as })
  assert.equal(error, undefined, log.text)
  return log.text
}

async function rebuild(environment: string, body: { clean?: boolean } = {}): Promise<string> {
  const asked = await service.call(`/v1/${environment}:rebuild`, { method: 'POST', as, body })
  return logOf(await untilDone(service, as, asked.json.name))
}

const INSTALLS = /\$ npm install/
const shop = await createEnvironment(service, as)
const version = async (): Promise<string> => (await siteAnswer(service, shop.url)).text
let newest = ''

test('the first build of an app without a lockfile chooses the versions, and says for how long', async () => {
  const log = await logOf(await deploy(service, as, shop.name, app()))
  assert.match(log, INSTALLS)
  assert.match(log, /There is no lockfile: the package manager chooses the versions now\. Rebuilds use the same ones/)
  newest = await version()
})

test('a Rebuild without a lockfile installs nothing, and says whose versions it uses', async () => {
  const log = await rebuild(shop.name)
  assert.doesNotMatch(log, INSTALLS)
  assert.match(
    log,
    /package\.json is unchanged and there is no lockfile, so the versions of the last good build are used/,
  )
})

test('another source with the same package.json has the same versions', async () => {
  const log = await logOf(await deploy(service, as, shop.name, app({ build: '// changed' })))
  assert.doesNotMatch(log, INSTALLS)
})

test('where the packages are gone, the same versions are installed, though there are newer ones', async () => {
  const file = join(service.dataDir, 'environments', shop.name.split('/').at(-1) ?? '', 'cache/lockfile.json')
  const kept = JSON.parse(await readFile(file, 'utf8'))
  const lockfile = JSON.parse(kept.text)
  lockfile.packages['node_modules/is-number'] = { version: '6.0.0' }
  await writeFile(file, JSON.stringify({ ...kept, text: JSON.stringify(lockfile) }))
  const log = await rebuild(shop.name)
  assert.match(log, INSTALLS)
  assert.match(log, /There is no lockfile: the versions of the last good build are installed again/)
  assert.equal(await version(), '6.0.0')
  assert.doesNotMatch(await rebuild(shop.name), INSTALLS)
})

test('a Clean Rebuild looks for newer versions, which the next Rebuild uses', async () => {
  assert.match(await rebuild(shop.name, { clean: true }), INSTALLS)
  assert.equal(await version(), newest)
  assert.doesNotMatch(await rebuild(shop.name), INSTALLS)
})

test('a changed package.json is installed anew', async () => {
  const log = await logOf(await deploy(service, as, shop.name, app({ range: '6.0.0' })))
  assert.match(log, /the package manager chooses the versions now/)
  assert.equal(await version(), '6.0.0')
})

test('the versions of a build that failed are not used again', async () => {
  const { name } = await createEnvironment(service, as)
  const failed = await deploy(service, as, name, app({ build: 'process.exit(1)' }))
  assert.notEqual(failed.error, undefined)
  const log = await logOf(await deploy(service, as, name, app()))
  assert.match(log, /the package manager chooses the versions now/)
})
