import assert from 'node:assert/strict'
import { pbkdf2 } from 'node:crypto'
import { mkdir, readdir, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { ask, askRaw, HOST, startTestEdge } from '../../../test/support/edge/edge.ts'
import { type Scope, temporaryFolder } from '../../../test/support/folder.ts'
import type { StaticTarget } from '../routes.ts'
import { createManifest, writeManifest } from './manifest.ts'

const SCRIPT = 'const greeting = "hello";\n'.repeat(500)
const BIG = Buffer.alloc(3 * 1024 * 1024, 'abcdefghij')
const FILES: Record<string, string | Buffer> = {
  'index.html': '<h1>home</h1>',
  'about.html': '<h1>about</h1>',
  'docs/index.html': '<h1>docs</h1>',
  'docs/logo.svg': '<svg/>',
  'both.html': 'page',
  'both/index.html': 'folder',
  'empty/file.txt': '',
  'script.js': SCRIPT,
  'assets/index-BxK3d9Aq.js': SCRIPT,
  'digits.txt': '0123456789',
  'big.mp4': BIG,
  'with space & ünïcode.txt': 'spaced',
  '100%.txt': 'percent',
}

type Way = { singlePage?: boolean; basePath?: string }

async function deploy(t: Scope, files: typeof FILES, { singlePage = false, basePath = '' }: Way = {}) {
  const folder = await temporaryFolder(t)
  const variants = await temporaryFolder(t)
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), content)
  }
  const manifest = await writeManifest(variants, await createManifest(folder, variants, { singlePage, basePath }))
  return { kind: 'static', environment: 'e1', deployment: 'd1', folder, manifest } satisfies StaticTarget
}

const file = { after }
const edge = await startTestEdge(file, {
  [HOST]: await deploy(file, FILES),
  'app.localhost': await deploy(file, { 'index.html': 'shell', '404.html': 'lost' }, { singlePage: true }),
  'lost.localhost': await deploy(file, { 'index.html': 'home', '404.html': `lost${' '.repeat(2000)}` }),
  'based.localhost': await deploy(file, { ...FILES, 'robots.txt': 'robots' }, { basePath: '/docs' }),
  'based-app.localhost': await deploy(
    file,
    { 'index.html': 'shell', '404.html': 'lost', 'a.js': 'script' },
    { singlePage: true, basePath: '/docs' },
  ),
  'based-app-without-404.localhost': await deploy(
    file,
    { 'index.html': 'shell' },
    { singlePage: true, basePath: '/docs' },
  ),
  'in-files.localhost': await deploy(
    file,
    { 'docs/index.html': 'shell', 'docs/404.html': 'lost', 'assets/index-BxK3d9Aq.js': SCRIPT },
    { singlePage: true, basePath: '/docs' },
  ),
  'encoded.localhost': await deploy(file, { 'index.html': 'home', 'b/index.html': 'b' }, { basePath: '/my%20café' }),
})

const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  ask(edge.port, { path, headers, method })

test('a URL without extension leads to the page whose links were written for it', async () => {
  for (const [path, text] of Object.entries({
    '/': '<h1>home</h1>',
    '/index.html': '<h1>home</h1>',
    '/about': '<h1>about</h1>',
    '/about.html': '<h1>about</h1>',
    '/about?x=1': '<h1>about</h1>',
    '/docs/': '<h1>docs</h1>',
    '/docs/index.html': '<h1>docs</h1>',
    '/docs/index': '<h1>docs</h1>',
    '/docs/logo.svg': '<svg/>',
    '/both': 'page',
    '/both/': 'folder',
    '/with%20space%20%26%20%C3%BCn%C3%AFcode.txt': 'spaced',
    '/100%25.txt': 'percent',
  })) {
    const answer = await get(path)
    assert.deepEqual([answer.status, answer.text], [200, text], path)
  }
})

test('a URL with or without the slash redirects to the one that works, with its query', async () => {
  for (const [path, location] of Object.entries({
    '/docs': '/docs/',
    '/docs?a=b&c': '/docs/?a=b&c',
    '/about/': '/about',
    '/about/?q': '/about?q',
  })) {
    const { status, headers } = await get(path)
    assert.deepEqual([status, headers.location], [301, location], path)
    assert.equal(headers['cache-control'], 'public, max-age=0, must-revalidate')
  }
})

test('what is not in the manifest is not there, however it is written', async () => {
  for (const path of [
    '/nothing',
    '/empty/',
    '/empty',
    '/../etc/passwd',
    '/docs/../index.html',
    '/%2e%2e/%2e%2e/etc/passwd',
    '/docs/..%2f..%2fetc/passwd',
    '/docs//index.html',
    '//docs',
    '//evil.example/docs',
    '/%2Fdocs',
    '/%252e%252e/',
    '/index.html%00',
    '/index.html/',
    '/__proto__',
    '/constructor',
    '/docs\\index.html',
    '/manifest.json',
  ]) {
    const answer = await get(path)
    assert.equal(answer.status, 404, path)
    assert.match(answer.text, /There is no page at this address/)
  }
})

test('a bad escape is a bad request', async () => {
  for (const path of ['/%', '/%zz', '/a%2', '/%ff']) assert.equal((await get(path)).status, 400, path)
})

test('only GET and HEAD are answered', async () => {
  for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']) {
    const { status, headers } = await get('/', {}, method)
    assert.deepEqual([status, headers.allow], [405, 'GET, HEAD'], method)
  }
  const head = await get('/about', {}, 'HEAD')
  assert.deepEqual([head.status, head.headers['content-length'], head.text], [200, '14', ''])
})

test('an unknown path is the deployment’s own 404 page, compressed as the others and never a 304', async () => {
  const lost = await ask(edge.port, { host: 'lost.localhost', path: '/nothing', headers: { 'accept-encoding': 'br' } })
  assert.equal(lost.status, 404)
  assert.equal(lost.headers['content-encoding'], 'br')
  assert.match(brotliDecompressSync(lost.body).toString(), /^lost/)
  const again = { host: 'lost.localhost', path: '/other', headers: { 'if-none-match': '*', range: 'bytes=0-1' } }
  assert.equal((await ask(edge.port, again)).status, 404)
})

test('a single-page application gets its page for any address without an extension', async () => {
  const app = (path: string) => ask(edge.port, { host: 'app.localhost', path })
  for (const path of ['/', '/deep/link', '/deep/link/', '/a.b/c']) {
    const { status, text } = await app(path)
    assert.deepEqual([status, text], [200, 'shell'], path)
  }
  for (const path of ['/missing.js', '/deep/missing.png']) {
    const { status, text } = await app(path)
    assert.deepEqual([status, text], [404, 'lost'], path)
  }
})

const based = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  ask(edge.port, { host: 'based.localhost', path, headers, method })
const basedApp = (path: string) => ask(edge.port, { host: 'based-app.localhost', path })

test('a site with a base path has its clean addresses under it', async () => {
  for (const [path, text] of Object.entries({
    '/docs/': '<h1>home</h1>',
    '/docs/?x=1': '<h1>home</h1>',
    '/docs/index.html': '<h1>home</h1>',
    '/docs/about': '<h1>about</h1>',
    '/docs/docs/': '<h1>docs</h1>',
    '/docs/docs/logo.svg': '<svg/>',
    '/docs/both': 'page',
    '/docs/both/': 'folder',
    '/docs/with%20space%20%26%20%C3%BCn%C3%AFcode.txt': 'spaced',
    '/%64ocs/about': '<h1>about</h1>',
  })) {
    const answer = await based(path)
    assert.deepEqual([answer.status, answer.text], [200, text], path)
  }
})

test('a redirect within a site with a base path keeps the base path', async () => {
  for (const [path, location] of Object.entries({
    '/docs': '/docs/',
    '/docs?a=b': '/docs/?a=b',
    '/%64ocs': '/docs/',
    '/docs/docs': '/docs/docs/',
    '/docs/about/?q': '/docs/about?q',
  })) {
    const { status, headers } = await based(path)
    assert.deepEqual([status, headers.location], [301, location], path)
  }
})

test('the top of a host leads to the site’s base path, for now and with its query', async () => {
  for (const [host, path, location] of [
    ['based.localhost', '/', '/docs/'],
    ['based.localhost', '/?a=b', '/docs/?a=b'],
    ['based-app.localhost', '/', '/docs/'],
    ['in-files.localhost', '/', '/docs/'],
    ['encoded.localhost', '/', '/my%20caf%C3%A9/'],
  ] as const) {
    const { status, headers, text } = await ask(edge.port, { host, path })
    assert.deepEqual([status, headers.location, text], [307, location, ''], `${host}${path}`)
    assert.equal(headers['cache-control'], 'public, max-age=0, must-revalidate')
  }
})

test('outside of its base path a site has nothing, however it is written', async () => {
  for (const path of [
    '/about',
    '/index.html',
    '/script.js',
    '/docsx',
    '/docsx/about',
    '/docs.html',
    '/DOCS/',
    '//docs/',
    '/docs//about',
    '/docs/../about',
    '/docs/%2e%2e/about',
    '/x/../docs/about',
    '/./docs/about',
    '/%2564ocs/about',
    '/docs\\about',
  ]) {
    const answer = await based(path)
    assert.equal(answer.status, 404, path)
    assert.match(answer.text, /There is no page at this address/)
  }
  assert.equal((await based('/docs/%')).status, 400)
})

test('a single-page application gets its page under its base path only', async () => {
  for (const path of ['/docs/', '/docs/deep/link', '/docs/a.b/c']) {
    const { status, text } = await basedApp(path)
    assert.deepEqual([status, text], [200, 'shell'], path)
  }
  for (const path of ['/deep/link', '/docsx', '/docs/../deep', '/docs/..%2fdeep', '/docs/../', '/docs/missing.js']) {
    const { status, text } = await basedApp(path)
    assert.deepEqual([status, text], [404, 'lost'], path)
  }
  const { status, text } = await ask(edge.port, { host: 'based-app-without-404.localhost', path: '/deep' })
  assert.equal(status, 404)
  assert.match(text, /There is no page at this address/)
})

test('robots find their file without the base path and with it', async () => {
  for (const path of ['/robots.txt', '/docs/robots.txt']) assert.equal((await based(path)).text, 'robots', path)
})

test('an output that has the base path in its files is served where they say', async () => {
  const inFiles = (path: string) => ask(edge.port, { host: 'in-files.localhost', path })
  for (const [path, expected] of Object.entries({
    '/docs/': [200, 'shell'],
    '/docs/deep/link': [200, 'shell'],
    '/docs/assets/index-BxK3d9Aq.js': [200, SCRIPT],
    '/docs/docs/missing.js': [404, 'lost'],
    '/deep/link': [404, 'lost'],
  })) {
    const { status, text } = await inFiles(path)
    assert.deepEqual([status, text], expected, path)
  }
  assert.equal((await inFiles('/docs')).headers.location, '/docs/')
})

test('a base path may be written with escapes and hold any letters', async () => {
  const encoded = (path: string) => ask(edge.port, { host: 'encoded.localhost', path })
  assert.equal((await encoded('/my%20caf%C3%A9/')).text, 'home')
  assert.equal((await encoded('/my%20caf%C3%A9/b')).headers.location, '/my%20caf%C3%A9/b/')
})

test('files under a base path come compressed, in parts, by their tags and without a body as all others do', async () => {
  const path = '/docs/script.js'
  const compressed = await based(path, { 'accept-encoding': 'br' })
  assert.equal(brotliDecompressSync(compressed.body).toString(), SCRIPT)
  const known = { 'accept-encoding': 'br', 'if-none-match': compressed.headers.etag ?? '' }
  assert.equal((await based(path, known)).status, 304)
  const part = await based('/docs/digits.txt', { range: 'bytes=2-4' })
  assert.deepEqual([part.status, part.text], [206, '234'])
  const head = await based('/docs/big.mp4', {}, 'HEAD')
  assert.deepEqual([head.status, head.headers['content-length'], head.text], [200, String(BIG.length), ''])
  assert.ok((await based('/docs/big.mp4')).body.equals(BIG))
  const hashed = await based('/docs/assets/index-BxK3d9Aq.js')
  assert.equal(hashed.headers['cache-control'], 'public, max-age=31536000, immutable')
})

test('the client gets the encoding that it prefers, each with a tag of its own', async () => {
  const plain = await get('/script.js')
  assert.equal(plain.headers['content-encoding'], undefined)
  assert.equal(plain.text, SCRIPT)
  const tags = new Set([plain.headers.etag])
  for (const [accepted, expected] of Object.entries({
    'gzip, deflate, br, zstd': 'br',
    gzip: 'gzip',
    'br;q=0.5, gzip;q=0.8': 'gzip',
    'br;q=0, *': 'gzip',
    '*': 'br',
    'GZIP ; q = 1': 'gzip',
    'identity;q=1, *;q=0': undefined,
    'identity, br;q=0.1': undefined,
    'br;q=0, gzip;q=0': undefined,
    deflate: undefined,
    'br;q=nonsense, gzip;q=': 'br',
  })) {
    const { headers, body } = await get('/script.js', { 'accept-encoding': accepted })
    assert.equal(headers['content-encoding'], expected, accepted)
    assert.equal(headers.vary, 'Accept-Encoding')
    const decoded = expected === 'br' ? brotliDecompressSync(body) : expected === 'gzip' ? gunzipSync(body) : body
    assert.equal(decoded.toString(), SCRIPT, accepted)
    tags.add(headers.etag)
  }
  assert.equal(tags.size, 3)
  assert.equal((await get('/about')).headers.vary, undefined)
})

test('a client that has the file already gets a 304', async () => {
  const { etag = '' } = (await get('/script.js')).headers
  for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
    const { status, headers, body } = await get('/script.js', { 'if-none-match': known })
    assert.deepEqual([status, body.length, headers.etag], [304, 0, etag], known)
    assert.equal(headers['cache-control'], 'public, max-age=0, must-revalidate')
    assert.equal(headers.vary, 'Accept-Encoding')
  }
  for (const other of ['"other"', etag.replaceAll('"', ''), '', `${etag.slice(0, -1)}-br"`]) {
    assert.equal((await get('/script.js', { 'if-none-match': other })).status, 200, other)
  }
  const compressed = { 'if-none-match': etag, 'accept-encoding': 'br' }
  assert.equal((await get('/script.js', compressed)).status, 200, 'another encoding is another representation')
})

test('a part of a file is sent where one part is asked for', async () => {
  for (const [range, [text, contentRange]] of Object.entries({
    'bytes=0-3': ['0123', 'bytes 0-3/10'],
    'bytes=8-': ['89', 'bytes 8-9/10'],
    'bytes=-3': ['789', 'bytes 7-9/10'],
    'bytes=-100': ['0123456789', 'bytes 0-9/10'],
    'bytes=5-500': ['56789', 'bytes 5-9/10'],
    'Bytes=9-9': ['9', 'bytes 9-9/10'],
  })) {
    const answer = await get('/digits.txt', { range })
    assert.deepEqual([answer.status, answer.text, answer.headers['content-range']], [206, text, contentRange], range)
  }
  for (const range of ['bytes=0-1,3-4', 'lines=0-1', 'bytes=', 'bytes=a-b', 'bytes=4-2', 'bytes=-', 'bytes 0-1']) {
    const answer = await get('/digits.txt', { range })
    assert.deepEqual([answer.status, answer.text], [200, '0123456789'], range)
  }
  for (const range of ['bytes=10-', 'bytes=10-20', 'bytes=-0', 'bytes=99999999999999999999-']) {
    const answer = await get('/digits.txt', { range })
    assert.deepEqual([answer.status, answer.headers['content-range']], [416, 'bytes */10'], range)
  }
  assert.equal((await get('/empty/file.txt', { range: 'bytes=0-' })).status, 416)
  assert.equal((await get('/digits.txt', { range: 'bytes=0-3' }, 'HEAD')).status, 200)
})

test('a part is sent only of the file that the client has begun with', async () => {
  const { etag = '' } = (await get('/digits.txt')).headers
  const range = 'bytes=0-3'
  assert.equal((await get('/digits.txt', { range, 'if-range': etag })).status, 206)
  for (const other of ['"other"', `W/${etag}`, new Date().toUTCString()]) {
    assert.equal((await get('/digits.txt', { range, 'if-range': other })).status, 200, other)
  }
})

test('a large file comes whole and in parts', async () => {
  assert.ok((await get('/big.mp4')).body.equals(BIG))
  const part = await get('/big.mp4', { range: 'bytes=100000-1099999' })
  assert.equal(part.status, 206)
  assert.ok(part.body.equals(BIG.subarray(100_000, 1_100_000)))
})

test('a hash in the name lets a browser keep the file, anything else is asked for again', async () => {
  const cacheControl = async (path: string) => (await get(path)).headers['cache-control']
  assert.equal(await cacheControl('/assets/index-BxK3d9Aq.js'), 'public, max-age=31536000, immutable')
  assert.equal(await cacheControl('/script.js'), 'public, max-age=0, must-revalidate')
  assert.equal((await get('/script.js')).headers['x-content-type-options'], undefined)
  assert.equal((await get('/nothing')).headers['x-content-type-options'], 'nosniff')
})

test('a client that goes away, in the middle or at once, leaves no file open', async () => {
  const openFiles = async () => (await readdir('/proc/self/fd')).length
  await get('/big.mp4')
  const before = await openFiles()
  for (let round = 0; round < 20; round++) {
    const socket = connect(edge.port, '127.0.0.1')
    socket.on('error', () => undefined)
    socket.write(`GET /big.mp4 HTTP/1.1\r\nhost: ${HOST}\r\n\r\n`)
    await new Promise((resolve) => socket.once('data', resolve))
    socket.destroy()
  }
  // Gone before the file is open: the threads that open files are busy with something else.
  const leave = (_request: unknown, response: ServerResponse) => {
    for (let thread = 0; thread < 4; thread++) pbkdf2('', '', 20_000, 64, 'sha512', () => undefined)
    response.destroy()
  }
  edge.http.prependListener('request', leave)
  for (let round = 0; round < 10; round++) await assert.rejects(get('/big.mp4'))
  edge.http.off('request', leave)
  // Ours and the edge's end of each connection, and the file. It must not be left to the garbage collector, which says
  // so.
  const warnings: Error[] = []
  process.on('warning', (warning) => warnings.push(warning))
  while ((await openFiles()) > before) await get('/about')
  assert.deepEqual(warnings, [])
})

test('a file that is gone, shorter or a link now is a fault of ours, and the edge goes on', async (t) => {
  const target = await deploy(t, { 'gone.txt': 'x', 'short.txt': '0123456789', 'link.txt': 'x', 'long.mp4': BIG })
  const broken = await startTestEdge(t, { [HOST]: target, 'none.localhost': { ...target, manifest: '/nowhere' } })
  await rm(join(target.folder, 'gone.txt'))
  await truncate(join(target.folder, 'short.txt'), 5)
  await truncate(join(target.folder, 'long.mp4'), BIG.length / 2)
  await rm(join(target.folder, 'link.txt'))
  await symlink('/etc/passwd', join(target.folder, 'link.txt'))
  for (const path of ['/gone.txt', '/short.txt', '/link.txt']) {
    assert.equal((await ask(broken.port, { path })).status, 500, path)
  }
  await assert.rejects(ask(broken.port, { path: '/long.mp4' }), 'half a file is broken off, not ended')
  assert.equal((await ask(broken.port, { host: 'none.localhost' })).status, 500)
  assert.equal(broken.troubles.length, 5)
  assert.equal((await ask(broken.port, { path: '/nothing' })).status, 404)
})

test('many requests over one connection are answered in order', async () => {
  const paths = Array.from({ length: 50 }, (_, n) => ['/digits.txt', '/about', '/docs/logo.svg', '/script.js'][n % 4])
  const requests = paths.map((path) => `GET ${path} HTTP/1.1\r\nhost: ${HOST}\r\n\r\n`)
  const last = `GET /empty/file.txt HTTP/1.1\r\nhost: ${HOST}\r\nconnection: close\r\n\r\n`
  const { text } = await askRaw(edge.port, requests.join('') + last)
  const types = [...text.matchAll(/^content-type: (\S+?)[;\r]/gm)].map(([, type]) => type)
  const expected = ['text/plain', 'text/html', 'image/svg+xml', 'text/javascript']
  assert.deepEqual(types, [...paths.map((_, n) => expected[n % 4]), 'text/plain'])
})

test('an HTTP/1.0 client gets its file and the end of the connection', async () => {
  const { text } = await askRaw(edge.port, `GET /digits.txt HTTP/1.0\r\nhost: ${HOST}\r\n\r\n`)
  assert.match(text, /\r\n\r\n0123456789$/)
})

test('every answer about files says that the edge gave it: found, partly, elsewhere, not at all', async () => {
  const asked: [string, Record<string, string>, number][] = [
    ['/', {}, 200],
    ['/', { range: 'bytes=0-1' }, 206],
    ['/', { range: 'bytes=99-' }, 416],
    ['/docs', {}, 301],
    ['/missing', {}, 404],
    ['/%', {}, 400],
  ]
  for (const [path, headers, status] of asked) {
    const answer = await get(path, headers)
    assert.deepEqual([answer.status, answer.headers['cache-status']], [status, 'headland; hit; detail=file'], path)
  }
})

test('a site whose visitors ask for everything pushes no small file of a neighbour out of memory', async (t) => {
  const page = 'x'.repeat(2000)
  const [large, small] = [
    await deploy(t, Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`${n}.txt`, page]))),
    await deploy(t, { 'index.html': page }),
  ]
  const hosts = {
    'large.localhost': { ...large, environment: 'large' },
    'small.localhost': { ...small, environment: 'small' },
  }
  const shared = await startTestEdge(t, hosts, { limits: { readyFileBytes: 100_000 } })
  await ask(shared.port, { host: 'small.localhost' })
  for (let n = 0; n < 300; n++) await ask(shared.port, { host: 'large.localhost', path: `/${n}.txt` })
  let byNode = 0
  shared.http.on('request', () => byNode++)
  const again = { host: 'small.localhost', headers: { connection: 'keep-alive' } }
  assert.equal((await ask(shared.port, again)).text, page)
  assert.equal(byNode, 0, 'the fast path had it')
  await ask(shared.port, { ...again, host: 'large.localhost', path: '/0.txt' })
  assert.equal(byNode, 1, 'the large one gave up its own')
})
