/** The files of sites on a real disk; what a registry would give is written by the test. */
import assert from 'node:assert/strict'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { temporaryFolder } from '../../test/support/folder.ts'
import { until } from '../../test/support/until.ts'
import { createLog, systemClock } from '../base/index.ts'
import { createOutputs } from '../builds/index.ts'
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
  let before = async () => undefined as unknown
  const images = {
    async pull(image: string, files: string) {
      pulled.push(image)
      await mkdir(files)
      await writeFile(join(files, 'index.html'), 'x'.repeat(100 * KIB))
      await before()
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
