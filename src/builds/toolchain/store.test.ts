import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { lstat, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { handClock } from '../../../test/support/clock.ts'
import { temporaryFolder } from '../../../test/support/folder.ts'
import { fakeRegistry } from '../../../test/support/machine/registry.ts'
import { draftOf } from './drafts.ts'
import { managerTool } from './exact.ts'
import { createToolStore } from './store.ts'

const PNPM = managerTool('pnpm', '10.34.9', 'arm64')
const YARN = managerTool('yarn', '4.18.1', 'arm64')
const quiet = () => undefined

async function storeIn(t: TestContext) {
  const [folder, registry, clock] = [await temporaryFolder(t), fakeRegistry(), handClock()]
  const open = () => createToolStore({ folder, arch: 'arm64', registry, clock })
  return { folder, registry, clock, open, store: open(), signal: new AbortController().signal }
}

test('a tool that was fetched lies under its name, and nothing else does', async (t) => {
  const { folder, store, signal } = await storeIn(t)
  await store.take(PNPM, signal, quiet)
  await store.take(YARN, signal, quiet)
  assert.deepEqual(await readdir(folder), ['@yarnpkg+cli-dist@4.18.1', 'pnpm@10.34.9'])
  assert.match(await readFile(join(store.rootOf(YARN), 'bin/yarn.js'), 'utf8'), /cli-dist 4\.18\.1/)
})

test('a tool is readable by all users and writable by its owner only, whatever the umask of the service', async (t) => {
  const { folder, store, signal } = await storeIn(t)
  await store.take(PNPM, signal, quiet)
  const modeOf = async (path: string) => ((await lstat(join(folder, 'pnpm@10.34.9', path))).mode & 0o777).toString(8)
  assert.equal(await modeOf(''), '755')
  assert.equal(await modeOf('node_modules/pnpm'), '755')
  assert.equal(await modeOf('node_modules/pnpm/package.json'), '644')
  assert.equal(await modeOf('node_modules/pnpm/bin/pnpm.cjs'), '755')
})

test('a tool that is here is not fetched again', async (t) => {
  const { registry, store, open, signal } = await storeIn(t)
  await store.take(PNPM, signal, quiet)
  await open().take(PNPM, signal, assert.fail)
  assert.equal(registry.fetched.length, 1)
})

test('concurrent callers wait for one fetch, and all are notified', async (t) => {
  const { registry, store, signal } = await storeIn(t)
  const notified: number[] = []
  await Promise.all([1, 2, 3].map((who) => store.take(PNPM, signal, () => notified.push(who))))
  assert.equal(registry.fetched.length, 1)
  assert.deepEqual(notified.sort(), [1, 2, 3])
})

test('a tool is not visible before it is complete', async (t) => {
  const { registry, store, open, signal } = await storeIn(t)
  const seen: unknown[] = []
  registry.halfway = async () => {
    seen.push(await open().isHere(PNPM), await open().versions('pnpm'), await open().list())
  }
  await store.take(PNPM, signal, quiet)
  assert.deepEqual(seen, [false, [], []])
})

test('two processes that fetch the same do not disturb one another', async (t) => {
  const { folder, registry, open, signal } = await storeIn(t)
  await Promise.all([open().take(PNPM, signal, quiet), open().take(PNPM, signal, quiet)])
  assert.equal(registry.fetched.length, 2)
  assert.deepEqual(await readdir(folder), ['pnpm@10.34.9'])
})

/** Resolves when the fetch is in its middle, and keeps it there until it is given up. */
function stopHalfway(registry: ReturnType<typeof fakeRegistry>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  registry.halfway = async (signal) => {
    resolve()
    await once(signal, 'abort')
  }
  return promise
}

test('when the last one who waits has left, the fetch is given up and leaves nothing', async (t) => {
  const { folder, registry, store } = await storeIn(t)
  const isHalfway = stopHalfway(registry)
  const leaving = new AbortController()
  const taken = store.take(PNPM, leaving.signal, quiet)
  await isHalfway
  assert.equal((await readdir(folder)).length, 1)
  leaving.abort(new Error('cancelled'))
  await assert.rejects(taken, /cancelled/)
  assert.deepEqual(await readdir(folder), [])
})

test('when one of two who wait leaves, the other one gets the tool', async (t) => {
  const { registry, store, signal } = await storeIn(t)
  const [leaving, going] = [new AbortController(), Promise.withResolvers<void>()]
  registry.halfway = () => going.promise
  const first = store.take(PNPM, leaving.signal, quiet)
  const second = store.take(PNPM, signal, quiet)
  // Both have to be waiting.
  await new Promise((resolve) => setTimeout(resolve, 50))
  leaving.abort(new Error('cancelled'))
  await assert.rejects(first, /cancelled/)
  going.resolve()
  await second
  assert.equal(await store.isHere(PNPM), true)
})

test('a caller that comes after an aborted fetch begins a new one', async (t) => {
  const { registry, store, signal } = await storeIn(t)
  const isHalfway = stopHalfway(registry)
  const leaving = new AbortController()
  const first = store.take(PNPM, leaving.signal, quiet)
  await isHalfway
  registry.halfway = async () => undefined
  leaving.abort(new Error('cancelled'))
  await Promise.all([assert.rejects(first), store.take(PNPM, signal, quiet)])
  assert.equal(await store.isHere(PNPM), true)
})

test('a fetch that fails leaves nothing, and the next one is tried', async (t) => {
  const { folder, registry, store, signal } = await storeIn(t)
  registry.halfway = async () => assert.fail('the line broke')
  await assert.rejects(store.take(PNPM, signal, quiet), /the line broke/)
  assert.deepEqual(await readdir(folder), [])
  registry.halfway = async () => undefined
  await store.take(PNPM, signal, quiet)
})

test('another version than the one that was asked for is not kept', async (t) => {
  const { folder, registry, clock, signal } = await storeIn(t)
  const lying = { ...registry, fetch: registry.fetch.bind(undefined) }
  lying.fetch = (name, _version, ...rest) => registry.fetch(name, '10.0.0', ...rest)
  const store = createToolStore({ folder, arch: 'arm64', registry: lying, clock })
  await assert.rejects(store.take(PNPM, signal, quiet), /10\.34\.9 was asked for, and 10\.0\.0 came/)
  assert.deepEqual(await readdir(folder), [])
})

test('a command that this machine cannot run is found before it is used', async (t) => {
  const { folder, registry, store, signal } = await storeIn(t)
  registry.halfway = async () => {
    const [draft = ''] = await readdir(folder)
    await writeFile(join(folder, draft, 'node_modules/pnpm/bin/pnpm.cjs'), 'exec node pnpm.mjs\n')
  }
  await assert.rejects(store.take(PNPM, signal, quiet), /pnpm\.cjs of pnpm 10\.34\.9 cannot be run here/)
})

test('sweeping removes what dead processes left, and not what living ones are at work on', async (t) => {
  const { folder, store } = await storeIn(t)
  const child = spawn('true', { stdio: 'ignore' })
  await once(child, 'exit')
  const mine = draftOf(join(folder, 'pnpm@10.34.9'))
  await mkdir(mine)
  await mkdir(mine.replace(`.${process.pid}-`, `.${child.pid}-`))
  // The same id, in an earlier life.
  await mkdir(mine.replace(/-\d+-/, '-1-'))
  await store.sweep()
  assert.deepEqual(await readdir(folder), [mine.slice(folder.length + 1)])
})

test('what is kept is listed with its size and when it was last wanted', async (t) => {
  const { store, clock, signal } = await storeIn(t)
  await store.take(YARN, signal, quiet)
  await clock.advance(1000)
  await store.take(YARN, signal, quiet)
  const [kept] = await store.list()
  assert.deepEqual([kept?.package, kept?.version, kept?.usedAt], ['@yarnpkg/cli-dist', '4.18.1', clock.now()])
  assert.ok((kept?.bytes ?? 0) > 100)
})

test('a tool is removed as a whole, unless it was used since it was listed', async (t) => {
  const { folder, store, clock, signal } = await storeIn(t)
  await store.take(PNPM, signal, quiet)
  const [kept] = await store.list()
  assert.ok(kept)
  await clock.advance(1000)
  await store.take(PNPM, signal, quiet)
  assert.equal(await store.remove(kept), false)
  const [again] = await store.list()
  assert.ok(again)
  assert.equal(await store.remove(again), true)
  assert.deepEqual(await readdir(folder), [])
})
