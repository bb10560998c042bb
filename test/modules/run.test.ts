import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Install, Plan, ServerOutput, StaticOutput } from '../../src/builds/plan/plan.ts'
import { createBuildCaches } from '../../src/builds/run/caches.ts'
import { createPackageStore } from '../../src/builds/run/packages.ts'
import { type Deadlines, type Run, runPlan } from '../../src/builds/run/run.ts'
import { createTarballStore } from '../../src/builds/run/tarballs.ts'
import { createWorkspace } from '../../src/builds/run/workspace.ts'
import { openToolchains } from '../../src/builds/toolchain/index.ts'
import { machineEnvironment } from '../../src/config.ts'
import { Problem } from '../../src/contract/index.ts'
import type { Limits } from '../../src/engines/index.ts'
import { createLineLogs } from '../../src/storage/index.ts'
import { temporaryFolder } from '../support/folder.ts'
import { LIMITS, testSandbox } from '../support/machine/engine.ts'
import { openCoreModules } from '../support/modules/core.ts'
import { until } from '../support/until.ts'

const engine = await testSandbox()

const user = process.getuid?.() === 0 ? { uid: 210_004, gid: 210_004 } : undefined

const FILES: StaticOutput = { kind: 'static', folder: 'dist', candidates: [], singlePage: false, basePath: '' }
const SERVER: ServerOutput = {
  kind: 'server',
  folder: '.',
  copies: [],
  start: { argv: [] },
  writable: [],
  environment: {},
}

const planOf = (more: Partial<Plan>): Plan => ({
  framework: 'unknown',
  frameworkVersion: null,
  detectedBy: [],
  packageManager: { name: 'npm', version: '*', lockfile: null },
  node: '24',
  rootDirectory: '',
  install: null,
  build: null,
  output: SERVER,
  caches: { compile: [], data: [] },
  // No test may need a registry.
  environment: { npm_config_offline: 'true' },
  ...more,
})

const script = (text: string) => ({ argv: ['sh', '-c', text] })
/** Sees the whole source, like an install that runs scripts of the app. */
const installing = (command: { argv: string[] }): Install => ({ ...command, folder: '', inputs: null })

type Given = {
  files?: Record<string, string>
  deadlines?: Partial<Deadlines>
  secrets?: string[]
  limits?: Partial<Limits>
} & Partial<Run>

/** An unpacked archive with everything that a build needs. */
async function workOf(
  t: TestContext,
  plan: Partial<Plan>,
  { files = {}, deadlines = {}, secrets = [], limits = {}, ...more }: Given = {},
) {
  const top = await temporaryFolder(t)
  const { sql, clock, newId } = await openCoreModules(t)
  const place = createWorkspace({ folder: join(top, 'work'), user, isLayered: engine.overlayMissing === undefined })
  await place.empty()
  await place.makeFolder('source')
  for (const [name, content] of Object.entries(files)) {
    if (dirname(name) !== '.') await place.makeFolder('source', ...dirname(name).split('/'))
    await writeFile(join(place.source, name), content)
  }
  const toolchains = await openToolchains({
    folder: join(top, 'tools'),
    environment: machineEnvironment(),
    isIsolating: true,
  })
  const toolchain = await toolchains.open(toolchains.own())
  const logs = createLineLogs(top)
  const log = await logs.create('build', { secrets, whenFull: 'stop', maxBytes: 1_000_000 })
  const phases: string[] = []
  const whole = planOf(plan)
  const cacheFolder = join(top, 'cache')
  await mkdir(cacheFolder)
  const run: Run = {
    plan: whole,
    workspace: place,
    caches: createBuildCaches({ folder: cacheFolder, workspace: place, plan: whole, node: '24', isClean: false, log }),
    toolchain,
    adapters: toolchains.adapters,
    archive: `sha256:${'0'.repeat(64)}`,
    accountId: 'account',
    environmentId: 'environment',
    isClean: false,
    variables: {},
    metadata: {},
    log,
    signal: new AbortController().signal,
    enter: async (phase) => void phases.push(phase),
    claim: async () => true,
    admit: async () => undefined,
    contacted: async () => undefined,
    ...more,
  }
  const packages = createPackageStore({ sql, clock, newId, folder: join(top, 'packages') })
  const tarballs = createTarballStore({ folder: join(top, 'tarballs') })
  const all: Deadlines = { installMs: 60_000, buildMs: 60_000, ...deadlines }
  return {
    source: place.source,
    phases,
    /** Runs the build to its end, with the log in the file. Resolves to the folder of the output. */
    run: async () => {
      const made = await runPlan(
        { engine, packages, tarballs, deadlines: all, limits: { ...LIMITS, ...limits }, networks: undefined },
        run,
      ).finally(() => log.close())
      return made.output.files
    },
    log: async () => (await logs.read('build', 0)).map(({ text }) => text).join('\n'),
  }
}

const failsWith = (reason: string, message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof Problem, String(error))
  assert.equal(error.reason, reason)
  assert.match(error.message, message)
  return true
}

test('install and build are run in that order, and the output is found', async (t) => {
  const work = await workOf(t, {
    install: installing(script('echo installed > step')),
    build: script('cp step dist-step && mkdir dist && mv dist-step dist/index.html'),
    output: FILES,
  })
  const output = await work.run()
  assert.deepEqual(work.phases, ['INSTALLING', 'BUILDING'])
  assert.equal(await readFile(join(output, 'index.html'), 'utf8'), 'installed\n')
})

test('a plan with nothing to do has its output where it was unpacked', async (t) => {
  const work = await workOf(t, { output: { ...FILES, folder: 'public' } }, { files: { 'public/index.html': '<h1>' } })
  assert.equal(await work.run(), join(work.source, 'public'))
  assert.deepEqual(work.phases, [])
})

test('install and build see the variables, which override defaults, and HOME is set by the service', async (t) => {
  const notify = script('echo "$GREETING $CI $HUSKY $HOME"')
  const variables = { GREETING: 'hello', CI: '0', HOME: '/' }
  const work = await workOf(t, { install: installing(notify), build: notify }, { variables })
  await work.run()
  assert.equal((await work.log()).match(/^hello 0 0 \/tmp$/gm)?.length, 2)
})

test('npm runs the scripts of an app with the variables and CI=1, without a registry', async (t) => {
  const packageJson = {
    scripts: { preinstall: 'echo "$GREETING $CI" > seen', build: 'cat seen; echo "$GREETING $CI"' },
  }
  const work = await workOf(
    t,
    {
      install: installing({ argv: ['npm', 'install'] }),
      build: { argv: ['npm', 'run', 'build'] },
      packageManager: { name: 'npm', version: '*', lockfile: null },
    },
    { files: { 'package.json': JSON.stringify(packageJson) }, variables: { GREETING: 'hello' } },
  )
  await work.run()
  assert.equal((await work.log()).match(/^hello 1$/gm)?.length, 2)
})

test('values of variables are never in the log, however the build writes them', async (t) => {
  const secret = 'not-for-your-eyes'
  const build = script(
    'echo "$TOKEN"; printf %s "$TOKEN" | head -c 7; sleep 0.1; printf %s "$TOKEN" | tail -c +8; env >&2',
  )
  const work = await workOf(t, { build }, { variables: { TOKEN: secret }, secrets: [secret] })
  await work.run()
  const log = await work.log()
  assert.doesNotMatch(log, /for-your/)
  assert.equal(log.match(/\[secret\]/g)?.length, 3)
})

test('an install whose lockfile does not match is LOCKFILE_MISMATCH', async (t) => {
  const packageJson = { name: 'x', version: '1.0.0', dependencies: { local: 'file:./local' } }
  const lockfile = {
    ...{ name: 'x', version: '1.0.0', lockfileVersion: 3, requires: true },
    packages: { '': { name: 'x', version: '1.0.0' } },
  }
  const work = await workOf(
    t,
    { install: installing({ argv: ['npm', 'ci'] }) },
    {
      files: {
        'package.json': JSON.stringify(packageJson),
        'package-lock.json': JSON.stringify(lockfile),
        'local/package.json': JSON.stringify({ name: 'local', version: '1.0.0' }),
      },
    },
  )
  await assert.rejects(work.run(), failsWith('LOCKFILE_MISMATCH', /package-lock\.json/))
})

test('an install that fails otherwise is INSTALL_FAILED, and nothing is built', async (t) => {
  const work = await workOf(t, {
    install: installing(script('echo no such package >&2; exit 3')),
    build: script('echo built'),
  })
  await assert.rejects(work.run(), failsWith('INSTALL_FAILED', /exit code 3/))
  assert.deepEqual(work.phases, ['INSTALLING'])
})

test('a build that fails is BUILD_SCRIPT_FAILED with its exit code', async (t) => {
  const work = await workOf(t, { build: script('exit 5') })
  await assert.rejects(work.run(), failsWith('BUILD_SCRIPT_FAILED', /ended with exit code 5\.$/))
})

test('an install without a lockfile says that the versions are chosen now', async (t) => {
  const work = await workOf(t, {
    install: installing(script('true')),
    packageManager: { name: 'npm', version: '*', lockfile: null },
  })
  await work.run()
  assert.match(await work.log(), /There is no lockfile: the package manager chooses the versions now/)
})

/** Ignores SIGTERM, and has a child in a session of its own that ignores it too. */
const stubborn = (mark: string) =>
  script(
    `trap '' TERM; setsid sh -c 'trap "" TERM; while :; do sleep 1; done' ${mark} & echo up; while :; do sleep 1; done`,
  )

async function leavesNothing(mark: string) {
  await until(async () => (await processesNaming(mark)).length === 0, 'no process of the build is left')
}

async function processesNaming(mark: string): Promise<string[]> {
  const found: string[] = []
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
    if (command.includes(mark)) found.push(command)
  }
  return found
}

for (const [phase, what] of [
  ['INSTALLING', 'install'],
  ['BUILDING', 'build'],
] as const) {
  test(`${what} has a deadline, after which its whole process tree is gone`, async (t) => {
    const mark = randomUUID()
    const work = await workOf(t, { [what]: installing(stubborn(mark)) }, { deadlines: { [`${what}Ms`]: 600 } })
    await assert.rejects(work.run(), (error) => {
      failsWith('BUILD_TIMEOUT', /longer than 1 s/)(error)
      assert.equal((error as Problem).metadata.phase, phase)
      return true
    })
    await leavesNothing(mark)
  })
}

test('a build that is cancelled ends with the reason, and its whole process tree is gone', async (t) => {
  const [mark, cancelling] = [randomUUID(), new AbortController()]
  const work = await workOf(t, { build: stubborn(mark) }, { signal: cancelling.signal })
  const ended = assert.rejects(work.run(), /never mind/)
  await until(async () => (await processesNaming(mark)).length > 0)
  cancelling.abort(new Error('never mind'))
  await ended
  await leavesNothing(mark)
})

test('a build that leaves nothing where its output should be is NO_OUTPUT', async (t) => {
  const work = await workOf(t, { build: script('mkdir dist'), output: FILES })
  await assert.rejects(work.run(), failsWith('NO_OUTPUT', /left nothing in dist\.$/))
})

test('where no framework says where the output is, the first folder with an index.html is taken', async (t) => {
  const build = script('mkdir dist build out; touch dist/x build/index.html out/index.html')
  const work = await workOf(t, { build, output: { ...FILES, candidates: ['build', 'out'] } })
  assert.deepEqual(await readdir(await work.run()), ['index.html'])
  assert.match(await work.log(), /The output is in build\./)
})

test('a server without the folder that it is in is NO_OUTPUT, also when something is copied into it', async (t) => {
  const output = { ...SERVER, folder: 'out/server', copies: [{ from: 'public', to: 'out/server/public' }] }
  const work = await workOf(t, { build: script('true'), output }, { files: { 'public/a': '' } })
  await assert.rejects(work.run(), failsWith('NO_OUTPUT', /left nothing in out\/server\.$/))
})

test('files that are also needed elsewhere are copied there, and missing ones are left out', async (t) => {
  const copies = [
    { from: 'public', to: 'out/server/public' },
    { from: 'static', to: 'out/server/.next/static' },
    { from: 'missing', to: 'out/server/missing' },
  ]
  const build = script('mkdir -p out/server/public static; touch out/server/public/b static/c')
  const work = await workOf(
    t,
    { build, output: { ...SERVER, folder: 'out/server', copies } },
    { files: { 'public/a': '' } },
  )
  const output = await work.run()
  assert.deepEqual((await readdir(join(output, 'public'))).toSorted(), ['a', 'b'])
  assert.deepEqual(await readdir(join(output, '.next/static')), ['c'])
  assert.deepEqual((await readdir(output)).toSorted(), ['.next', 'public'])
})

test('a folder that the app writes to is there and belongs to its user', async (t) => {
  const work = await workOf(t, { build: script('true'), output: { ...SERVER, writable: ['.next/cache'] } })
  const found = await stat(join(await work.run(), '.next/cache'))
  assert.deepEqual([found.isDirectory(), found.uid], [true, user?.uid ?? process.getuid?.()])
})

test('the root directory is where everything is run and found', async (t) => {
  const work = await workOf(
    t,
    { build: script('pwd; mkdir dist; touch dist/index.html'), output: FILES, rootDirectory: 'apps/web' },
    { files: { 'apps/web/x': '' } },
  )
  assert.deepEqual(await readdir(await work.run()), ['index.html'])
  assert.match(await work.log(), /^\/app\/apps\/web$/m)
})

test('an output that is a link to another folder of the app is that folder', async (t) => {
  const work = await workOf(t, { build: script('mkdir real; touch real/index.html; ln -s real dist'), output: FILES })
  assert.deepEqual(await readdir(await work.run()), ['index.html'])
})

const ELSEWHERE: [what: string, build: string, output: Plan['output']][] = [
  ['a link', 'ln -s "$TARGET" dist', FILES],
  ['a link in the way', 'ln -s "$TARGET" out', { ...FILES, folder: 'out/inner' }],
  ['a server behind a link', 'ln -s "$TARGET" server', { ...SERVER, folder: 'server' }],
]

for (const [what, build, output] of ELSEWHERE) {
  test(`${what} that leads out of the app's own folder is no output`, async (t) => {
    const target = await temporaryFolder(t)
    await mkdir(join(target, 'inner'))
    await writeFile(join(target, 'inner/index.html'), 'of another user')
    const work = await workOf(t, { build: script(build), output }, { variables: { TARGET: target } })
    await assert.rejects(work.run(), failsWith('NO_OUTPUT', /left nothing in/))
    assert.equal(await readFile(join(target, 'inner/index.html'), 'utf8'), 'of another user')
  })
}

test('nothing is copied or created through a link that the build made', async (t) => {
  const target = await temporaryFolder(t)
  const output = {
    ...SERVER,
    folder: 'server',
    copies: [{ from: 'public', to: 'server/way/public' }],
    writable: ['way/cache'],
  }
  const build = script('mkdir -p public server; touch public/mine; ln -s "$TARGET" server/way')
  const work = await workOf(t, { build, output }, { variables: { TARGET: target } })
  await assert.rejects(work.run(), failsWith('NO_OUTPUT', /could not be put in place/))
  assert.deepEqual(await readdir(target), [])
})

/** Sees the files that determine the packages, and nothing else. */
const installingFrom = (inputs: string[], text: string): Install => ({ ...script(text), folder: '', inputs })

test('an install sees the files that decide it, and nothing else of the app', async (t) => {
  const install = installingFrom(['package-lock.json', 'package.json'], 'echo "sees $(ls -A | tr "\\n" " ")"')
  const files = { 'package.json': '{}', 'package-lock.json': '{}', 'secret.env': 'x', 'src/index.js': 'x' }
  const work = await workOf(t, { install }, { files })
  await work.run()
  assert.match(await work.log(), /^sees package-lock\.json package\.json $/m)
})

test('an install of other people’s packages sees no variable of the tenant but those that settings name', async (t) => {
  const install = installingFrom(['.npmrc', 'package-lock.json'], 'echo "$TOKEN,$npm_config_loglevel,$CMS_KEY."')
  // biome-ignore lint/suspicious/noTemplateCurlyInString: that is how npm writes it
  const files = { '.npmrc': '//registry.example.com/:_authToken=${TOKEN}', 'package-lock.json': '{}' }
  const variables = { TOKEN: 'a-token', npm_config_loglevel: 'warn', CMS_KEY: 'a-key' }
  const work = await workOf(t, { install }, { files, variables })
  await work.run()
  assert.match(await work.log(), /^a-token,warn,\.$/m)
})

test('the output of an install is layered over the source, and the build finds both', async (t) => {
  const install = installingFrom(['package-lock.json'], 'mkdir node_modules; echo package > node_modules/x')
  const build = script('mkdir dist; cat node_modules/x source > dist/index.html')
  const files = { 'package-lock.json': '{}', source: 'source\n' }
  const work = await workOf(t, { install, build, output: FILES }, { files })
  assert.equal(await readFile(join(await work.run(), 'index.html'), 'utf8'), 'package\nsource\n')
})

test('a build that takes more memory than it may is OUT_OF_MEMORY', async (t) => {
  const build = { argv: ['node', '-e', 'const a = []; for (;;) a.push(Buffer.alloc(1e7, 1))'] }
  const work = await workOf(t, { build }, { limits: { memoryBytes: 200e6 } })
  await assert.rejects(work.run(), failsWith('OUT_OF_MEMORY', /memory/))
})

test('a build that forks without end is TOO_MANY_PROCESSES', async (t) => {
  const work = await workOf(
    t,
    { build: script('bomb() { bomb | bomb & }; bomb; sleep 60') },
    { limits: { processes: 64 } },
  )
  await assert.rejects(work.run(), failsWith('TOO_MANY_PROCESSES', /more than 64/))
})

test('a build that fills the disk is DISK_LIMIT', async (t) => {
  const build = script('i=0; while :; do i=$((i+1)); head -c 10000000 /dev/zero > file-$i; done')
  const work = await workOf(t, { build }, { limits: { diskBytes: 200 * 1024 ** 2 } })
  await assert.rejects(work.run(), failsWith('DISK_LIMIT', /more than 200 MB/))
})

test('a build that makes empty files without end is DISK_LIMIT', async (t) => {
  const build = script('i=0; while :; do i=$((i+1)); mkdir d$i; seq -f "d$i/%.0f" 1000 | xargs touch; done')
  const work = await workOf(t, { build }, { limits: { diskFiles: 20_000 } })
  await assert.rejects(work.run(), failsWith('DISK_LIMIT', /more than 20,000 files and folders/))
})
