import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { temporaryFolder } from '../../../test/support/folder.ts'
import { contentTypeOf } from '../http/content-types.ts'
import { isContentHashed } from './hashed-names.ts'
import { createManifest, TooLargeToList } from './manifest.ts'

const LONG_TEXT = 'A line that comes again and again.\n'.repeat(200)

async function folderWith(t: TestContext, files: Record<string, string | Buffer>): Promise<string> {
  const folder = await temporaryFolder(t)
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), content)
  }
  return folder
}

test('every regular file is listed with its size and digest, and nothing else', async (t) => {
  const folder = await folderWith(t, {
    'index.html': 'hello',
    'a/b/c.txt': '',
    'ünï côde.txt': 'x',
    '.env': 'SECRET=1',
    '.git/config': 'x',
    'a/.hidden': 'x',
    '.well-known/security.txt': 'mailto:',
    '.well-known/.hidden': 'x',
    'a/.well-known/no': 'x',
  })
  await symlink('/etc/passwd', join(folder, 'passwd'))
  await symlink('/etc', join(folder, 'etc'))
  await symlink('index.html', join(folder, 'alias.html'))
  const manifest = await createManifest(folder, await temporaryFolder(t), { singlePage: false })
  assert.deepEqual(Object.keys(manifest.files), [
    '/.well-known/security.txt',
    '/a/b/c.txt',
    '/index.html',
    '/ünï côde.txt',
  ])
  assert.deepEqual(manifest.files['/index.html'], {
    size: 5,
    digest: createHash('sha256').update('hello').digest('hex'),
  })
  assert.equal(manifest.notFound, null)
})

test('a 404.html is named, and single-page is as configured', async (t) => {
  const folder = await folderWith(t, { '404.html': 'gone', 'b/404.html': 'no' })
  const manifest = await createManifest(folder, await temporaryFolder(t), { singlePage: true })
  assert.equal(manifest.notFound, '/404.html')
  assert.equal(manifest.singlePage, true)
})

/** Which file is served at which address. */
async function addressesOf(t: TestContext, names: string[], basePath: string): Promise<Record<string, string>> {
  const folder = await folderWith(t, Object.fromEntries(names.map((name) => [name, name])))
  const { files } = await createManifest(folder, await temporaryFolder(t), { singlePage: false, basePath })
  return Object.fromEntries(Object.entries(files).map(([address, { path = address }]) => [address, path]))
}

test('files are listed under the base path that they were built for', async (t) => {
  assert.deepEqual(await addressesOf(t, ['index.html', 'docs/index.html', 'a/b.js'], '/docs'), {
    '/docs/a/b.js': '/a/b.js',
    '/docs/docs/index.html': '/docs/index.html',
    '/docs/index.html': '/index.html',
  })
})

test('what is only ever asked for at the top of a host is listed there too', async (t) => {
  const asked = ['.well-known/security.txt', 'favicon.ico', 'robots.txt', 'sitemap.xml']
  const addresses = await addressesOf(t, [...asked, 'index.html', 'a/robots.txt', 'robots.txt.html'], '/docs')
  const atTheTop = Object.keys(addresses).filter((address) => !address.startsWith('/docs/'))
  assert.deepEqual(
    atTheTop,
    asked.map((name) => `/${name}`),
  )
})

test('a base path that is in the files already is not put on again', async (t) => {
  assert.deepEqual(await addressesOf(t, ['a/docs/index.html', 'a/docs/x/index.html'], '/a/docs'), {
    '/a/docs/index.html': '/a/docs/index.html',
    '/a/docs/x/index.html': '/a/docs/x/index.html',
  })
})

test('what lies beside a folder with the base path’s name is found under it and as it lies', async (t) => {
  assert.deepEqual(await addressesOf(t, ['docs/index.html', 'docs/a.js', 'a.js', 'b.js', 'docsx/c.js'], '/docs'), {
    '/a.js': '/a.js',
    '/b.js': '/b.js',
    '/docs/a.js': '/docs/a.js',
    '/docs/index.html': '/docs/index.html',
    '/docsx/c.js': '/docsx/c.js',
    '/docs/b.js': '/b.js',
    '/docs/docsx/c.js': '/docsx/c.js',
  })
})

test('a base path is normalized to what a decoded request can have', async (t) => {
  const folder = await folderWith(t, { 'index.html': 'x', '404.html': 'x' })
  for (const [written, basePath] of Object.entries({
    '': '',
    '/': '',
    '/docs/': '/docs',
    docs: '/docs',
    '/a/b': '/a/b',
    '/a//b/../c': '/a/c',
    '/%2Fevil.example': '/evil.example',
    '/caf%C3%A9': '/café',
    '/100%': '/100%',
  })) {
    const manifest = await createManifest(folder, await temporaryFolder(t), { singlePage: false, basePath: written })
    assert.deepEqual([manifest.basePath, manifest.notFound], [basePath, `${basePath}/404.html`], written)
  }
})

test('text is compressed once, and only where it is worth it', async (t) => {
  const folder = await folderWith(t, {
    'long.js': LONG_TEXT,
    'same.css': LONG_TEXT,
    'short.js': 'x'.repeat(1024),
    'random.json': randomBytes(5000),
    'random.txt': randomBytes(1_500_000),
    'photo.png': LONG_TEXT,
    'huge.txt': LONG_TEXT.repeat(200),
  })
  const variants = await temporaryFolder(t)
  const { files } = await createManifest(folder, variants, { singlePage: false })
  const long = files['/long.js']
  assert.ok(long?.br && long.gzip && long.brSize && long.gzipSize)
  const [br, gzip] = await Promise.all([readFile(join(variants, long.br)), readFile(join(variants, long.gzip))])
  assert.equal(brotliDecompressSync(br).toString(), LONG_TEXT)
  assert.equal(gunzipSync(gzip).toString(), LONG_TEXT)
  assert.deepEqual([br.length, gzip.length], [long.brSize, long.gzipSize])
  assert.deepEqual(files['/same.css'], long, 'equal content shares one compressed copy')
  for (const path of ['/short.js', '/random.json', '/random.txt', '/photo.png']) {
    assert.deepEqual(Object.keys(files[path] ?? {}).sort(), ['digest', 'size'], path)
  }
  const huge = files['/huge.txt']
  assert.equal(brotliDecompressSync(await readFile(join(variants, huge?.br ?? ''))).toString(), LONG_TEXT.repeat(200))
  assert.equal(gunzipSync(await readFile(join(variants, huge?.gzip ?? ''))).toString(), LONG_TEXT.repeat(200))
  assert.equal((await readdir(variants)).length, 4)
})

test('the same folder gives the same manifest and the same bytes', async (t) => {
  const files = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`${n}.html`, `${n} ${LONG_TEXT}`]))
  const folder = await folderWith(t, files)
  const [one, other] = [await temporaryFolder(t), await temporaryFolder(t)]
  const manifests = [
    await createManifest(folder, one, { singlePage: false }),
    await createManifest(folder, other, { singlePage: false }),
  ]
  assert.equal(JSON.stringify(manifests[0]), JSON.stringify(manifests[1]))
  for (const name of await readdir(one)) {
    assert.ok((await readFile(join(one, name))).equals(await readFile(join(other, name))), name)
  }
})

test('the content type depends on the name', () => {
  const expected = {
    '/a.html': 'text/html; charset=utf-8',
    '/A.MJS': 'text/javascript; charset=utf-8',
    '/a.wasm': 'application/wasm',
    '/a.avif': 'image/avif',
    '/a.webp': 'image/webp',
    '/a.woff2': 'font/woff2',
    '/a.webmanifest': 'application/manifest+json',
    '/a.js.map': 'application/json',
    '/a.xml': 'application/xml; charset=utf-8',
    '/a.md': 'text/markdown; charset=utf-8',
    '/a.svg': 'image/svg+xml',
    '/a.ico': 'image/x-icon',
    '/v1.2/file': 'application/octet-stream',
    '/a.constructor': 'application/octet-stream',
  }
  for (const [path, type] of Object.entries(expected)) assert.equal(contentTypeOf(path).type, type, path)
})

test('a file is immutable only where its name surely contains a hash', () => {
  for (const path of [
    '/_next/static/chunks/main-app-0a1b2c3d4e5f6789.js',
    '/_next/static/chunks/0a1b2c3d.js',
    '/_next/static/Xb3k-_dTq9L2mNcVfR7aZ/_buildManifest.js',
    '/_next/static/media/inter.p.3f2a1b0c.woff2',
    '/_astro/index.DxK3d9A1.css',
    '/_nuxt/BxK3d9A1.js',
    '/_app/immutable/entry/start.B3x9KdQ1.js',
    '/assets/index-BxK3d9Aq.js',
    '/assets/index-B_k3-d9A.js',
    '/assets/index-BxK3d9Aq.js.map',
    '/static/js/main.8d3f2c1a.chunk.js',
  ]) {
    assert.equal(isContentHashed(path), true, path)
  }
  for (const path of [
    '/index.html',
    '/index-BxK3d9Aq.js',
    '/_nuxt/builds/latest.json',
    '/_app/version.json',
    '/assets/logo.png',
    '/assets/photo-20240131.jpg',
    '/assets/theme-material3.css',
    '/assets/bootstrap4theme.css',
    '/assets/my-theme-v2.css',
    '/assets/foo-bar-2024.pdf',
    '/assets/0a1b2c3d/logo.png',
    '/images/photo.0a1b2c3d.jpg',
  ]) {
    assert.equal(isContentHashed(path), false, path)
  }
})

test('a base path that no request could have is refused by name', async (t) => {
  const folder = await folderWith(t, { 'index.html': 'x' })
  const options = { singlePage: false, basePath: `/${'a'.repeat(10_000)}` }
  await assert.rejects(createManifest(folder, await temporaryFolder(t), options), TooLargeToList)
})
