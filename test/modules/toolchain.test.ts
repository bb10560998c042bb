/** With the real registry, by the machine's npm: fetched programs run in the sandbox, for a tenant's user. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { type Exact, openToolchains, type Toolchain, type Wanted } from '../../src/builds/toolchain/index.ts'
import { machineEnvironment } from '../../src/config.ts'
import { runToEnd } from '../../src/engines/index.ts'
import { temporaryFolder } from '../support/folder.ts'
import { testSandbox } from '../support/machine/engine.ts'
import { TIMEOUT_MS, until } from '../support/until.ts'

const scope = { after }
const engine = await testSandbox()
assert.ok('start' in engine, 'the tests need bubblewrap')
const user = process.getuid?.() === 0 ? { uid: 210_005, gid: 210_005 } : undefined

const folder = await temporaryFolder(scope)
const openHere = () => openToolchains({ folder, environment: machineEnvironment(), isIsolating: true })
const toolchains = await openHere()

async function run({ mounts, path, environment }: Toolchain, ...argv: string[]) {
  let text = ''
  const job = { argv, cwd: '/tmp', environment: { ...environment, PATH: path, HOME: '/tmp' }, mounts, user }
  const onOutput = (_: string, chunk: Buffer) => {
    text += chunk
  }
  const { code } = await runToEnd(engine, job, onOutput, AbortSignal.timeout(TIMEOUT_MS))
  return { code, text: text.trim() }
}

async function say(toolchain: Toolchain, ...argv: string[]) {
  const { code, text } = await run(toolchain, ...argv)
  assert.equal(code, 0, text)
  return text
}

async function open(wanted: Wanted, onFetch: (what: string) => void = () => undefined) {
  const { exact } = await toolchains.resolve(wanted, { isFresh: false })
  return toolchains.open(exact, { onFetch })
}

type Case = { wanted: Wanted; node: RegExp; version: RegExp; commands: string[] }

const CASES: Case[] = [
  {
    wanted: { node: '22', packageManager: { name: 'pnpm', version: '10' } },
    node: /^v22\./,
    version: /^10\./,
    commands: ['pnpm'],
  },
  {
    wanted: { node: '24', packageManager: { name: 'yarn', version: '1' } },
    node: /^v24\./,
    version: /^1\./,
    commands: ['yarn', 'yarnpkg'],
  },
  {
    wanted: { node: '22', packageManager: { name: 'yarn', version: '4' } },
    node: /^v22\./,
    version: /^4\./,
    commands: ['yarn', 'yarnpkg'],
  },
  {
    wanted: { node: '24', packageManager: { name: 'bun', version: '1' } },
    node: /^v24\./,
    version: /^1\./,
    commands: ['bun', 'bunx'],
  },
  {
    // It is a binary, and not a script.
    wanted: { node: '20', packageManager: { name: 'pnpm', version: '12' } },
    node: /^v20\./,
    version: /^12\./,
    commands: ['pnpm'],
  },
  {
    // It needs Node 22.
    wanted: { node: '20', packageManager: { name: 'pnpm', version: '11' } },
    node: /^v20\./,
    version: /^11\./,
    commands: ['pnpm'],
  },
  {
    wanted: { node: '22', packageManager: { name: 'npm', version: '10' } },
    node: /^v22\./,
    version: /^10\./,
    commands: ['npm', 'npx'],
  },
]

/** They come with a Node, whichever package manager is beside it. */
const WITH_NPM = new Set([20, 22, 24].map((node) => CASES.findIndex(({ wanted }) => wanted.node === String(node))))

for (const [at, { wanted, node, version, commands }] of CASES.entries()) {
  const { name, version: range } = wanted.packageManager ?? {}
  test(`${name} ${range} answers beside Node ${wanted.node}${WITH_NPM.has(at) ? ', and so do npm and npx' : ''}`, async (t) => {
    const begin = performance.now()
    const fetched: string[] = []
    const toolchain = await open(wanted, (what) => fetched.push(what))
    t.diagnostic(`${fetched.join(' and ')}: ${Math.round(performance.now() - begin)} ms`)
    assert.match(await say(toolchain, 'node', '--version'), node)
    for (const command of commands) assert.match(await say(toolchain, command, '--version'), version)
    if (!WITH_NPM.has(at)) return
    for (const command of ['npm', 'npx']) assert.match(await say(toolchain, command, '--version'), /^\d+\./)
  })
}

test("a package manager starts programs on the app's Node, even if it runs on another one itself", async () => {
  const toolchain = await open({ node: '20', packageManager: { name: 'pnpm', version: '11' } })
  const script = `echo '{"scripts":{"v":"node --version"}}' > package.json && pnpm --silent run v`
  assert.match(await say(toolchain, 'sh', '-c', script), /^v20\./m)
})

test('every Node trusts what the machine trusts', async () => {
  for (const node of ['20', '22', '24']) {
    const toolchain = await open({ node, packageManager: null })
    assert.equal(await say(toolchain, 'npm', 'view', 'yarn@1.22.22', 'version', '--no-update-notifier'), '1.22.22')
  }
})

test('a toolchain is fetched only once, by this process or another', async () => {
  const before = await readdir(folder)
  const again = await openHere()
  for (const { wanted } of CASES) {
    const { exact } = await again.resolve(wanted, { isFresh: false })
    await again.open(exact, { onFetch: assert.fail })
  }
  assert.deepEqual(await readdir(folder), before)
})

test('concurrent requests for the same toolchain wait for one fetch', async (t) => {
  const own = await temporaryFolder(t)
  const tools = await openToolchains({ folder: own, environment: machineEnvironment(), isIsolating: true })
  const exact: Exact = { node: tools.own().node, packageManager: { name: 'yarn', version: '1.22.22' } }
  const watching = { isOver: false, max: 0 }
  const watched = (async () => {
    while (!watching.isOver) {
      const drafts = (await readdir(own)).filter((name) => /^yarn@.*\.new$/.test(name))
      watching.max = Math.max(watching.max, drafts.length)
      await wait(5)
    }
  })()
  await Promise.all([tools.open(exact), tools.open(exact), tools.open(exact)])
  watching.isOver = true
  await watched
  assert.equal(watching.max, 1)
})

test('a tenant can change nothing of it', async () => {
  const toolchain = await open({ node: '22', packageManager: { name: 'pnpm', version: '10' } })
  for (const attempt of [
    'echo x >> /headland/lib/node/bin/node',
    'rm -f /headland/bin/node',
    'touch /headland/bin/git',
    'echo x >> /headland/lib/pnpm/node_modules/pnpm/package.json',
    'mkdir /headland/lib/pnpm/node_modules/other',
    'chmod 777 /headland/lib/pnpm',
    'echo x >> "$(readlink -f "$(which npm)")"',
  ]) {
    const { code, text } = await run(toolchain, 'sh', '-c', attempt)
    assert.notEqual(code, 0, attempt)
    assert.match(text, /Read-only file system|Permission denied|Operation not permitted/, attempt)
  }
})

test('a build that is cancelled while it fetches leaves nothing, not even a process', async (t) => {
  const own = await temporaryFolder(t)
  const tools = await openToolchains({ folder: own, environment: machineEnvironment(), isIsolating: true })
  const leaving = new AbortController()
  const opened = tools.open(NODE_26, { signal: leaving.signal })
  await until(async () => (await npmsIn(own)) > 0)
  leaving.abort(new Error('cancelled'))
  await assert.rejects(opened, /cancelled/)
  assert.deepEqual(await readdir(own), [])
  await until(async () => (await npmsIn(own)) === 0)
})

test('a service that is killed while it fetches leaves nothing visible, and the next one sweeps', async (t) => {
  const own = await temporaryFolder(t)
  const script = `
    import { openToolchains } from ${JSON.stringify(import.meta.resolve('../../src/builds/toolchain/index.ts'))}
    const tools = await openToolchains({ folder: process.argv[1], environment: process.env, isIsolating: true })
    await tools.open(${JSON.stringify(NODE_26)})`
  const service = spawn(process.execPath, ['--input-type=module', '-e', script, own], { stdio: 'ignore' })
  const gone = once(service, 'exit')
  await until(async () => (await npmsIn(own)) > 0 && (await readdir(own)).some((name) => name.includes('26.')))
  service.kill('SIGKILL')
  await gone
  const next = await openToolchains({ folder: own, environment: machineEnvironment(), isIsolating: true })
  assert.deepEqual(await next.list(), [])
  // npm outlives the service that started it, and ends by itself.
  await until(async () => (await npmsIn(own)) === 0)
  assert.deepEqual(await next.list(), [])
  await next.sweep()
  assert.deepEqual(await readdir(own), [])
})

const NODE_26: Exact = { node: '26.10.0', packageManager: null }

/** How many processes are at work in a folder: npm hides its arguments, but not where it is. */
async function npmsIn(path: string): Promise<number> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const places = await Promise.all(pids.map((pid) => readlink(join('/proc', pid, 'cwd')).catch(() => '')))
  return places.filter((place) => place === path).length
}
