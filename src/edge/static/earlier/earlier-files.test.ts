import assert from 'node:assert/strict'
import { link, mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { brotliDecompressSync } from 'node:zlib'
import fc from 'fast-check'
import { ask, HOST, serverTarget, startTestEdge, startUpstream } from '../../../../test/support/edge/edge.ts'
import { type Scope, temporaryFolder } from '../../../../test/support/folder.ts'
import type { StaticTarget, Target } from '../../routes.ts'
import { makeAssetList, makeEarlierIndex, makeManifest } from '../make-manifest.ts'
import { MANIFEST_NAME } from '../manifest-file.ts'
import { createManifests, lookUpOnce } from '../manifests.ts'
import { EARLIER_LIMITS, type EarlierIndex, writeEarlierIndex } from './earlier-index.ts'
import { LIST_NAME, readImmutableList } from './immutable-list.ts'

type Files = Record<string, string>

const SCRIPT = 'export const greeting = "hello"\n'.repeat(200)
const FOREVER = 'public, max-age=31536000, immutable'

async function write(folder: string, files: Files) {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), content)
  }
}

/** A static output as the service stores it. */
async function siteOf(t: Scope, files: Files, basePath = '') {
  const output = { files: join(await temporaryFolder(t), 'files'), edge: join(await temporaryFolder(t), 'edge') }
  await write(output.files, files)
  await makeManifest(output.files, output.edge, { singlePage: true, basePath })
  return { ...output, list: join(output.edge, LIST_NAME) }
}

/** A server whose framework writes its scripts into a folder. */
async function serverOf(t: Scope, files: Files, assets = [{ folder: 'build/client', address: '' }]) {
  const output = { files: join(await temporaryFolder(t), 'files'), edge: join(await temporaryFolder(t), 'edge') }
  for (const { folder } of assets) await mkdir(join(output.files, folder), { recursive: true })
  await write(output.files, files)
  await makeAssetList(output.files, output.edge, assets)
  return { ...output, list: join(output.edge, LIST_NAME) }
}

type Output = Awaited<ReturnType<typeof siteOf>>

const sourceOf = ({ files, edge, list }: Output): EarlierIndex['earlier'][number] => ({ list, output: { files, edge } })

async function indexOf(t: Scope, live: Output | null, earlier: readonly Output[]): Promise<string> {
  const folder = await temporaryFolder(t)
  await makeEarlierIndex({ folder, name: 'a.index', live: live?.list ?? null, earlier: earlier.map(sourceOf) })
  return join(folder, 'a.index')
}

const staticTarget = ({ files, edge }: Output, earlierFiles: string, environment = 'e1'): StaticTarget => ({
  kind: 'static',
  environment,
  deployment: 'd2',
  folder: files,
  manifest: join(edge, MANIFEST_NAME),
  earlierFiles,
})

const PAGES: Files = { 'index.html': 'old page', 'about.html': 'old', 'assets/data-BxK3d9Aq.json': '{"old":1}' }

test('a static site answers with the hashed files of earlier deployments, and with no other of their files', async (t) => {
  const oldest = await siteOf(t, { ...PAGES, 'assets/a-Aaaaaa11.js': 'oldest', 'assets/b-Bbbbbb22.js': 'oldest' })
  const old = await siteOf(t, { ...PAGES, 'assets/b-Bbbbbb22.js': 'old', 'assets/c-Cccccc33.js': SCRIPT, 'x.js': 'x' })
  const live = await siteOf(t, { 'index.html': 'new page', '404.html': 'lost', 'assets/d-Dddddd44.js': 'new' })
  const edge = await startTestEdge(t, { [HOST]: staticTarget(live, await indexOf(t, live, [old, oldest])) })
  const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    ask(edge.port, { path, headers, method })

  const kept = await get('/assets/c-Cccccc33.js?v=1')
  assert.deepEqual([kept.status, kept.text], [200, SCRIPT])
  assert.equal(kept.headers['cache-control'], FOREVER)
  assert.equal(kept.headers['content-type'], 'text/javascript; charset=utf-8')
  assert.equal(kept.headers['cache-status'], 'headland; hit; detail=earlier-file')
  assert.equal((await get('/assets/b-Bbbbbb22.js')).text, 'old', 'of two deployments the newer one counts')
  assert.equal((await get('/assets/a-Aaaaaa11.js')).text, 'oldest')

  assert.equal((await get('/assets/d-Dddddd44.js')).headers['cache-status'], 'headland; hit; detail=file')
  for (const path of [
    '/assets/data-BxK3d9Aq.json',
    '/x.js',
    '/about.html',
    '/assets/e-Eeeeee55.js',
    '/assets/%zz.js',
  ]) {
    const { status, text } = await get(path)
    assert.ok(status === 404 || status === 400, path)
    assert.ok(!text.includes('old'), path)
  }
  assert.equal((await get('/')).text, 'new page')

  const br = await get('/assets/c-Cccccc33.js', { 'accept-encoding': 'br' })
  assert.equal(brotliDecompressSync(br.body).toString(), SCRIPT)
  assert.equal(br.headers.vary, 'Accept-Encoding')
  assert.equal((await get('/assets/c-Cccccc33.js', { 'if-none-match': kept.headers.etag ?? '' })).status, 304)
  const part = await get('/assets/c-Cccccc33.js', { range: 'bytes=0-5' })
  assert.deepEqual([part.status, part.text], [206, 'export'])
  const head = await get('/assets/c-Cccccc33.js', {}, 'HEAD')
  assert.deepEqual([head.status, head.text, head.headers['content-length']], [200, '', String(SCRIPT.length)])
  assert.equal((await get('/assets/c-Cccccc33.js', {}, 'POST')).status, 405)
})

test('a name that the live deployment has is never served from an earlier one, also if only the prefix differs', async (t) => {
  const old = await siteOf(t, { 'index.html': 'o', 'a/assets/b-Bbbbbb22.js': 'old', 'assets/c-Cccccc33.js': 'old' })
  const live = await siteOf(t, { 'index.html': 'n', 'assets/b-Bbbbbb22.js': 'new', 'assets/c-Cccccc33.js': 'new' })
  const folder = await temporaryFolder(t)
  const isAny = await makeEarlierIndex({ folder, name: 'a.index', live: live.list, earlier: [sourceOf(old)] })
  assert.equal(isAny, false)
  assert.deepEqual(await readdir(folder), [], 'nothing is kept that nothing needs')
})

test('two files of one name in one deployment that differ are not kept', async (t) => {
  const old = await siteOf(t, {
    'a/_next/static/fixed/m.js': 'a',
    'b/_next/static/fixed/m.js': 'b',
    'assets/c-Cccccc33.js': 'c',
  })
  assert.deepEqual([...((await readImmutableList(old.list)) ?? []).keys()], ['/assets/c-Cccccc33.js'])
})

test('a server is not asked for a file that an earlier deployment left, and for every other it is', async (t) => {
  const asked: string[] = []
  const app = await startUpstream(t, (request, response) => {
    asked.push(request.url ?? '')
    response.writeHead(404, { 'content-type': 'text/plain' }).end('the app')
  })
  const assets = [{ folder: '.next/static', address: '/_next/static' }]
  const old = await serverOf(
    t,
    { '.next/static/chunks/old-0a1b2c3d.js': SCRIPT, '.next/static/chunks/both-0a1b2c3d.js': 'old' },
    assets,
  )
  const live = await serverOf(t, { '.next/static/chunks/both-0a1b2c3d.js': 'new' }, assets)
  const earlierFiles = await indexOf(t, live, [old])
  const edge = await startTestEdge(t, { [HOST]: { ...serverTarget(app.port), earlierFiles } })
  for (const path of ['/_next/static/chunks/old-0a1b2c3d.js', '/shop/_next/static/chunks/old-0a1b2c3d.js']) {
    const { status, text, headers } = await ask(edge.port, { path })
    assert.deepEqual([status, text, headers['cache-control']], [200, SCRIPT, FOREVER], path)
  }
  assert.deepEqual(asked, [])
  const others = ['/', '/_next/static/chunks/both-0a1b2c3d.js', '/_next/static/chunks/none-0a1b2c3d.js', '/a.json']
  for (const path of others) assert.equal((await ask(edge.port, { path })).text, 'the app')
  await ask(edge.port, { path: '/_next/static/chunks/old-0a1b2c3d.js', method: 'POST', body: 'x' })
  assert.deepEqual(asked, [...others, '/_next/static/chunks/old-0a1b2c3d.js'])
})

test('names that never existed cost one look-up each, and the app what it cost before', async (t) => {
  let asked = 0
  const app = await startUpstream(t, (_request, response) => {
    asked++
    response.writeHead(404).end()
  })
  const old = await serverOf(t, { 'build/client/assets/a-Aaaaaa11.js': 'old' })
  const path = await indexOf(t, null, [old])
  const edge = await startTestEdge(t, { [HOST]: { ...serverTarget(app.port), earlierFiles: path } })
  const names = Array.from({ length: 50 }, (_, n) => `/assets/x-${String(n).padStart(6, 'Ab')}Zz.js`)
  for (const name of names) assert.equal((await ask(edge.port, { path: name })).status, 404)
  assert.equal(asked, names.length)
  // Random names take no more memory than the environment's share.
  const few = createManifests({ openManifests: 1, manifestBytes: 16 * 1024, ruleBytes: 1024 })
  for (let n = 0; n < 2000; n++) await few.find('e1', path, `/assets/x-${n}.js`)
  assert.ok(few.count().bytes <= 16 * 1024)
})

test('an app that sleeps, or keeps crashing, is not needed for files of earlier deployments, and not woken', async (t) => {
  const old = await serverOf(t, { 'build/client/assets/a-Aaaaaa11.js': 'old' })
  const earlierFiles = await indexOf(t, null, [old])
  const woken: string[] = []
  const targets: Target[] = [
    { kind: 'asleep', environment: 'e1', deployment: 'd1', earlierFiles },
    { kind: 'down', environment: 'e1', deployment: 'd1', earlierFiles },
  ]
  for (const target of targets) {
    const edge = await startTestEdge(t, { [HOST]: target }, { wake: (deployment) => woken.push(deployment) })
    assert.equal((await ask(edge.port, { path: '/assets/a-Aaaaaa11.js' })).text, 'old')
  }
  assert.deepEqual(woken, [])
})

test('an index that is lost or damaged, and a file that is, leave the live deployment as it is', async (t) => {
  const app = await startUpstream(t, (_request, response) => response.end('the app'))
  const old = await serverOf(t, { 'build/client/assets/a-Aaaaaa11.js': 'old' })
  const live = await siteOf(t, { 'index.html': 'home' })
  const [lost, damaged, emptied] = [
    await indexOf(t, null, [old]),
    await indexOf(t, null, [old]),
    await indexOf(t, null, [old]),
  ]
  await rm(lost)
  await writeFile(damaged, 'no index')
  for (const name of await readdir(dirname(emptied)))
    if (!name.includes('.index')) await rm(join(dirname(emptied), name))
  for (const earlierFiles of [lost, damaged, emptied]) {
    const edge = await startTestEdge(t, {
      [HOST]: { ...serverTarget(app.port), earlierFiles },
      'static.localhost': staticTarget(live, earlierFiles, 'e2'),
    })
    for (let round = 0; round < 2; round++) {
      assert.equal((await ask(edge.port, { path: '/assets/a-Aaaaaa11.js' })).text, 'the app')
      const missing = await ask(edge.port, { host: 'static.localhost', path: '/assets/a-Aaaaaa11.js' })
      assert.equal(missing.status, 404)
      assert.equal((await ask(edge.port, { host: 'static.localhost' })).text, 'home')
    }
  }
})

test('files stay when their output is removed, and are links to it until then', async (t) => {
  const old = await siteOf(t, { 'index.html': 'o', 'assets/c-Cccccc33.js': SCRIPT })
  const live = await siteOf(t, { 'index.html': 'n' })
  const index = await indexOf(t, live, [old])
  const folder = dirname(index)
  const list = join(folder, 'old.json')
  await link(old.list, list)
  await rm(old.files, { recursive: true })
  await rm(old.edge, { recursive: true })
  const edge = await startTestEdge(t, { [HOST]: staticTarget(live, index) })
  assert.equal((await ask(edge.port, { path: '/assets/c-Cccccc33.js' })).text, SCRIPT)

  const next = { folder, name: 'b.index', live: null, earlier: [{ list, output: null }] }
  assert.equal(await makeEarlierIndex(next), true)
  edge.use({ [HOST]: staticTarget(live, join(folder, 'b.index')) })
  const kept = await ask(edge.port, { path: '/assets/c-Cccccc33.js', headers: { 'accept-encoding': 'br' } })
  assert.equal(kept.headers['content-encoding'], 'br')
})

test('what exceeds the limits is left out, the oldest first', async (t) => {
  const files = (name: string) => ({ [`assets/${name}-Aaaaaa11.js`]: 'x'.repeat(10) + name })
  const outputs = await Promise.all(['a', 'b', 'c'].map((name) => siteOf(t, { 'index.html': name, ...files(name) })))
  for (const limits of [
    { ...EARLIER_LIMITS, files: 2 },
    { ...EARLIER_LIMITS, bytes: 22 },
  ]) {
    const folder = await temporaryFolder(t)
    const index = { folder, name: 'a.index', live: null, earlier: outputs.map(sourceOf) }
    assert.equal(await writeEarlierIndex(index, limits), 2)
    const found = async (name: string) =>
      (await lookUpOnce(join(folder, 'a.index'), { path: `/assets/${name}-Aaaaaa11.js` })).kind
    assert.deepEqual(await Promise.all(['a', 'b', 'c'].map(found)), ['file', 'file', 'missing'])
  }
})

test('a list that names files elsewhere keeps none of them', async (t) => {
  const secret = join(await temporaryFolder(t), 'secret.js')
  await writeFile(secret, 'secret')
  const old = await siteOf(t, { 'index.html': 'o', 'assets/c-Cccccc33.js': 'c' })
  await symlink(dirname(secret), join(old.files, 'linked'))
  await symlink(secret, join(old.files, 'link.js'))
  const [[name = '', file] = []] = [...((await readImmutableList(old.list)) ?? [])]
  const entries = [
    ...['/linked/secret.js', '/link.js', `/../${secret}`, secret, '/assets/..', '', '/'].map((path, n) => [
      name.replace('Cccccc33', `Cccccc4${n}`),
      { ...file, path, digest: String(n).repeat(64) },
    ]),
    ['/etc/passwd', file],
    ['/assets/d-Dddddd44.js', { ...file, digest: '../../secret' }],
    ['/assets/d-Dddddd44.js', { ...file, br: '../../secret', brSize: 6 }],
    ['/assets/d-Dddddd44.js', { ...file, size: -1 }],
    ['/assets/d-Dddddd44.js', null],
    null,
  ]
  await writeFile(old.list, JSON.stringify(entries))
  const folder = await temporaryFolder(t)
  assert.equal(await makeEarlierIndex({ folder, name: 'a.index', live: null, earlier: [sourceOf(old)] }), false)
  assert.deepEqual(await readdir(folder), [])
})

test('any history of deployments leads to the newest file of each name that the live one does not have', async (t) => {
  const name = fc.constantFrom('a', 'b', 'c', 'd', 'e')
  const deployment = fc.dictionary(name, fc.constantFrom('1', '2', '3'), { maxKeys: 5 })
  await fc.assert(
    fc.asyncProperty(deployment, fc.array(deployment, { maxLength: 4 }), async (live, earlier) => {
      const addressOf = (one: string) => `/assets/${one}-Aaaaaa11.js`
      const toSite = (files: Files) =>
        siteOf(t, {
          'index.html': 'x',
          'assets/unlike-Zzzzzz99.js': 'in all of them',
          ...Object.fromEntries(Object.entries(files).map(([one, text]) => [addressOf(one), `${one}${text}`])),
        })
      const index = await indexOf(t, await toSite(live), await Promise.all(earlier.map(toSite)))
      const expected = new Map<string, string>()
      for (const one of earlier)
        for (const [key, text] of Object.entries(one)) if (!expected.has(key)) expected.set(key, `${key}${text}`)
      for (const key of Object.keys(live)) expected.delete(key)
      const hasIndex = (await readdir(dirname(index))).includes('a.index')
      assert.equal(hasIndex, expected.size > 0)
      for (const key of hasIndex ? ['a', 'b', 'c', 'd', 'e'] : []) {
        const found = await lookUpOnce(index, { path: addressOf(key) })
        assert.equal(found.kind === 'file' ? found.file.size : undefined, expected.get(key)?.length, key)
      }
    }),
    { numRuns: 20 },
  )
})
