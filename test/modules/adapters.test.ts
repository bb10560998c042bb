/** An adapter for Node replaces one for another host, in a real sandbox, with made-up packages. */
import assert from 'node:assert/strict'
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Adapter, Plan, StaticOutput } from '../../src/builds/plan/plan.ts'
import { createBuildCaches } from '../../src/builds/run/caches.ts'
import { createPackageStore } from '../../src/builds/run/packages.ts'
import { runPlan } from '../../src/builds/run/run.ts'
import { createTarballStore } from '../../src/builds/run/tarballs.ts'
import { createWorkspace } from '../../src/builds/run/workspace.ts'
import type { WantedAdapter } from '../../src/builds/toolchain/adapters.ts'
import { openToolchains } from '../../src/builds/toolchain/index.ts'
import { machineEnvironment } from '../../src/config.ts'
import { Problem } from '../../src/contract/index.ts'
import { createLineLogs } from '../../src/storage/index.ts'
import { temporaryFolder } from '../support/folder.ts'
import { LIMITS, testSandbox } from '../support/machine/engine.ts'
import { openCoreModules } from '../support/modules/core.ts'

const engine = await testSandbox()
const user = process.getuid?.() === 0 ? { uid: 210_009, gid: 210_009 } : undefined

type Files = Record<string, string>

const manifest = (name: string, version: string, more: object = {}): string =>
  JSON.stringify({
    name,
    version,
    type: 'module',
    exports: { '.': { types: './index.d.ts', import: './index.js' } },
    ...more,
  })

const VERCEL = 'node_modules/@sveltejs/adapter-vercel'
const KIT: Files = {
  'node_modules/@sveltejs/kit/package.json': manifest('@sveltejs/kit', '2.70.3'),
  [`${VERCEL}/package.json`]: manifest('@sveltejs/adapter-vercel', '6.3.4'),
  [`${VERCEL}/index.js`]: `export default () => 'made for Vercel'`,
  [`${VERCEL}/index.d.ts`]: 'export default function adapter(): string',
}
/**
 * The package that would be fetched: it needs a package that the app has in another version, and one that only the app
 * has.
 */
const FETCHED: Files = {
  'node_modules/.package-lock.json': '{}',
  'node_modules/@sveltejs/adapter-node/package.json': manifest('@sveltejs/adapter-node', '5.5.7'),
  'node_modules/@sveltejs/adapter-node/index.js': `import { needed } from 'needed'
    import { framework } from '@sveltejs/kit'
    export default (options) => \`made for Node with \${needed} and \${framework}, options \${options}\``,
  'node_modules/needed/package.json': manifest('needed', '2.0.0'),
  'node_modules/needed/index.js': `export const needed = 'its own'`,
}
const SVELTEKIT: Adapter = {
  replaces: '@sveltejs/adapter-vercel',
  by: '@sveltejs/adapter-node',
  environment: {},
  module: { package: '@sveltejs/adapter-vercel', kind: 'sveltekit', peer: '@sveltejs/kit' },
  files: null,
}
const CONFIG: Files = {
  'config.mjs': `import adapter from '@sveltejs/adapter-vercel'
    import { needed } from 'needed'
    console.log(adapter({ runtime: 'edge', isr: { expiration: 60 } }))
    console.log(\`the app has \${needed}\`)`,
  'node_modules/@sveltejs/kit/index.js': `export const framework = 'the framework of the app'`,
  'node_modules/needed/package.json': manifest('needed', '1.0.0'),
  'node_modules/needed/index.js': `export const needed = 'another'`,
}
const DIST: StaticOutput = { kind: 'static', folder: 'dist', candidates: [], singlePage: false, basePath: '' }

type Given = {
  files: Files
  adapter: Adapter
  build: string
  variables?: Record<string, string>
  rootDirectory?: string
}

/** Packages are part of the source, as if they had been installed. */
async function built(t: TestContext, { files, adapter, build, variables = {}, rootDirectory = '' }: Given) {
  const top = await temporaryFolder(t)
  const { sql, clock, newId } = await openCoreModules(t)
  const place = createWorkspace({ folder: join(top, 'work'), user, isLayered: engine.overlayMissing === undefined })
  await place.empty()
  await place.makeFolder('source')
  for (const [name, content] of Object.entries(files)) {
    await place.makeFolder(
      'source',
      ...dirname(name)
        .split('/')
        .filter((step) => step !== '.'),
    )
    await writeFile(join(place.source, name), content)
  }
  const fetched = join(top, 'fetched')
  for (const [name, content] of Object.entries(FETCHED)) {
    await mkdir(dirname(join(fetched, name)), { recursive: true })
    await writeFile(join(fetched, name), content)
  }
  const toolchains = await openToolchains({
    folder: join(top, 'tools'),
    environment: machineEnvironment(),
    isIsolating: true,
  })
  const plan: Plan = {
    framework: 'sveltekit',
    frameworkVersion: null,
    detectedBy: [],
    packageManager: { name: 'npm', version: '*', lockfile: null },
    node: '24',
    rootDirectory,
    install: null,
    build: { argv: ['sh', '-c', build] },
    adapter,
    output: { kind: 'server', folder: '.', copies: [], start: { argv: [] }, writable: [], environment: {} },
    caches: { compile: [], data: [] },
    environment: {},
  }
  const logs = createLineLogs(top)
  const log = await logs.create('build', { secrets: [], whenFull: 'stop', maxBytes: 1_000_000 })
  const cacheFolder = join(top, 'cache')
  await mkdir(cacheFolder)
  const asked: WantedAdapter[] = []
  const made = await runPlan(
    {
      engine,
      packages: createPackageStore({ sql, clock, newId, folder: join(top, 'packages') }),
      tarballs: createTarballStore({ folder: join(top, 'tarballs') }),
      deadlines: { installMs: 120_000, buildMs: 120_000 },
      limits: LIMITS,
      networks: undefined,
    },
    {
      plan,
      workspace: place,
      caches: createBuildCaches({ folder: cacheFolder, workspace: place, plan, node: '24', isClean: false, log }),
      toolchain: await toolchains.open(toolchains.own()),
      adapters: {
        async take(wanted) {
          asked.push(wanted)
          return wanted.peerVersion === '9.9.9' ? undefined : { version: '5.5.7', folder: fetched }
        },
      },
      archive: `sha256:${'0'.repeat(64)}`,
      accountId: 'account',
      environmentId: 'environment',
      isClean: false,
      variables,
      metadata: {},
      log,
      signal: new AbortController().signal,
      enter: async () => undefined,
      claim: async () => true,
      admit: async () => undefined,
      contacted: async () => undefined,
    },
  )
    .then(
      (result) => result,
      (error: unknown) => {
        assert.ok(error instanceof Problem, String(error))
        return error
      },
    )
    .finally(() => log.close())
  const text = (await logs.read('build', 0)).map(({ text }) => text).join('\n')
  const programs = join(top, 'work/adapter')
  return { made, log: text, asked, source: place.source, changes: join(top, 'work/build/changes'), programs }
}

const isMissing = (path: string) => assert.rejects(readFile(path), { code: 'ENOENT' })

test('a configuration that names the adapter of another host gets the one for Node, and no file of the app changes', async (t) => {
  const files = { ...KIT, ...CONFIG }
  const { made, log, asked, source, changes } = await built(t, { files, adapter: SVELTEKIT, build: 'node config.mjs' })
  assert.ok(!(made instanceof Problem), log)
  assert.match(log, /made for Node with its own and the framework of the app, options undefined/)
  assert.match(log, /the app has another/)
  assert.match(
    log,
    /adapter-node 5\.5\.7 is used in place of @sveltejs\/adapter-vercel, which builds for another host\./,
  )
  assert.deepEqual(asked, [{ package: '@sveltejs/adapter-node', peer: '@sveltejs/kit', peerVersion: '2.70.3' }])
  for (const [name, content] of Object.entries(files)) assert.equal(await readFile(join(source, name), 'utf8'), content)
  // Files that only the build needed are not kept with the app, and the types of the other adapter are unchanged.
  await isMissing(join(changes, 'node_modules/@sveltejs/adapter-node/index.js'))
  await isMissing(join(changes, VERCEL, 'index.d.ts'))
})

test('in a monorepo the adapter is found where packages of all apps are', async (t) => {
  const { 'config.mjs': config = '', ...packages } = { ...KIT, ...CONFIG }
  const files = { ...packages, 'apps/web/config.mjs': config }
  const given = { files, adapter: SVELTEKIT, build: 'node config.mjs', rootDirectory: 'apps/web' }
  const { log } = await built(t, given)
  assert.match(log, /made for Node with its own and the framework of the app/)
})

test("an app's own adapter for Node is used, and nothing is fetched", async (t) => {
  const own: Files = {
    'node_modules/@sveltejs/adapter-node/package.json': manifest('@sveltejs/adapter-node', '5.1.0'),
    'node_modules/@sveltejs/adapter-node/index.js': `export default () => 'made by the one of the app'`,
  }
  const { log, asked, source } = await built(t, {
    files: { ...KIT, ...CONFIG, ...own },
    adapter: SVELTEKIT,
    build: 'node config.mjs && test -e node_modules/@sveltejs/adapter-node/index.js && echo still there',
  })
  assert.match(log, /made by the one of the app/)
  assert.match(log, /still there/)
  assert.match(log, /adapter-node 5\.1\.0 is used in place of/)
  assert.deepEqual(asked, [])
  await readFile(join(source, 'node_modules/@sveltejs/adapter-node/index.js'))
})

test('a plugin of Nitro works as before, with the preset for Node', async (t) => {
  const files: Files = {
    'node_modules/nitro/package.json': manifest('nitro', '3.0.0', { exports: { './vite': './dist/vite.mjs' } }),
    'node_modules/nitro/dist/vite.mjs': `import { word } from './word.mjs'
      export const nitro = (options) => JSON.stringify({ word, ...options })
      export const other = 'as before'`,
    'node_modules/nitro/dist/word.mjs': `export const word = 'found'`,
    'config.mjs': `import { nitro, other } from 'nitro/vite'
      console.log(nitro({ preset: 'vercel', minify: true }), other, process.env.NITRO_PRESET)`,
  }
  const environment = { NITRO_PRESET: 'node-server', SERVER_PRESET: 'node-server' }
  const module = { package: 'nitro', kind: 'nitro', peer: null } as const
  const { log } = await built(t, {
    files,
    adapter: { replaces: 'vercel', by: 'node-server', environment, module, files: null },
    build: 'node config.mjs',
    // As it was configured for the other host.
    variables: { NITRO_PRESET: 'vercel' },
  })
  assert.match(log, /{"word":"found","preset":"node-server","minify":true} as before node-server/)
  assert.match(log, /The preset node-server is used in place of vercel, which builds for another host\./)
})

for (const [left, kind] of [
  ['mkdir -p dist/server && touch dist/server/entry.mjs dist/index.html', 'server'],
  ['mkdir -p dist && touch dist/index.html', 'static'],
] as const) {
  test(`a build that may need no server is served according to its output: ${kind}`, async (t) => {
    const adapter = { ...SVELTEKIT, files: { server: 'dist/server/entry.mjs', output: DIST } }
    const { made, log } = await built(t, { files: { ...KIT, ...CONFIG }, adapter, build: left })
    assert.ok(!(made instanceof Problem), log)
    assert.equal(made.plan.output.kind, kind)
  })
}

const HOSTILE: [claim: string, files: Files, message: RegExp][] = [
  ['no framework', { ...KIT, 'node_modules/@sveltejs/kit/package.json': '{}' }, /@sveltejs\/kit is not installed/],
  [
    'a framework whose version is no version',
    { ...KIT, 'node_modules/@sveltejs/kit/package.json': manifest('@sveltejs/kit', '$(id)'.repeat(5000)) },
    /@sveltejs\/kit is not installed/,
  ],
  [
    'a framework that nothing fits',
    { ...KIT, 'node_modules/@sveltejs/kit/package.json': manifest('@sveltejs/kit', '9.9.9') },
    /no version of it is for @sveltejs\/kit 9\.9\.9/,
  ],
  [
    'an adapter whose entry leads out of it',
    { ...KIT, ...CONFIG, [`${VERCEL}/package.json`]: manifest('x', '1.0.0', { exports: '../../../config.mjs' }) },
    /could not be replaced/,
  ],
  ['an adapter that is no package', { ...KIT, [`${VERCEL}/package.json`]: 'not JSON' }, /could not be replaced/],
]

for (const [claim, files, message] of HOSTILE) {
  test(`${claim} ends the build with what to do`, async (t) => {
    const { made, log } = await built(t, { files, adapter: SVELTEKIT, build: 'echo went on' })
    assert.ok(made instanceof Problem, log)
    assert.equal(made.reason, 'PLAN_FAILED')
    assert.match(made.message, message)
    assert.match(made.message, /Install @sveltejs\/adapter-node, and name it in the app's configuration\.$/)
    assert.doesNotMatch(log, /went on/)
  })
}

test('the programs of the service that run inside lie where no user of an app can put a link', async (t) => {
  const files = { ...KIT, ...CONFIG }
  const { made, log, programs } = await built(t, { files, adapter: SVELTEKIT, build: 'node config.mjs' })
  assert.ok(!(made instanceof Problem), log)
  for (const path of [programs, ...(await readdir(programs)).map((name) => join(programs, name))]) {
    const { uid, mode } = await stat(path)
    assert.deepEqual([uid, mode & 0o022], [process.getuid?.(), 0], path)
  }
})
