import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdir, open, readdir, readFile, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { ask, HOST, startTestEdge } from '../../../test/support/edge/edge.ts'
import { temporaryFolder } from '../../../test/support/folder.ts'
import { LIMITS } from '../limits.ts'
import type { StaticTarget } from '../routes.ts'
import { writeManifest } from './manifest.ts'
import { MANIFEST_NAME, openManifestFile, UnreadableManifest } from './manifest-file.ts'
import { createManifests, lookUpOnce } from './manifests.ts'
import type { StaticFile, StaticManifest } from './types.ts'

const DIGEST = 'd'.repeat(64)

function manifestOf(addresses: readonly string[], more: Partial<StaticManifest> = {}): StaticManifest {
  // One of the addresses that the property makes up is __proto__.
  const files: Record<string, StaticFile> = Object.create(null)
  for (const [size, address] of addresses.entries()) files[address] = { size, digest: DIGEST }
  return { files, singlePage: false, notFound: null, basePath: '', ...more }
}

const numbered = (count: number) => Array.from({ length: count }, (_, n) => `/page/${n}/index.html`)

async function siteOf(t: TestContext, environment: string, manifest: StaticManifest) {
  const [folder, variants] = [await temporaryFolder(t), await temporaryFolder(t)]
  const path = await writeManifest(variants, manifest)
  return { kind: 'static', environment, deployment: environment, folder, manifest: path } satisfies StaticTarget
}

/** An output as earlier versions left it. */
async function legacySite(t: TestContext, text: string) {
  const [folder, variants] = [await temporaryFolder(t), await temporaryFolder(t)]
  await writeFile(join(folder, 'index.html'), 'home')
  await writeFile(join(variants, 'manifest.json'), text)
  return { folder, variants }
}

/** Bytes that this process asked the system to read, page cache included. */
async function bytesRead(): Promise<number> {
  return Number(/^rchar: (\d+)$/m.exec(await readFile('/proc/self/io', 'utf8'))?.[1])
}

test('whatever the addresses are, each is found with its file, and no other', async (t) => {
  const folder = await temporaryFolder(t)
  let round = 0
  const addresses = fc.uniqueArray(fc.string({ unit: 'binary', maxLength: 40 }), { maxLength: 200 })
  await fc.assert(
    fc.asyncProperty(addresses, addresses, async (there, others) => {
      const own = join(folder, String(round++))
      await mkdir(own)
      const file = await openManifestFile(await writeManifest(own, manifestOf(there)))
      for (const [size, address] of there.entries()) assert.equal((await file.find(address))?.size, size)
      for (const other of others) if (!there.includes(other)) assert.equal(await file.find(other), undefined)
      assert.deepEqual(file.settings, { singlePage: false, notFound: null, basePath: '' })
      await file.close()
      assert.deepEqual(await readdir(own), [MANIFEST_NAME])
    }),
    { numRuns: 30 },
  )
})

test('a request reads a few kilobytes of its list, however many files the site has', async (t) => {
  const site = await siteOf(t, 'e1', manifestOf(numbered(100_000)))
  const manifests = createManifests(LIMITS)
  const before = await bytesRead()
  for (let n = 0; n < 50; n++) {
    assert.equal((await manifests.lookUp('e1', site.manifest, { path: `/page/${n * 1000}/` })).kind, 'file')
    assert.equal((await manifests.lookUp('e1', site.manifest, { path: `/nothing/${n}` })).kind, 'missing')
  }
  const perRequest = ((await bytesRead()) - before) / 100
  assert.ok(perRequest < 8 * 1024, `${perRequest} bytes for a request`)
})

test('what one site is asked for takes bounded memory, and none of a neighbour’s', async (t) => {
  const [large, small] = [
    await siteOf(t, 'large', manifestOf(numbered(5000))),
    await siteOf(t, 'small', manifestOf(['/index.html'])),
  ]
  const manifests = createManifests({ ...LIMITS, openManifests: 2, manifestBytes: 256 * 1024 })
  await manifests.lookUp('small', small.manifest, { path: '/' })
  for (let n = 0; n < 5000; n++) await manifests.lookUp('large', large.manifest, { path: `/page/${n}/` })
  assert.ok(manifests.count().bytes <= 256 * 1024)
  const before = await bytesRead()
  await manifests.lookUp('small', small.manifest, { path: '/' })
  // Looking at the counter reads a few hundred bytes itself.
  assert.ok((await bytesRead()) - before < 1024, 'the neighbour’s address is still known')
})

test('lists are opened once for all who ask, closed by their last use, and opened again', async (t) => {
  const sites = await Promise.all(['a', 'b', 'c'].map((name) => siteOf(t, name, manifestOf([`/${name}.txt`]))))
  const manifests = createManifests({ ...LIMITS, openManifests: 2, manifestBytes: 1 })
  for (let round = 0; round < 20; round++) {
    const asked = sites.flatMap(({ environment, manifest }) =>
      Array.from({ length: 5 }, () => manifests.lookUp(environment, manifest, { path: `/${environment}.txt` })),
    )
    for (const found of await Promise.all(asked)) assert.equal(found.kind, 'file')
    for (const { environment, manifest } of sites)
      assert.equal((await manifests.lookUp(environment, manifest, { path: '/none' })).kind, 'missing')
    assert.ok(manifests.count().open <= 2)
  }
  const gone = sites.slice(1)
  manifests.forget(
    gone.map(({ environment }) => environment),
    gone.map(({ manifest }) => manifest),
  )
  assert.ok(manifests.count().open <= 1, 'those of sites that are gone are closed')
  await assert.rejects(manifests.lookUp('x', join(sites[0]?.folder ?? '', 'none'), { path: '/' }), UnreadableManifest)
})

test('a list that is cut off or damaged is a page of its own site and nothing else', async (t) => {
  const addresses = numbered(50)
  const [cut, flipped, other, well] = await Promise.all(
    ['cut', 'flipped', 'other', 'well'].map((name) => siteOf(t, name, manifestOf(addresses))),
  )
  await truncate(cut?.manifest ?? '', 3000)
  const handle = await open(flipped?.manifest ?? '', 'r+')
  await handle.write(Buffer.from('X'), 0, 1, 20)
  await handle.close()
  await writeFile(other?.manifest ?? '', JSON.stringify(manifestOf(addresses)))
  await mkdir(join(well?.folder ?? '', 'page/7'), { recursive: true })
  await writeFile(join(well?.folder ?? '', 'page/7/index.html'), 'a page.')
  const hosts = { 'cut.localhost': cut, 'flipped.localhost': flipped, 'other.localhost': other, [HOST]: well }
  const edge = await startTestEdge(t, hosts as Record<string, StaticTarget>)
  for (let round = 0; round < 2; round++) {
    for (const host of ['cut.localhost', 'flipped.localhost', 'other.localhost']) {
      const { status, text } = await ask(edge.port, { host, path: '/page/7/' })
      assert.equal(status, 500, host)
      assert.match(text, /list of this site’s files is damaged.*deploying the site again/s)
    }
    assert.equal((await ask(edge.port, { path: '/page/7/' })).text, 'a page.')
  }
  assert.match(String(edge.troubles[0]), /files\.index.*deploying the site again/s, 'the report names the file')
})

test('a list in the earlier format is converted in a thread on first use, once, and served', async (t) => {
  const text = '{"files":{"/index.html":{"size":4,"digest":"abc"}},"singlePage":false,"notFound":null}'
  const { folder, variants } = await legacySite(t, text)
  const site = { kind: 'static', environment: 'e1', deployment: 'd1', folder } as const
  // As a route table of an earlier version names it, and as one of this version does.
  const edge = await startTestEdge(t, {
    [HOST]: { ...site, manifest: join(variants, 'manifest.json') },
    'new.localhost': { ...site, manifest: join(variants, MANIFEST_NAME) },
  })
  const answers = await Promise.all(
    [HOST, 'new.localhost', HOST].map((host) => ask(edge.port, { host, path: '/index' })),
  )
  for (const answer of answers) assert.deepEqual([answer.status, answer.text], [200, 'home'])
  assert.deepEqual((await readdir(variants)).sort(), [MANIFEST_NAME, 'manifest.json'])
  assert.equal((await lookUpOnce(join(variants, MANIFEST_NAME), { path: '/' })).kind, 'file')
})

test('a list in the earlier format that is no JSON is a page of its own site, and is not tried for every visitor', async (t) => {
  const { folder, variants } = await legacySite(t, '{"files":{"/index')
  const manifest = join(variants, MANIFEST_NAME)
  const edge = await startTestEdge(t, {
    [HOST]: { kind: 'static', environment: 'e1', deployment: 'd1', folder, manifest },
  })
  for (let n = 0; n < 3; n++) assert.equal((await ask(edge.port)).status, 500)
  assert.equal(new Set(edge.troubles).size, 1, 'one failure, reported for all requests that waited for it')
})

test('the event loop goes on while a list of 50,000 files in the earlier format is converted', async (t) => {
  const { folder, variants } = await legacySite(t, JSON.stringify(manifestOf(['/index.html', ...numbered(50_000)])))
  const manifest = join(variants, MANIFEST_NAME)
  const edge = await startTestEdge(t, {
    [HOST]: { kind: 'static', environment: 'e1', deployment: 'd1', folder, manifest },
    'other.localhost': { kind: 'empty', environment: 'e2' },
  })
  let isOver = false
  const answer = ask(edge.port, { path: '/none' }).finally(() => {
    isOver = true
  })
  let others = 0
  while (!isOver) {
    assert.equal((await ask(edge.port, { host: 'other.localhost' })).status, 404)
    others++
  }
  assert.equal((await answer).status, 404)
  assert.ok(others > 10, `${others} visitors of others were answered meanwhile`)
})

test('a process that dies while it writes a list leaves none', async (t) => {
  const folder = await temporaryFolder(t)
  const program = `
    const { writeManifest } = await import(${JSON.stringify(new URL('./manifest.ts', import.meta.url).href)})
    const files = Object.fromEntries(Array.from({ length: 200000 }, (_, n) => ['/' + n, { size: n, digest: '' }]))
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), 20)
    await writeManifest(process.argv[1], { files, singlePage: false, notFound: null, basePath: '' })
  `
  const { signal } = spawnSync(process.execPath, ['--input-type=module', '-e', program, folder])
  assert.equal(signal, 'SIGKILL')
  assert.ok(!(await readdir(folder)).includes(MANIFEST_NAME))
})
