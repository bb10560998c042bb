import assert from 'node:assert/strict'
import { readdir, readlink, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { handClock } from '../../../test/support/clock.ts'
import { temporaryFolder } from '../../../test/support/folder.ts'
import { testPlain } from '../../../test/support/machine/engine.ts'
import { fakeRegistry } from '../../../test/support/machine/registry.ts'
import { TIMEOUT_MS } from '../../../test/support/until.ts'
import { machineEnvironment } from '../../config.ts'
import { Problem } from '../../contract/index.ts'
import { runToEnd } from '../../engines/index.ts'
import { type Exact, isUsableBy, openToolchains, type Parts, type Toolchain } from './index.ts'

const OWN = process.version.slice(1)
const NODE = `node-linux-${process.arch}`
const PNPM: Exact = { node: OWN, packageManager: { name: 'pnpm', version: '10.34.9' } }

async function toolchainsIn(t: TestContext, { isIsolating = false, ...more }: Partial<Parts> = {}) {
  const [folder, registry, clock] = [await temporaryFolder(t), fakeRegistry({ pnpm: { versions: [] } }), handClock()]
  const parts: Parts = { folder, environment: machineEnvironment(), isIsolating, clock, registry, ...more }
  return { folder, registry, clock, toolchains: await openToolchains(parts) }
}

const binOf = ({ mounts }: Toolchain) => mounts.find(({ to }) => to === '/headland/bin')?.from ?? ''

/** Without a sandbox, with what the toolchain says and nothing else. */
async function say(toolchain: Toolchain, ...argv: string[]) {
  const { mounts, path, environment } = toolchain
  let text = ''
  const job = { argv, cwd: '/', environment: { ...environment, PATH: path }, mounts, user: undefined }
  const exit = await runToEnd(testPlain(), job, (_, chunk) => (text = text + chunk), AbortSignal.timeout(TIMEOUT_MS))
  assert.equal(exit.code, 0, text)
  return text.trim()
}

test("the service's own Node and the machine's npm need no registry", async (t) => {
  const { toolchains, registry } = await toolchainsIn(t)
  const toolchain = await toolchains.open(toolchains.own())
  assert.equal(await say(toolchain, 'node', '--version'), process.version)
  assert.match(await say(toolchain, 'npm', '--version'), /^\d+\.\d+\.\d+$/)
  assert.match(await say(toolchain, 'npx', '--version'), /^\d+\.\d+\.\d+$/)
  assert.deepEqual([registry.asked, registry.fetched], [[], []])
})

test('a package manager is there beside npm, under all of its names', async (t) => {
  const { toolchains } = await toolchainsIn(t)
  const toolchain = await toolchains.open(PNPM)
  assert.deepEqual(await readdir(binOf(toolchain)), ['node', 'npm', 'npx', 'pnpm', 'pnpx'])
  assert.equal(await say(toolchain, 'pnpm'), `pnpm 10.34.9 on ${process.version}`)
})

test("an npm of another version takes the place of the machine's", async (t) => {
  const { toolchains } = await toolchainsIn(t)
  const toolchain = await toolchains.open({ node: OWN, packageManager: { name: 'npm', version: '9.0.0' } })
  assert.equal(await say(toolchain, 'npm'), `npm 9.0.0 on ${process.version}`)
})

test("the machine's npm is not fetched when it is asked for by its number", async (t) => {
  const { toolchains, registry } = await toolchainsIn(t)
  const { exact } = await toolchains.resolve(
    { node: '*', packageManager: { name: 'npm', version: '*' } },
    { isFresh: false },
  )
  assert.deepEqual((await toolchains.open(exact)).packageManager, exact.packageManager)
  assert.deepEqual(registry.fetched, [])
})

test('inside a sandbox commands lead to where packages are mounted, read-only', async (t) => {
  const { folder, toolchains } = await toolchainsIn(t, { isIsolating: true })
  const toolchain = await toolchains.open(PNPM)
  assert.equal(await readlink(join(binOf(toolchain), 'node')), '/headland/lib/node/bin/node')
  assert.equal(await readlink(join(binOf(toolchain), 'pnpm')), '/headland/lib/pnpm/node_modules/pnpm/bin/pnpm.cjs')
  assert.deepEqual(
    toolchain.mounts.find(({ to }) => to === '/headland/lib/pnpm'),
    { from: join(folder, 'pnpm@10.34.9'), to: '/headland/lib/pnpm', isWritable: false },
  )
  assert.ok(toolchain.mounts.every(({ isWritable }) => !isWritable))
})

test('what is opened again is fetched once and seen in the same folder', async (t) => {
  const { toolchains, registry } = await toolchainsIn(t)
  const [first, second] = await Promise.all([toolchains.open(PNPM), toolchains.open(PNPM)])
  assert.deepEqual(first, second)
  assert.deepEqual(first, await toolchains.open(PNPM))
  assert.equal(registry.fetched.length, 1)
})

test('the caller is notified of what is fetched', async (t) => {
  const { toolchains } = await toolchainsIn(t)
  const fetched: string[] = []
  const exact: Exact = { node: '22.0.0', packageManager: { name: 'yarn', version: '1.22.22' } }
  await toolchains.open(exact, { onFetch: (what) => fetched.push(what) })
  assert.deepEqual(fetched.sort(), ['Node 22.0.0', 'Yarn 1.22.22'])
})

/** An app on an older Node, which is the service's own under another number. */
async function onOlderNode(t: TestContext, needs: string) {
  const older = '20.0.0'
  const registry = fakeRegistry({ pnpm: { versions: [], node: needs } })
  const fetch = registry.fetch.bind(registry)
  registry.fetch = async (name, version, folder, signal) => {
    await fetch(name, version, folder, signal)
    if (name !== NODE) return
    await rm(join(folder, 'node_modules', NODE, 'bin/node'))
    await symlink(process.execPath, join(folder, 'node_modules', NODE, 'bin/node'))
  }
  const { toolchains } = await toolchainsIn(t, { registry })
  return toolchains.open({ node: older, packageManager: { name: 'pnpm', version: '11.0.0' } })
}

test("a package manager runs on the app's Node when that will do", async (t) => {
  const toolchain = await onOlderNode(t, '>=18')
  assert.match(await readlink(join(binOf(toolchain), 'pnpm')), /pnpm@11\.0\.0\/node_modules\/pnpm\/bin\/pnpm\.cjs$/)
})

test("a package manager that needs a newer Node than the app has runs on the service's", async (t) => {
  const toolchain = await onOlderNode(t, '>=22.13')
  assert.ok(toolchain.mounts.some(({ from, to }) => from === process.execPath && to.includes('service-node')))
  assert.equal(await say(toolchain, 'pnpm'), `pnpm 11.0.0 on ${process.version}`)
})

test('a Node that does not know the certificates of the machine is shown where they are', async (t) => {
  const { toolchains } = await toolchainsIn(t)
  const variablesOn = async (node: string) => (await toolchains.open({ node, packageManager: null })).environment
  assert.match((await variablesOn('20.20.2')).NODE_EXTRA_CA_CERTS ?? '', /^\/etc\//)
  assert.match((await variablesOn('22.18.0')).NODE_EXTRA_CA_CERTS ?? '', /^\/etc\//)
  assert.deepEqual(await variablesOn('22.19.0'), { NODE_USE_SYSTEM_CA: '1' })
})

test('a failed fetch is a fault of the service, and the message of npm is not shown', async (t) => {
  const { toolchains, registry } = await toolchainsIn(t)
  registry.fault = new Error('http://user:password@registry.internal does not answer')
  await assert.rejects(toolchains.open(PNPM), (error) => {
    assert.ok(error instanceof Problem)
    assert.equal(error.reason, 'TOOL_NOT_AVAILABLE')
    assert.match(error.message, /^pnpm 10\.34\.9 could not be fetched/)
    assert.doesNotMatch(error.message, /password/)
    return true
  })
})

test('a caller that aborts gets its own reason', async (t) => {
  const { toolchains, registry } = await toolchainsIn(t)
  const leaving = new AbortController()
  registry.halfway = async () => leaving.abort(new Error('cancelled'))
  await assert.rejects(toolchains.open(PNPM, { signal: leaving.signal }), /^Error: cancelled$/)
})

test('an app starts with something of the same major version, when what it was built with is gone', async (t) => {
  const { toolchains, registry } = await toolchainsIn(t)
  await toolchains.open(PNPM)
  registry.fault = new Error('there is no network')
  const [major] = OWN.split('.')
  const built: Exact = { node: `${major}.0.0`, packageManager: { name: 'pnpm', version: '10.1.0' } }
  const { node, packageManager } = await toolchains.open(built, { mayStandIn: true })
  assert.deepEqual({ node, packageManager }, PNPM)
  await assert.rejects(toolchains.open(built), Problem)
})

test('an app starts with any npm', async (t) => {
  const { toolchains, registry } = await toolchainsIn(t)
  registry.fault = new Error('there is no network')
  const built: Exact = { node: OWN, packageManager: { name: 'npm', version: '3.0.0' } }
  const { packageManager } = await toolchains.open(built, { mayStandIn: true })
  assert.equal(packageManager?.name, 'npm')
})

test('something of another major version does not stand in', async (t) => {
  const { toolchains, registry } = await toolchainsIn(t)
  await toolchains.open(PNPM)
  registry.fault = new Error('there is no network')
  const built: Exact = { node: OWN, packageManager: { name: 'pnpm', version: '9.0.0' } }
  await assert.rejects(toolchains.open(built, { mayStandIn: true }), /pnpm 9\.0\.0 could not be fetched/)
})

test('what is no exact version never becomes a path', async (t) => {
  const { toolchains } = await toolchainsIn(t)
  for (const node of ['../../etc', '22', 'v22.0.0', '']) {
    await assert.rejects(toolchains.open({ node, packageManager: null }), /is not an exact version/)
  }
})

test('collecting removes tools that are not kept and were not used for a day', async (t) => {
  const { toolchains, clock } = await toolchainsIn(t)
  await toolchains.open(PNPM)
  await toolchains.open({ node: OWN, packageManager: { name: 'yarn', version: '1.22.22' } })
  assert.deepEqual(await toolchains.collect([]), [])
  await clock.advance(25 * 60 * 60_000)
  assert.deepEqual(
    (await toolchains.collect([PNPM])).map(({ package: name }) => name),
    ['yarn'],
  )
  assert.deepEqual(
    (await toolchains.list()).map(({ package: name }) => name),
    ['pnpm'],
  )
})

test('a machine without npm is reported at the start', async (t) => {
  const folder = await temporaryFolder(t)
  await assert.rejects(
    openToolchains({ folder, environment: { PATH: folder }, isIsolating: false }),
    /npm was not found in PATH/,
  )
})

test('a toolchain is tried by the user who is to use it', async (t) => {
  const { toolchains } = await toolchainsIn(t)
  const toolchain = await toolchains.open(toolchains.own())
  assert.equal(await isUsableBy(undefined, toolchain, testPlain()), true)
  assert.equal(await isUsableBy(undefined, { ...toolchain, mounts: [] }, testPlain()), false)
})
