/** Two apps of one account whose lockfiles share packages, with npm itself in the sandbox and a registry that counts. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import type { Plan } from '../../src/builds/plan/plan.ts'
import { createBuildCaches } from '../../src/builds/run/caches.ts'
import { createPackageStore } from '../../src/builds/run/packages.ts'
import { runPlan } from '../../src/builds/run/run.ts'
import { shareDownloads } from '../../src/builds/run/share-downloads.ts'
import { createTarballStore } from '../../src/builds/run/tarballs.ts'
import { createWorkspace } from '../../src/builds/run/workspace.ts'
import { openToolchains } from '../../src/builds/toolchain/index.ts'
import { machineEnvironment } from '../../src/config.ts'
import { createLineLogs } from '../../src/storage/index.ts'
import { temporaryFolder } from '../support/folder.ts'
import { LIMITS, testSandbox } from '../support/machine/engine.ts'
import { openCoreModules } from '../support/modules/core.ts'

const scope = { after }
const engine = await testSandbox()
assert.equal(engine.overlayMissing, undefined, 'the tests need overlays')
const user = process.getuid?.() === 0 ? { uid: 210_006, gid: 210_006 } : undefined

const top = await temporaryFolder(scope)
const { sql, clock, newId } = await openCoreModules(scope)
const toolchains = await openToolchains({
  folder: join(top, 'tools'),
  environment: machineEnvironment(),
  isIsolating: true,
})
const toolchain = await toolchains.open(toolchains.own())
const packages = createPackageStore({ sql, clock, newId, folder: join(top, 'packages') })
const tarballs = createTarballStore({ folder: join(top, 'tarballs') })
const logs = createLineLogs(top)
const registry = await startRegistry(['both', 'first', 'second', 'victim'])

async function startRegistry(names: string[]) {
  const asked: string[] = []
  const published = new Map<string, Buffer>()
  for (const name of names) {
    const folder = join(top, 'published', name)
    await mkdir(join(folder, 'package'), { recursive: true })
    await writeFile(join(folder, 'package/package.json'), JSON.stringify({ name, version: '1.0.0' }))
    await writeFile(join(folder, 'package/index.js'), `module.exports = ${JSON.stringify(name)}\n`)
    await promisify(execFile)('tar', ['-czf', 'a.tgz', 'package'], { cwd: folder })
    published.set(`/${name}.tgz`, await readFile(join(folder, 'a.tgz')))
  }
  const server = createServer(({ url = '' }, answer) => {
    asked.push(url)
    const tarball = published.get(url)
    answer.writeHead(tarball ? 200 : 404).end(tarball)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => server.close())
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const digest = (name: string) => createHash('sha512').update(published.get(`/${name}.tgz`) ?? '')
  return {
    asked,
    address,
    /** The place of a tarball in npm's store. */
    placeOf(name: string): string {
      const hex = digest(name).digest('hex')
      return `/cache/npm/_cacache/content-v2/sha512/${hex.slice(0, 2)}/${hex.slice(2, 4)}/${hex.slice(4)}`
    },
    locked: (name: string) => ({
      version: '1.0.0',
      resolved: `${address}/${name}.tgz`,
      integrity: `sha512-${digest(name).digest('base64')}`,
    }),
  }
}

type App = {
  account: string
  needs: string[]
  /** Named by the lockfile, and not for this platform: they are not installed. */
  names?: string[]
  /** What a script of a package does, after the install. */
  script?: string
  isClean?: boolean
}

let count = 0

/** The first build of an app. Resolves to what its packages say, and to the requests that it made. */
async function build({ account, needs, names = [], script = 'true', isClean = false }: App) {
  const environmentId = `environment${++count}`
  const folder = join(top, environmentId)
  const place = createWorkspace({ folder: join(folder, 'work'), user, isLayered: true })
  await place.empty()
  await place.makeFolder('source')
  const needed = { dependencies: Object.fromEntries(needs.map((name) => [name, '1.0.0'])) }
  const optional = { optionalDependencies: Object.fromEntries(names.map((name) => [name, '1.0.0'])) }
  const about = { name: 'app', version: '1.0.0', ...needed, ...optional }
  const entries = needs.map((name) => [`node_modules/${name}`, registry.locked(name)])
  const others = names.map((name) => [
    `node_modules/${name}`,
    { ...registry.locked(name), optional: true, os: ['none'] },
  ])
  const locked = { '': about, ...Object.fromEntries([...entries, ...others]) }
  const lockfile = { name: 'app', version: '1.0.0', lockfileVersion: 3, requires: true, packages: locked }
  await writeFile(join(place.source, 'package.json'), JSON.stringify(about))
  await writeFile(join(place.source, 'package-lock.json'), JSON.stringify(lockfile))
  const plan: Plan = {
    framework: 'unknown',
    frameworkVersion: null,
    detectedBy: [],
    packageManager: { name: 'npm', version: '*', lockfile: 'package-lock.json' },
    node: '24',
    rootDirectory: '',
    install: {
      argv: ['sh', '-c', `npm ci && ${script}`],
      folder: '',
      inputs: ['package-lock.json', 'package.json'],
    },
    build: { argv: ['sh', '-c', 'mkdir dist; cat node_modules/*/index.js > dist/index.html'] },
    output: { kind: 'static', folder: 'dist', candidates: [], singlePage: false, basePath: '' },
    caches: { compile: [], data: [] },
    environment: { npm_config_registry: registry.address },
  }
  const log = await logs.create(environmentId, { secrets: [], whenFull: 'stop', maxBytes: 1_000_000 })
  const cacheFolder = join(folder, 'cache')
  await mkdir(cacheFolder)
  const caches = createBuildCaches({ folder: cacheFolder, workspace: place, plan, node: '24', isClean, log })
  const before = registry.asked.length
  const made = await runPlan(
    {
      ...{ engine, packages, tarballs, limits: LIMITS, networks: undefined },
      deadlines: { installMs: 120_000, buildMs: 120_000 },
    },
    {
      ...{ plan, workspace: place, caches, toolchain, adapters: toolchains.adapters, isClean, environmentId, log },
      archive: `sha256:${'0'.repeat(64)}`,
      accountId: account,
      variables: {},
      metadata: {},
      signal: new AbortController().signal,
      enter: async () => undefined,
      claim: async () => false,
      admit: async () => undefined,
      contacted: async () => undefined,
    },
  )
  await caches.commit()
  const said: string[] = []
  await shareDownloads(tarballs, {
    ...{ accountId: account, plan, workspace: place, store: caches.storeFolder, installed: made.installed },
    say: (text) => void said.push(text),
  })
  await log.close()
  const lines = await logs.read(environmentId, 0)
  return {
    page: await readFile(join(made.output.files, 'index.html'), 'utf8'),
    asked: registry.asked.slice(before),
    log: [...lines.map(({ text }) => text), ...said].join('\n'),
  }
}

const pageOf = (...names: string[]): string => names.map((name) => `module.exports = "${name}"\n`).join('')

test('a second app of the account downloads only what no other has', async () => {
  const first = await build({ account: 'ours', needs: ['both', 'first'] })
  assert.deepEqual(first.asked.toSorted(), ['/both.tgz', '/first.tgz'])
  assert.match(first.log, /Kept for other apps of this account: .* in 2 files of downloaded packages/)
  const second = await build({ account: 'ours', needs: ['both', 'second'] })
  assert.deepEqual(second.asked, ['/second.tgz'], second.log)
  assert.match(second.log, /Downloaded before by a build of this account, and checked: .* in 1 file of packages/)
  assert.equal(second.page, pageOf('both', 'second'))
})

test('another account downloads all anew, and so does a clean build', async () => {
  assert.deepEqual((await build({ account: 'theirs', needs: ['both'] })).asked, ['/both.tgz'])
  assert.deepEqual((await build({ account: 'ours', needs: ['both'], isClean: true })).asked, ['/both.tgz'])
})

test('what a build writes under the name of a package that it does not have reaches no other app', async () => {
  const place = registry.placeOf('victim')
  const script = `mkdir -p $(dirname ${place}) && tar -czf ${place} node_modules/first`
  const attack = await build({ account: 'ours', needs: ['first'], names: ['victim'], script })
  assert.match(attack.log, /Warning: 1 file in the store of the package manager: the content is not what the name says/)
  const victim = await build({ account: 'ours', needs: ['first', 'victim'] })
  assert.deepEqual([victim.asked, victim.page], [['/victim.tgz'], pageOf('first', 'victim')], victim.log)
})

test('what a build does to a package that it was given is not seen by the next one', async () => {
  const place = registry.placeOf('both')
  const spoil = await build({ account: 'ours', needs: ['both'], script: `rm -f ${place} && echo spoilt > ${place}` })
  assert.deepEqual(spoil.asked, [])
  const next = await build({ account: 'ours', needs: ['both', 'first', 'second'] })
  assert.deepEqual([next.asked, next.page], [[], pageOf('both', 'first', 'second')], next.log)
})
