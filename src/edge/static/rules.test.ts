/** Redirects, rewrites and headers of a static site, as visitors get them. */
import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { ask, HOST, startTestEdge } from '../../../test/support/edge/edge.ts'
import { type Scope, temporaryFolder } from '../../../test/support/folder.ts'
import { LIMITS } from '../limits.ts'
import type { StaticTarget } from '../routes.ts'
import { compileRules, type RuleSources } from '../rules/compile.ts'
import { RULE_LIMITS } from '../rules/limits.ts'
import { createManifest, writeManifest } from './manifest.ts'
import { createManifests } from './manifests.ts'

const STYLE = 'body { color: black }\n'.repeat(200)

async function deploy(t: Scope, texts: RuleSources['texts'], environment = 'e1'): Promise<StaticTarget> {
  const [folder, variants] = [await temporaryFolder(t), await temporaryFolder(t)]
  const files: Record<string, string> = {
    'index.html': 'home',
    'about.html': 'about',
    'shell.html': 'shell',
    'lost.html': 'lost',
    'style.css': STYLE,
    'deep/_redirects': 'an ordinary file',
  }
  for (const [path, text] of Object.entries({ ...files, ...texts })) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), text)
  }
  const { rules } = compileRules({ texts, basePath: '', allowedHosts: [] })
  const manifest = await createManifest(folder, variants, { singlePage: false, rules })
  return {
    kind: 'static',
    environment,
    deployment: environment,
    folder,
    manifest: await writeManifest(variants, manifest),
  }
}

const TEXTS = {
  _redirects: [
    '/old/* /new/:splat 302',
    '/app/* /shell.html 200',
    '/gone/* /lost.html 410',
    '/missing/* /lost.html 404',
    '/about lang=de /style.css 200!',
    '/post /elsewhere 307',
  ].join('\n'),
  _headers: [
    '/*',
    '  X-Frame-Options: DENY',
    '  Vary: Origin',
    '/style.css',
    '  Cache-Control: public, max-age=60',
    '  Content-Type: text/plain',
    '  ! X-Frame-Options',
  ].join('\n'),
}

test('redirects and rewrites are answered by the edge', async (t) => {
  const edge = await startTestEdge(t, { [HOST]: await deploy(t, TEXTS) })
  const get = async (path: string, method = 'GET') => {
    const { status, headers, text } = await ask(edge.port, { path, method })
    return [status, headers.location, text]
  }
  assert.deepEqual(await get('/old/a/b?x=1'), [302, '/new/a/b?x=1', ''])
  assert.deepEqual(await get('/app/anything'), [200, undefined, 'shell'])
  assert.deepEqual(await get('/gone/x'), [410, undefined, 'lost'])
  assert.deepEqual(await get('/missing/x'), [404, undefined, 'lost'])
  // A redirect applies to all methods, files are only read.
  assert.deepEqual(await get('/post', 'POST'), [307, '/elsewhere', ''])
  assert.equal((await get('/app/x', 'POST'))[0], 405)
  assert.equal((await get('/about', 'POST'))[0], 405)
  for (const path of ['/_redirects', '/_headers']) assert.equal((await get(path))[0], 404, path)
  assert.deepEqual(await get('/deep/_redirects'), [200, undefined, 'an ordinary file'])
})

test('headers of rules are on every answer with a file, also on a 304 and out of memory', async (t) => {
  const edge = await startTestEdge(t, { [HOST]: await deploy(t, TEXTS) })
  const asked = { path: '/style.css', headers: { connection: 'keep-alive', 'accept-encoding': 'br' } }
  // The second time it comes from memory.
  for (let round = 0; round < 3; round++) {
    const { status, headers } = await ask(edge.port, asked)
    assert.equal(status, 200)
    assert.equal(headers['cache-control'], 'public, max-age=60')
    assert.equal(headers['content-type'], 'text/plain')
    assert.equal(headers['content-encoding'], 'br')
    assert.equal(headers['x-frame-options'], undefined)
    assert.equal(headers.vary, 'Accept-Encoding, Origin')
  }
  const first = await ask(edge.port, { path: '/about' })
  const known = await ask(edge.port, { path: '/about', headers: { 'if-none-match': String(first.headers.etag) } })
  assert.deepEqual([known.status, known.headers['x-frame-options']], [304, 'DENY'])
  const part = await ask(edge.port, { path: '/style.css', headers: { range: 'bytes=0-3' } })
  assert.deepEqual([part.status, part.headers['cache-control'], part.text], [206, 'public, max-age=60', 'body'])
  const head = await ask(edge.port, { path: '/about', method: 'HEAD' })
  assert.deepEqual([head.status, head.headers['x-frame-options']], [200, 'DENY'])
  assert.equal((await ask(edge.port, { path: '/app/x' })).headers['x-frame-options'], 'DENY')
  assert.equal((await ask(edge.port, { path: '/missing/x' })).headers['x-frame-options'], 'DENY')
  // A redirect is no file.
  assert.equal((await ask(edge.port, { path: '/old/x' })).headers['x-frame-options'], undefined)
})

test('an answer that depends on the query is not given from memory to another query', async (t) => {
  const edge = await startTestEdge(t, { [HOST]: await deploy(t, TEXTS) })
  const get = async (path: string) => (await ask(edge.port, { path, headers: { connection: 'keep-alive' } })).text
  for (let round = 0; round < 3; round++) {
    assert.equal(await get('/about'), 'about')
    assert.equal(await get('/about?lang=de'), STYLE)
    assert.equal(await get('/about?lang=fr'), 'about')
  }
})

test('the rules belong to the deployment: after a switch the new ones apply, and after a switch back the old ones', async (t) => {
  const one = await deploy(t, { _redirects: '/x /one', _headers: '/*\n X-V: 1' })
  const two = await deploy(t, { _redirects: '/x /two', _headers: '/*\n X-V: 2' })
  const none = await deploy(t, {})
  const edge = await startTestEdge(t, { [HOST]: one })
  const look = async () => {
    const [moved, page] = [await ask(edge.port, { path: '/x' }), await ask(edge.port, { path: '/about' })]
    return [moved.headers.location, page.headers['x-v']]
  }
  for (const [target, expected] of [
    [one, ['/one', '1']],
    [two, ['/two', '2']],
    [none, [undefined, undefined]],
    [one, ['/one', '1']],
  ] as const) {
    edge.use({ [HOST]: target })
    assert.deepEqual(await look(), expected)
  }
})

test('as many rules as a site may have are found, the first and the last', async (t) => {
  const exact = Array.from({ length: RULE_LIMITS.exactRedirects }, (_, n) => `/from/${n} /to/${n}`)
  const patterns = Array.from({ length: RULE_LIMITS.patternRedirects }, (_, n) => `/p/${n}/:id /q/${n}/:id`)
  const edge = await startTestEdge(t, { [HOST]: await deploy(t, { _redirects: [...exact, ...patterns].join('\n') }) })
  for (const [path, to] of [
    ['/from/0', '/to/0'],
    ['/from/9999', '/to/9999'],
    ['/p/0/x', '/q/0/x'],
    ['/p/499/x', '/q/499/x'],
    ['/p/500/x', undefined],
  ] as const)
    assert.equal((await ask(edge.port, { path })).headers.location, to, path)
})

test('rules in memory are bounded: sites that are not in use are closed, and opened again', async (t) => {
  const text = Array.from({ length: 500 }, (_, n) => `/from/${n} /to/${n}`).join('\n')
  const sites = await Promise.all(['a', 'b', 'c'].map((name) => deploy(t, { _redirects: text }, name)))
  const plain = await deploy(t, {}, 'plain')
  const manifests = createManifests({ ...LIMITS, ruleBytes: 60_000 })
  await manifests.lookUp('plain', plain.manifest, { path: '/' })
  for (let round = 0; round < 3; round++) {
    for (const { environment, manifest } of sites) {
      const found = await manifests.lookUp(environment, manifest, { path: `/from/${round}` })
      assert.deepEqual(found, { kind: 'redirect', status: 301, location: `/to/${round}`, isByRule: true })
      assert.ok(manifests.count().open <= 3, 'the one without rules, and those that fit')
    }
  }
})
