/** Deploys through the whole service with a real registry: pushed, shown, pulled where files are gone, collected. */
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { resources } from '../../src/contract/index.ts'
import { temporaryFolder } from '../support/folder.ts'
import { LOGIN, NEEDS_REGISTRY, startRegistry } from '../support/images/registry.ts'
import { deploy, type Files, nodeServer, page, reasonOf, untilDone } from '../support/service/deploy.ts'
import { createApp, createEnvironment, siteAnswer } from '../support/service/environment.ts'
import { createCommandLine } from '../support/service/headland.ts'
import { startService, type TestService } from '../support/service/service.ts'

const skip = NEEDS_REGISTRY.skip

const registry = skip ? undefined : await startRegistry({ after }, { hasPassword: true })
const settings = {
  HEADLAND_REGISTRY: `${registry?.url}/some/prefix`,
  HEADLAND_REGISTRY_USER: LOGIN.user,
  HEADLAND_REGISTRY_PASSWORD: LOGIN.password,
  HEADLAND_REGISTRY_TIMEOUT: '20',
}
const service = skip ? ({} as TestService) : await startService({ after }, { settings })
const as = skip ? { userId: '', password: '' } : await service.login('developer')

const read = async <T>(name: string): Promise<T> => (await service.call(`/v1/${name}`, { as })).json
const buildOf = ({ metadata }: resources.Operation): Promise<resources.Build> => read(metadata.build)
const logOf = async ({ metadata }: resources.Operation): Promise<string> =>
  (await service.call(`/v1/${metadata.build}/log`, { as })).text

async function deployed(environment: string, files: Files): Promise<resources.Operation> {
  const done = await deploy(service, as, environment, files)
  assert.equal(done.error, undefined, `${JSON.stringify(done.error)}\n${await logOf(done)}`)
  return done
}

async function activate(deployment: string): Promise<resources.Operation> {
  const asked = await service.call(`/v1/${deployment}:activate`, { method: 'POST', as })
  assert.equal(asked.status, 200, asked.text)
  return untilDone(service, as, asked.json.name)
}

const outputs = () => join(service.dataDir, 'outputs')

/** An app whose build removes and replaces files of the upload, and that writes to a folder while it runs. */
const layered = (version: string): Files => ({
  'package.json': JSON.stringify({
    name: 'layered',
    scripts: { build: 'node build.js', start: 'node server.js' },
  }),
  'removed.txt': 'from the upload',
  'folder/old.txt': 'from the upload',
  'build.js': `
    const fs = require('node:fs')
    fs.rmSync('removed.txt')
    fs.rmSync('folder', { recursive: true })
    fs.mkdirSync('folder')
    fs.writeFileSync('folder/new.txt', 'from the build')
  `,
  'server.js': `
    const fs = require('node:fs')
    require('node:http').createServer((_, response) => {
      const found = fs.readdirSync('.').concat(fs.readdirSync('folder')).sort()
      response.end(${JSON.stringify(version)} + ' ' + found.join(' '))
    }).listen(process.env.PORT, process.env.HOST)
  `,
})

const LAYERED = ' build.js folder new.txt package.json server.js'

test('a deploy ends with its image in the registry, and the build and its log name it', { skip }, async () => {
  const { name, url } = await createEnvironment(service, as, { app: await createApp(service, as, { app: 'Shop' }) })
  const done = await deployed(name, nodeServer('one'))
  const { image = '' } = await buildOf(done)
  assert.match(image, /^127\.0\.0\.1:\d+\/some\/prefix\/default\/shop@sha256:[0-9a-f]{64}$/)
  assert.ok((await logOf(done)).includes(image))
  assert.equal((await siteAnswer(service, url)).text, 'one')
  const { builds } = await read<{ builds: resources.Build[] }>(`${name}/builds`)
  assert.deepEqual(
    builds.map((build) => build.image),
    [image],
  )
})

test('a build with the same files has the same image, and nothing is sent', { skip }, async () => {
  const { name } = await createEnvironment(service, as)
  const done = await deployed(name, nodeServer('same'))
  const again = await service.call(`/v1/${name}:rebuild`, { method: 'POST', as, body: { clean: true } })
  const rebuilt = await untilDone(service, as, again.json.name)
  assert.equal((await buildOf(rebuilt)).image, (await buildOf(done)).image)
  assert.match(await logOf(rebuilt), /in the registry already/)
})

test('two environments with the same files have the same image, and the runtime is sent once for all apps', {
  skip,
}, async () => {
  const app = await createApp(service, as)
  const body = (displayName: string) => ({ displayName, branch: 'uploadable', cmsEnvironment: 'cms' })
  const one = await createEnvironment(service, as, { app, body: body('One') })
  const two = await createEnvironment(service, as, { app, body: body('Two') })
  const [first, second] = [await deployed(one.name, page('same')), await deployed(two.name, page('same'))]
  assert.equal((await buildOf(second)).image, (await buildOf(first)).image)
  assert.match(await logOf(second), /pushed 0 of them, 0 B/)
  const other = await createEnvironment(service, as)
  assert.match(await logOf(await deployed(other.name, page('other'))), /pushed 1 of them, \d+ B/)
})

test('an older deployment whose files are gone is pulled, and answers as before', { skip }, async () => {
  const { name, url } = await createEnvironment(service, as)
  const first = await deployed(name, layered('first'))
  assert.equal((await siteAnswer(service, url)).text, `first${LAYERED}`)
  await deployed(name, layered('second'))
  await rm(outputs(), { recursive: true })
  const done = await activate(first.metadata.deployment)
  assert.equal(done.error, undefined, JSON.stringify(done.error))
  assert.equal((await siteAnswer(service, url)).text, `first${LAYERED}`)
  assert.match(service.log(), /an output was got from the registry/)
})

test('a site of files is pulled with its list for the edge', { skip }, async () => {
  const { name, url } = await createEnvironment(service, as)
  const first = await deployed(name, { ...page('first'), _redirects: '/old /new 301\n' })
  await deployed(name, page('second'))
  await rm(outputs(), { recursive: true })
  const done = await activate(first.metadata.deployment)
  assert.equal(done.error, undefined, JSON.stringify(done.error))
  assert.match((await siteAnswer(service, url)).text, /first/)
  assert.equal((await siteAnswer(service, url, '/old')).status, 301)
})

test('headland image prints the reference of what is live', { skip }, async () => {
  const { name } = await createEnvironment(service, as, { app: await createApp(service, as, { app: 'printed' }) })
  const done = await deployed(name, page('printed'))
  const folder = await temporaryFolder({ after })
  const environment = {
    PATH: process.env.PATH,
    HOME: folder,
    HEADLAND_URL: service.api,
    HEADLAND_API_USER: as.userId,
    HEADLAND_API_PASSWORD: as.password,
  }
  const { headland } = createCommandLine(environment, folder)
  const args = ['image', 'Test', '--account', 'default', '--app', 'printed']
  const { stdout, stderr, code } = await headland(args, { cwd: folder })
  assert.equal(code, 0, stderr)
  assert.equal(stdout, `${(await buildOf(done)).image}\n`)
})

test('a registry that stays away fails the deploy with what to do, and the next one goes through', {
  skip,
}, async () => {
  const { name, url } = await createEnvironment(service, as)
  await deployed(name, nodeServer('before'))
  await registry?.stop()
  const failed = await deploy(service, as, name, nodeServer('after'))
  assert.equal(reasonOf(failed), 'IMAGE_REGISTRY_FAILED')
  const { failure } = await buildOf(failed)
  assert.equal(failure?.retryable, true)
  assert.match(failure?.todo ?? '', /Deploy again later/)
  assert.equal((await siteAnswer(service, url)).text, 'before')
  await registry?.start()
  const again = await service.call(`/v1/${name}:rebuild`, { method: 'POST', as, body: {} })
  assert.equal((await untilDone(service, as, again.json.name)).error, undefined)
  assert.equal((await siteAnswer(service, url)).text, 'after')
})

test('at a start, live outputs that only the registry has are got from there', { skip }, async () => {
  const { name, url } = await createEnvironment(service, as)
  await deployed(name, page('still there'))
  await service.stop()
  await rm(outputs(), { recursive: true })
  const next = await startService({ after }, { settings, dataDir: service.dataDir })
  assert.match((await siteAnswer(next, url)).text, /still there/)
  await next.stop()
})
