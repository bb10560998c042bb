/** Headers that are as long as they may be, and written to be hard to read, from visitors and from apps. */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { cachedApp, send, statusOf } from '../../../test/support/edge/cache.ts'
import { ask, HOST, startTestEdge } from '../../../test/support/edge/edge.ts'
import { temporaryFolder } from '../../../test/support/folder.ts'
import { longestWorkMs, MAX_STALL_MS } from '../../../test/support/machine/stalls.ts'
import { createManifest, writeManifest } from '../static/manifest.ts'

/** All headers of a request together have 32 KiB. */
const LENGTH = 31_000
const blanks = ' '.repeat(LENGTH)
const filled = (part: string, length = LENGTH) => part.repeat(Math.floor(length / part.length))

const FROM_VISITORS: readonly (readonly [string, string])[] = [
  ['range', `bytes=${blanks}x`],
  ['range', `bytes=1-${blanks}x`],
  ['range', `bytes=${filled('1')}x`],
  ['if-range', filled('"')],
  ...['a,', ';', 'a;q=1,', 'br;q=0.5,', ','].map((part) => ['accept-encoding', filled(part)] as const),
  ...['a,', ',', 'a;q=0.5,'].map((part) => ['accept-language', filled(part)] as const),
  ...['"a",', '"', 'W/"'].map((part) => ['if-none-match', filled(part)] as const),
  ...['a,', 'no-cache="a",', '"', '\\"'].map((part) => ['cache-control', filled(part)] as const),
  ['cookie', `__${filled('; ')}`],
  ['cookie', `__;${blanks}x`],
  ['connection', filled('a,')],
  ['if-modified-since', `Sun, ${blanks}x`],
  ['x-forwarded-for', filled('1,')],
]

/** The longest time that the event loop was blocked while every one was sent, with the fast path and without. */
async function longestOf(visit: (headers: Record<string, string>) => Promise<unknown>): Promise<number> {
  await visit({})
  return longestWorkMs(async () => {
    for (const [name, value] of FROM_VISITORS) {
      await visit({ [name]: value })
      await visit({ connection: 'keep-alive', [name]: value })
    }
  })
}

test('no header of a visitor holds the edge up before a static site', async (t) => {
  const [folder, variants] = [await temporaryFolder(t), await temporaryFolder(t)]
  await writeFile(join(folder, 'index.html'), '<p>a page</p>'.repeat(500))
  const manifest = await writeManifest(variants, await createManifest(folder, variants, { singlePage: false }))
  const site = { kind: 'static', environment: 'e1', deployment: 'd1', folder, manifest } as const
  const edge = await startTestEdge(t, { [HOST]: site })
  const stall = await longestOf(async (headers) => {
    assert.equal((await ask(edge.port, { headers })).status, 200)
  })
  assert.ok(stall < MAX_STALL_MS, `${stall} ms`)
})

test('no header of a visitor holds the edge up before an app whose pages are stored', async (t) => {
  const headers = { 'cache-control': 's-maxage=60', vary: 'Accept-Language, Accept-Encoding', etag: '"page"' }
  const edge = await cachedApp(t, (_, response) => send(response, headers))
  const stall = await longestOf(async (sent) => {
    assert.ok((await edge.get('/', sent)).status < 500)
  })
  assert.ok(stall < MAX_STALL_MS, `${stall} ms`)
})

test('a list in a header that is too long to be read has the meaning that is never wrong', async (t) => {
  const headers = {
    'cache-control': 's-maxage=60',
    'content-type': 'text/html',
    vary: 'Accept-Language',
    etag: '"page"',
  }
  const edge = await cachedApp(t, (_, response) => send(response, headers, 'a page '.repeat(1000)))
  const long = filled('de,', 4000)
  await edge.get('/', { 'accept-language': long })
  assert.match(statusOf(await edge.get('/', { 'accept-language': long })), /^hit/)
  assert.match(statusOf(await edge.get('/', { 'accept-language': `${long}en` })), /vary-miss/)
  const plain = { 'accept-language': long }
  for (let round = 0; round < 3; round++) await edge.get('/', { ...plain, 'accept-encoding': 'gzip' })
  const unread = await edge.get('/', { ...plain, 'accept-encoding': `${filled('br,', 2000)}gzip` })
  assert.equal(unread.headers['content-encoding'], undefined)
  assert.equal((await edge.get('/', { ...plain, 'if-none-match': '"page"' })).status, 304)
  assert.equal((await edge.get('/', { ...plain, 'if-none-match': `"page",${filled('"a",', 2000)}` })).status, 200)
  assert.match(statusOf(await edge.get('/new', { 'cache-control': filled('a,', 8000) })), /request-no-store/)
})

const FROM_APPS: Record<string, Record<string, string>> = {
  'a Vary of a thousand names': { vary: Array.from({ length: 1000 }, (_, n) => `x${n}`).join(',') },
  'a Vary of the same name': { vary: 'a,'.repeat(6000) },
  'a Cache-Control of many directives': { 'cache-control': `s-maxage=60,${'a,'.repeat(6000)}` },
  'a CDN-Cache-Control of many directives': { 'cdn-cache-control': `max-age=60${',a'.repeat(6000)}` },
  'more tags than are read': { 'cache-tag': 'a,'.repeat(6000) },
}

for (const [name, fields] of Object.entries(FROM_APPS)) {
  test(`${name} is passed on and not stored`, async (t) => {
    const edge = await cachedApp(t, (_, response) => send(response, { 'cache-control': 's-maxage=60', ...fields }))
    for (let round = 0; round < 2; round++) assert.equal((await edge.get()).text, 'body')
    assert.equal(edge.asked.length, 2)
  })
}
