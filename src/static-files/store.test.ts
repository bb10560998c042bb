/** The files of sites on a real disk; what a registry would give is written by the test. */
import assert from 'node:assert/strict'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { temporaryFolder } from '../../test/support/folder.ts'
import { until } from '../../test/support/until.ts'
import { createLog, systemClock } from '../base/index.ts'
import { createOutputs } from '../builds/index.ts'
import { lookUpOnce } from '../edge/index.ts'
import { RegistryRefused } from '../images/index.ts'
import type { Digest } from '../storage/index.ts'
import { createSiteStore } from './store.ts'

const digestOf = (letter: string): Digest => `sha256:${letter.repeat(64)}`
const outputOf = (letter: string, app = 'app') => ({
  digest: digestOf(letter),
  image: `registry/${app}@${digestOf('f')}`,
})
const KIB = 1024

type Options = { folder?: string; maxBytes?: number; unusedMs?: number; now?(): number }

async function open(t: TestContext, { folder: given, maxBytes = 1e9, unusedMs = 0, now = Date.now }: Options = {}) {
  const folder = given ?? (await temporaryFolder(t))
  const pulled: string[] = []
  const scripts = new Map<string, string[]>()
  const gone = new Set<string>()
  let before = async () => undefined as unknown
  const images = {
    async pull(image: string, files: string) {
      pulled.push(image)
      await mkdir(files)
      await writeFile(join(files, 'index.html'), 'x'.repeat(100 * KIB))
      for (const name of scripts.get(image) ?? []) {
        await mkdir(join(files, 'assets'), { recursive: true })
        await writeFile(join(files, 'assets', name), `content of ${name}`)
      }
      await before()
      if (gone.has(image)) throw new RegistryRefused('it is not there', 404)
      return { bytes: 1, singlePage: false, basePath: '', rules: undefined }
    },
    sweep: async () => undefined,
  }
  const limits = { files: 1000, bytes: 1e9 }
  const outputs = createOutputs({ folder, limits })
  const clock = { ...systemClock, now }
  const store = createSiteStore({ clock, log: createLog('silent'), outputs, images, maxBytes, unusedMs })
  await store.open()
  t.after(store.stop)
  return {
    ...store,
    folder,
    pulled,
    /** Scripts in the assets of an image. */
    scripts,
    /** Images that the registry does not have. */
    gone,
    letters: async () => [...new Set((await readdir(folder)).map(([first]) => first))].toSorted().join(''),
    /** Runs while a pull is under way. */
    during(step: () => Promise<unknown>) {
      before = step
    },
  }
}

test('files are got once, and found with their manifest', async (t) => {
  const { ensure, pulled } = await open(t)
  const [one, two] = await Promise.all([ensure(outputOf('a')), ensure(outputOf('a'))])
  assert.deepEqual(one, two)
  assert.equal((await readFile(join(one.folder, 'index.html'))).length, 100 * KIB)
  assert.ok((await readFile(one.manifest)).length > 0)
  await ensure(outputOf('a'))
  assert.equal(pulled.length, 1)
})

test('a pull that fails leaves nothing, and the next one begins anew', async (t) => {
  const { ensure, during, folder, pulled } = await open(t)
  during(() => Promise.reject(new Error('cut off')))
  await assert.rejects(ensure(outputOf('a')), /cut off/)
  assert.deepEqual(await readdir(folder), [])
  during(async () => undefined)
  await ensure(outputOf('a'))
  assert.equal(pulled.length, 2)
})

test('no more than four are got at a time, and of one app no more than two', async (t) => {
  const { ensure, during, pulled } = await open(t)
  const goOn = Promise.withResolvers<void>()
  during(() => goOn.promise)
  const letters = [...'abcdef']
  const asked = letters.map((letter, at) => ensure(outputOf(letter, at < 3 ? 'busy' : `app-${letter}`)))
  await until(() => pulled.length >= 4)
  assert.equal(pulled.length, 4)
  assert.equal(pulled.filter((image) => image.includes('busy')).length, 2)
  goOn.resolve()
  await Promise.all(asked)
  assert.equal(pulled.length, 6)
})

test('a new process finds what is on the disk, and removes what was not complete', async (t) => {
  const first = await open(t)
  await first.ensure(outputOf('a'))
  await mkdir(join(first.folder, `${'b'.repeat(64)}.draft.new`))
  const next = await open(t, { folder: first.folder })
  assert.equal(await next.letters(), 'a')
  await next.ensure(outputOf('a'))
  assert.deepEqual(next.pulled, [])
  await until(() => next.bytes() > 100 * KIB)
})

test('above the limit, the least recently used go first, and those in use stay', async (t) => {
  let now = Date.now()
  const store = await open(t, { maxBytes: 250 * KIB, now: () => now })
  for (const letter of 'abc') {
    store.use(digestOf(letter))
    await store.ensure(outputOf(letter))
    now += 1000
  }
  await store.tidy()
  assert.equal(await store.letters(), 'abc')
  store.release(digestOf('a'))
  now += 1000
  store.release(digestOf('b'))
  now += 1000
  await store.tidy()
  assert.equal(await store.letters(), 'bc')
  store.release(digestOf('c'))
  now += 1000
  await store.tidy()
  assert.equal(await store.letters(), 'bc')
})

test('what was used a moment ago stays, also above the limit', async (t) => {
  let now = Date.now()
  const store = await open(t, { maxBytes: 1, unusedMs: 60_000, now: () => now })
  await store.ensure(outputOf('a'))
  store.use(digestOf('a'))
  store.release(digestOf('a'))
  await store.tidy()
  assert.equal(await store.letters(), 'a')
  now += 61_000
  await store.tidy()
  assert.equal(await store.letters(), '')
})

test('a name that is no digest is refused', async (t) => {
  const { ensure, use } = await open(t)
  const digest = 'sha256:../../etc'
  await assert.rejects(ensure({ digest, image: 'registry/app@x' }))
  assert.throws(() => use(digest))
})

const siteOf = (letter: string) => ({ digest: digestOf(letter), image: `registry/app@${digestOf(letter)}` })
const indexOf = (live: string, earlier: string, mayFetch = true) => ({
  digest: digestOf('e'),
  live: siteOf(live),
  outputs: [...earlier].map(siteOf),
  mayFetch,
})
const isIn = async (index: string | null, address: string) =>
  (await lookUpOnce(String(index), { path: address })).kind === 'file'

async function openWithScripts(t: TestContext, options: Options = {}) {
  const store = await open(t, options)
  store.scripts.set(siteOf('a').image, ['app-3f9c21ab.js', 'both-1a2b3c4d.js'])
  store.scripts.set(siteOf('b').image, ['app-77d1e0fa.js', 'both-1a2b3c4d.js'])
  store.scripts.set(siteOf('c').image, ['app-90909090.js', 'both-1a2b3c4d.js'])
  return store
}

test('the index of earlier files has those that the live output has not, and they outlive the earlier output', async (t) => {
  let now = Date.now()
  const { ensure, ensureEarlier, use, tidy, letters } = await openWithScripts(t, { maxBytes: 1, now: () => now })
  use(digestOf('b'))
  use(digestOf('e'))
  await ensure(siteOf('b'))
  const index = await ensureEarlier(indexOf('b', 'a'))
  assert.deepEqual(
    await Promise.all(
      ['app-3f9c21ab.js', 'both-1a2b3c4d.js', 'app-77d1e0fa.js'].map((name) => isIn(index, `/assets/${name}`)),
    ),
    [true, false, false],
  )
  // Later than the times of the folders, which are those of the disk.
  now = Date.now() + 1000
  await tidy()
  assert.equal(await letters(), 'be')
  assert.ok(await isIn(index, '/assets/app-3f9c21ab.js'))
})

test('an index that would need to fetch outputs is not made where it must not be', async (t) => {
  const { ensure, ensureEarlier, pulled } = await openWithScripts(t)
  await ensure(siteOf('b'))
  assert.equal(await ensureEarlier(indexOf('b', 'a', false)), null)
  assert.equal(pulled.length, 1)
  await ensure(siteOf('a'))
  assert.match(String(await ensureEarlier(indexOf('b', 'a', false))), /earlier\.index$/)
})

test('an earlier output that the registry does not have any more is left out', async (t) => {
  const { ensure, ensureEarlier, gone } = await openWithScripts(t)
  await ensure(siteOf('c'))
  gone.add(siteOf('b').image)
  const index = await ensureEarlier(indexOf('c', 'ba'))
  assert.deepEqual(
    [await isIn(index, '/assets/app-3f9c21ab.js'), await isIn(index, '/assets/app-77d1e0fa.js')],
    [true, false],
  )
})

test('without any file of earlier outputs there is no index', async (t) => {
  const { ensure, ensureEarlier } = await open(t)
  await ensure(siteOf('b'))
  assert.equal(await ensureEarlier(indexOf('b', 'a')), '')
  assert.equal(await ensureEarlier(indexOf('b', 'a')), '')
})
