import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import type { Answer, Ask } from './answer.ts'
import { askApp, MAX_BODY_BYTES } from './ask-app.ts'
import { askPages } from './ask-pages.ts'
import { MAX_REPORT_BYTES, type Report, toText } from './report.ts'

const siteUrl = new URL('http://shop.sites.test:8080')
const hosts = new Set(['shop.sites.test:8080'])
const site = { url: siteUrl, hosts }

async function serve(t: TestContext, listener: RequestListener): Promise<{ ask: Ask; port: number }> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => void server.close().closeAllConnections())
  const { port } = server.address() as AddressInfo
  return { ask: askApp({ host: '127.0.0.1', port, siteUrl, hosts }), port }
}

const options = { signal: new AbortController().signal, timeoutMs: 10_000 }
const SHORT_MS = 500

test('endless bodies, slow drips, huge headers and broken answers of a hostile app are bounded', async (t) => {
  const { ask } = await serve(t, (request, response) => {
    const chunk = Buffer.alloc(64 * 1024)
    if (request.url === '/endless') {
      const more = () => {
        while (!response.destroyed && response.write(chunk));
        response.once('drain', more)
      }
      return more()
    }
    if (request.url === '/drip') return void setInterval(() => response.write('.'), 50).unref()
    if (request.url === '/silent') return
    if (request.url === '/headers') return void response.setHeader('x-long', 'x'.repeat(200_000)).end()
    if (request.url === '/half')
      return void response.setHeader('content-length', 10).write('x', () => response.destroy())
    response.setHeader('location', 'http://127.0.0.1:1/inner').writeHead(302).end()
  })
  const answers: Record<string, Answer | undefined> = {}
  for (const path of ['/endless', '/headers', '/half', '/redirect']) answers[path] = await ask(path, options)
  for (const path of ['/drip', '/silent']) answers[path] = await ask(path, { ...options, timeoutMs: SHORT_MS })
  const seen = (path: string) => [answers[path]?.status, answers[path]?.end]
  assert.deepEqual(seen('/endless'), [200, 'TOO_LONG'])
  assert.ok((answers['/endless']?.bytes ?? 0) < MAX_BODY_BYTES + 1024 * 1024)
  assert.deepEqual(seen('/drip'), [200, 'TOO_SLOW'])
  assert.equal(answers['/silent']?.problem, 'none within 0.5 s')
  assert.match(answers['/headers']?.problem ?? '', /headers are longer/)
  assert.deepEqual(seen('/half'), [200, 'BROKEN_OFF'])
  assert.deepEqual([answers['/redirect']?.status, answers['/redirect']?.location], [302, 'http://127.0.0.1:1/inner'])
})

test('an app that is gone, or speaks another protocol, is no answer', async () => {
  const server = createTcpServer((socket) =>
    socket
      .on('error', () => undefined)
      .resume()
      .end('SSH-2.0-OpenSSH\r\n'),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const ask = askApp({ host: '127.0.0.1', port, siteUrl, hosts })
  assert.match((await ask('/', options))?.problem ?? '', /no HTTP/)
  await new Promise((resolve) => server.close(resolve))
  assert.match((await ask('/', options))?.problem ?? '', /refused/)
})

test('it asks as a visitor without cookies does, by the host of the environment', async (t) => {
  const seen: unknown[] = []
  const { ask } = await serve(t, ({ method, headers }, response) => {
    seen.push(method, headers.host, headers.cookie, headers.authorization)
    response.end()
  })
  await ask('/', { ...options, isHead: true })
  assert.deepEqual(seen, ['GET', 'shop.sites.test:8080', undefined, undefined])
})

test('a page that fails at times is not taken for broken, and one that always fails is', async (t) => {
  let requests = 0
  const html = (text: string) => `<p>${text.repeat(100)}</p>`
  const { ask: next } = await serve(t, ({ url }, response) => {
    const isBroken = url === '/broken' || (url === '/at-times' && ++requests % 2 === 1)
    response.writeHead(isBroken ? 500 : 200, { 'content-type': 'text/html' })
    response.end(html(String(Math.random())))
  })
  const { ask: live } = await serve(t, (_, response) => {
    response.setHeader('content-type', 'text/html').end(html(String(Math.random())))
  })
  const over = new AbortController().signal
  const before = (path: string) => live(path, options)
  const found = await askPages(['/broken', '/at-times', '/random'], { site, next, before, over, timeoutMs: 10_000 })
  const verdicts = Object.fromEntries(found.map(({ path, verdict }) => [path, verdict]))
  assert.deepEqual(verdicts, { '/broken': 'BROKEN', '/at-times': 'SAME', '/random': 'SAME' })
})

test('a file that a page loads and that is not there breaks it, unless it was missing before', async (t) => {
  const page = '<script src="/app.js"></script><script src="/gone.js"></script><img src="/photo.jpg">'
  const answerWith =
    (files: readonly string[]): RequestListener =>
    ({ url = '' }, response) => {
      if (url === '/') return void response.setHeader('content-type', 'text/html').end(page)
      if (url === '/image') return void response.setHeader('content-type', 'text/html').end('<img src="/photo.jpg">')
      response.writeHead(files.includes(url) ? 200 : 404).end()
    }
  const { ask: next } = await serve(t, answerWith([]))
  const { ask: live } = await serve(t, answerWith(['/app.js', '/photo.jpg']))
  const over = new AbortController().signal
  const before = (path: string, { isHead = false }: { isHead?: boolean }) => live(path, { ...options, isHead })
  const found = await askPages(['/', '/image'], { site, next, before, over, timeoutMs: 10_000 })
  assert.deepEqual(
    found.map(({ verdict, missingAssets }) => [verdict, missingAssets]),
    [
      ['BROKEN', ['/app.js', '/photo.jpg']],
      ['CHANGED', ['/photo.jpg']],
    ],
  )
})

test('a version that hangs is given up in time, and its first pages are broken', async (t) => {
  const { ask: next } = await serve(t, () => undefined)
  const { ask: live } = await serve(t, (_, response) => void response.end('x'))
  const over = AbortSignal.timeout(3000)
  const paths = Array.from({ length: 100 }, (_, n) => `/${n}`)
  const found = await askPages(paths, { site, next, before: (path) => live(path, options), over, timeoutMs: 200 })
  assert.ok(found.length >= 4 && found.length < 100)
  assert.ok(found.every(({ verdict }) => verdict === 'BROKEN'))
})

test('a stored report is never longer than its limit, and keeps the broken pages', () => {
  const after = { status: 200, milliseconds: 5, location: 'x'.repeat(300) }
  const pages = Array.from({ length: 200 }, (_, n) => ({
    path: `/${'p'.repeat(190)}${n}`,
    verdict: n < 3 ? ('BROKEN' as const) : ('SAME' as const),
    before: after,
    after,
  }))
  const counts = { checked: 200, changed: 0, broken: 3, leftOut: 0 }
  const report: Report = {
    outcome: 'HELD',
    mode: 'BLOCK',
    ...counts,
    pages,
    shortened: false,
    startTime: '',
    seconds: 1,
  }
  const text = toText(report)
  assert.ok(Buffer.byteLength(text) <= MAX_REPORT_BYTES)
  const read = JSON.parse(text) as Report
  assert.deepEqual(
    [read.shortened, read.pages.slice(0, 3).map(({ verdict }) => verdict)],
    [true, Array(3).fill('BROKEN')],
  )
})
