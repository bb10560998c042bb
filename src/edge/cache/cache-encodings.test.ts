/**
 * Compressed encodings of stored responses: made once, for clients that accept them, and only where that is allowed.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { test } from 'node:test'
import { brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib'
import { type CachedApp, cachedApp, send, statusOf } from '../../../test/support/edge/cache.ts'
import type { EdgeResponse } from '../../../test/support/edge/edge.ts'
import { until } from '../../../test/support/until.ts'

const PAGE = `<p>${'A page that is worth compressing. '.repeat(200)}</p>`
const PACKED = gzipSync(PAGE)
const HTML = { 'cache-control': 'max-age=60', 'content-type': 'text/html; charset=utf-8', etag: '"page"' }
const BROWSER = { 'accept-encoding': 'gzip, deflate, br, zstd' }

const page = (_: IncomingMessage, response: ServerResponse) => send(response, HTML, PAGE)

/** Asks until it comes in this encoding, which is made in the background. */
const untilEncoded = (edge: CachedApp, headers: Record<string, string>, path = '/'): Promise<EdgeResponse> =>
  until(async () => {
    const answer = await edge.get(path, headers)
    return answer.headers['content-encoding'] !== undefined && answer
  }, 'it is compressed')

/** Asks so often that it would have been compressed by then. */
async function neverEncoded(edge: CachedApp, path = '/'): Promise<EdgeResponse> {
  let answer = await edge.get(path, BROWSER)
  for (let round = 0; round < 20; round++) answer = await edge.get(path, BROWSER)
  return answer
}

test('what the app left uncompressed is sent compressed to those who take it', async (t) => {
  const edge = await cachedApp(t, page)
  assert.equal((await edge.get('/', BROWSER)).text, PAGE)
  const br = await untilEncoded(edge, BROWSER)
  assert.equal(br.headers['content-encoding'], 'br')
  assert.equal(brotliDecompressSync(br.body).toString(), PAGE)
  assert.equal(br.headers['content-length'], String(br.body.length))
  assert.equal(br.headers.vary, 'Accept-Encoding')
  assert.equal(br.headers.etag, 'W/"page"')
  assert.match(statusOf(br), /^hit/)
  const gzip = await untilEncoded(edge, { 'accept-encoding': 'gzip' })
  assert.equal(gzip.headers['content-encoding'], 'gzip')
  assert.equal(gunzipSync(gzip.body).toString(), PAGE)
  const plain = await edge.get()
  assert.equal(plain.headers['content-encoding'], undefined)
  assert.equal(plain.text, PAGE)
  assert.equal(plain.headers.etag, '"page"')
  assert.equal(plain.headers.vary, 'Accept-Encoding')
  assert.equal((await edge.get('/', { 'accept-encoding': 'br;q=0, gzip;q=0.0, deflate' })).text, PAGE)
  assert.equal((await edge.get('/', { 'accept-encoding': 'gzip;q=0.5, identity' })).text, PAGE)
  assert.equal(edge.asked.length, 1)
})

test('an encoding is made once, however many clients accept it', async (t) => {
  const edge = await cachedApp(t, page)
  await edge.get('/', BROWSER)
  const before = await untilEncoded(edge, BROWSER)
  const all = await Promise.all(Array.from({ length: 20 }, () => edge.get('/', BROWSER)))
  for (const { body } of all) assert.ok(body.equals(before.body))
  const { stored } = await edge.inspect('e1', 'http://site.localhost/')
  assert.equal(stored.length, 1)
})

test('a client’s compressed copy is validated by its tag', async (t) => {
  const edge = await cachedApp(t, page)
  await edge.get('/', BROWSER)
  const br = await untilEncoded(edge, BROWSER)
  const known = await edge.get('/', { ...BROWSER, 'if-none-match': br.headers.etag ?? '' })
  assert.equal(known.status, 304)
  assert.equal(known.headers.etag, 'W/"page"')
  assert.equal(known.headers.vary, 'Accept-Encoding')
})

test('a part of a compressed response is never combined with another encoding', async (t) => {
  const edge = await cachedApp(t, page)
  await edge.get('/', BROWSER)
  const br = await untilEncoded(edge, BROWSER)
  const part = await edge.get('/', { ...BROWSER, range: 'bytes=0-9', 'if-range': '"page"' })
  assert.equal(part.status, 200, 'the strong tag is that of the unencoded response')
  const plain = await edge.get('/', { range: 'bytes=0-9', 'if-range': '"page"' })
  assert.equal(plain.status, 206)
  assert.equal(plain.text, PAGE.slice(0, 10))
  assert.ok(br.body.length > 10)
})

test('a response that must not be transformed, is compressed already or too small stays as it is', async (t) => {
  const responses: Record<string, [headers: Record<string, string>, body: Buffer]> = {
    '/no-transform': [{ ...HTML, 'cache-control': 'max-age=60, no-transform' }, Buffer.from(PAGE)],
    '/image': [{ ...HTML, 'content-type': 'image/png' }, Buffer.from(PAGE)],
    '/untyped': [{ 'cache-control': 'max-age=60' }, Buffer.from(PAGE)],
    '/short': [HTML, Buffer.from('short')],
    '/random': [HTML, randomBytes(5000)],
  }
  const edge = await cachedApp(t, ({ url = '' }, response) => {
    const [headers, body] = responses[url] ?? [{}, PACKED]
    send(response, headers, body)
  })
  for (const [path, [, body]] of Object.entries(responses)) {
    const answer = await neverEncoded(edge, path)
    assert.equal(answer.headers['content-encoding'], undefined, path)
    assert.ok(answer.body.equals(body), path)
    assert.equal(answer.headers['content-length'], String(body.length))
  }
  assert.equal((await edge.get('/no-transform')).headers.vary, undefined)
})

/** Compresses for all clients that accept gzip. */
const compressing = (vary: Record<string, string>) => (request: IncomingMessage, response: ServerResponse) => {
  if (!String(request.headers['accept-encoding']).includes('gzip')) return send(response, { ...HTML, ...vary }, PAGE)
  send(response, { ...HTML, ...vary, 'content-encoding': 'gzip' }, PACKED)
}

test('a response that the app has compressed is forwarded unchanged, only to clients that accept the encoding', async (t) => {
  const edge = await cachedApp(t, compressing({ vary: 'Accept-Encoding' }))
  for (let round = 0; round < 5; round++) {
    const browser = await edge.get('/', BROWSER)
    assert.equal(browser.headers['content-encoding'], 'gzip')
    assert.ok(browser.body.equals(PACKED))
    const plain = await edge.get()
    assert.equal(plain.headers['content-encoding'], undefined)
    assert.equal(plain.text, PAGE)
    assert.equal((await edge.get('/', { 'accept-encoding': 'deflate, zstd' })).text, PAGE)
  }
  assert.equal(edge.asked.length, 2)
})

test('a client that does not accept gzip gets none, also where the app’s Vary omits Accept-Encoding', async (t) => {
  const edge = await cachedApp(t, compressing({}))
  const first = await edge.get('/', BROWSER)
  assert.equal(first.headers.vary, 'Accept-Encoding', 'the edge has added it')
  for (let round = 0; round < 5; round++) {
    assert.ok((await edge.get('/', BROWSER)).headers.vary?.includes('Accept-Encoding'))
    for (const headers of [{}, { 'accept-encoding': 'deflate' }, { 'accept-encoding': 'gzip;q=0' }]) {
      const plain = await edge.get('/', headers as Record<string, string>)
      assert.equal(plain.headers['content-encoding'], undefined)
      assert.equal(plain.text, PAGE)
    }
  }
})

test('an encoding that only one reader takes is not stored for the others', async (t) => {
  const edge = await cachedApp(t, ({ headers }, response) => {
    const [encoding = ''] = String(headers['accept-encoding'] ?? '').split(',')
    if (encoding === '') return send(response, HTML, PAGE)
    send(response, { ...HTML, 'content-encoding': encoding }, `in ${encoding}`)
  })
  // Passed through, because the conditions are for the app.
  const conditions = { 'if-unmodified-since': new Date(Date.now() + 1e6).toUTCString() }
  for (const encoding of ['deflate', 'zstd, br, gzip', 'zstd']) {
    assert.match((await edge.get('/', { ...conditions, 'accept-encoding': encoding })).text, /^in /)
    assert.equal((await edge.get('/')).text, PAGE, encoding)
    assert.notEqual((await edge.get('/', { 'accept-encoding': 'br, gzip' })).headers['content-encoding'], 'zstd')
    edge.purge({ environment: 'e1' })
  }
})

test('bodies that went to the disk and came back are not compressed a second time', async (t) => {
  const packed = gzipSync(PAGE.repeat(50) + Math.random())
  const edge = await cachedApp(
    t,
    ({ url }, response) =>
      url?.startsWith('/fill')
        ? send(response, { 'cache-control': 'max-age=60' }, Buffer.alloc(10_000, url))
        : send(response, { ...HTML, 'content-encoding': 'gzip' }, packed),
    { memoryBytes: 100_000, diskBytes: 1e7 },
  )
  await edge.get('/', BROWSER)
  const isOnDisk = async () => (await edge.inspect('e1', 'http://site.localhost/')).stored[0]?.place === 'disk'
  for (let n = 0; n < 200 && !(await isOnDisk()); n++) await edge.get(`/fill-${n}`)
  assert.equal(await isOnDisk(), true)
  for (let round = 0; round < 20; round++) {
    const answer = await edge.get('/', BROWSER)
    assert.equal(answer.headers['content-encoding'], 'gzip')
    assert.ok(answer.body.equals(packed))
  }
  assert.equal(edge.asked.filter(({ url }) => url === '/').length, 1)
})

test('many encodings are made a few at a time, and no request waits for them', async (t) => {
  const edge = await cachedApp(t, ({ url }, response) => send(response, HTML, `${url} ${PAGE.repeat(20)}`))
  const paths = Array.from({ length: 20 }, (_, n) => `/${n}`)
  const encoded = async () => {
    const answers = await Promise.all(paths.map((path) => edge.get(path, BROWSER)))
    return answers.filter(({ headers }) => headers['content-encoding'] === 'br').length
  }
  assert.equal(await encoded(), 0)
  await until(async () => (await encoded()) === paths.length)
  assert.equal(edge.asked.length, paths.length)
})
