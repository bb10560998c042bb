/** Pictures of sites by a real browser in the real sandbox. The sites are servers that stand for the edge. */
import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { unlessGone } from '../../src/base/index.ts'
import { createShoot, findBrowser } from '../../src/screenshots/index.ts'
import { CHROMIUM } from '../support/chromium.ts'
import { temporaryFolder } from '../support/folder.ts'
import { testSandbox } from '../support/machine/engine.ts'
import { runningProcesses } from '../support/machine/process-tree.ts'

const engine = await testSandbox()
const USER = process.getuid?.() === 0 ? { uid: 210_097, gid: 210_097 } : undefined
const browser = await findBrowser(CHROMIUM)
assert.ok(browser, `the tests need ${CHROMIUM}`)

/** Processes of the user that takes the pictures, which no other test has. */
const left = (): string[][] =>
  runningProcesses().flatMap(({ pid, command }) =>
    USER && unlessGone(() => statSync(`/proc/${pid}`).uid) === USER.uid ? [command] : [],
  )

type Asked = { method: string | undefined; url: string | undefined; host: string | undefined }

type Times = { limitMs: number; loadMs: number; settleMs: number }
const USUAL: Times = { limitMs: 60_000, loadMs: 20_000, settleMs: 1000 }

async function open(
  t: TestContext,
  answer: (request: IncomingMessage, response: ServerResponse) => unknown,
  times = USUAL,
) {
  const asked: Asked[] = []
  const server = createServer((request, response) => {
    const { method, url, headers } = request
    asked.push({ method, url, host: headers.host })
    answer(request, response)
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  const folder = await temporaryFolder(t)
  assert.ok(browser)
  const shoot = createShoot({ engine, browser, edge: { host: '127.0.0.1', port }, folder, times })
  return {
    asked,
    port,
    shoot: (url = 'http://shop.localhost/', signal = new AbortController().signal) =>
      shoot({ url, hosts: ['shop.localhost', 'shop.example.com'], user: USER }, signal),
  }
}

function page(response: ServerResponse, html: string) {
  response.setHeader('content-type', 'text/html; charset=utf-8')
  response.end(`<!doctype html>${html}`)
}

/** A picture of a blank page is far smaller than one of a page with something on it. */
const sizeOf = (shot: Awaited<ReturnType<Awaited<ReturnType<typeof open>>['shoot']>>): number => {
  assert.ok('png' in shot, 'fault' in shot ? shot.fault : '')
  return shot.png.length
}

test('a site is shown as visitors see it, with what its scripts add, over HTTP and HTTPS', async (t) => {
  const script = `setTimeout(() => document.body.style.background = 'repeating-radial-gradient(#39f 0 5px, #fff 9px)', 50)`
  const { shoot, asked } = await open(t, ({ url }, response) =>
    url === '/blank' ? page(response, '') : page(response, `<body><script>${script}</script>`),
  )
  const [plain, secure, blank] = [
    await shoot(),
    await shoot('https://shop.example.com/'),
    await shoot('http://shop.localhost/blank'),
  ]
  assert.ok(sizeOf(plain) > 2 * sizeOf(blank))
  assert.ok(sizeOf(secure) > 2 * sizeOf(blank))
  assert.ok(asked.some(({ host }) => host === 'shop.example.com'))
})

test('a page that waits for one of its parts for ever is taken as far as it has come', async (t) => {
  const { shoot } = await open(
    t,
    ({ url }, response) => {
      if (url === '/') page(response, '<img src="/never"><script>new EventSource("/events")</script>')
    },
    { ...USUAL, loadMs: 1500 },
  )
  assert.ok(sizeOf(await shoot()) > 0)
})

test('a site that never answers has no picture, and nothing of it goes on', async (t) => {
  const { shoot } = await open(t, () => undefined, { limitMs: 4000, loadMs: 1500, settleMs: 100 })
  const shot = await shoot('http://shop.localhost/')
  assert.ok('fault' in shot)
  assert.deepEqual(left(), [])
})

test('a page that never stops has no picture after the limit, and nothing of it goes on', async (t) => {
  const { shoot } = await open(t, (_, response) => page(response, '<script>for (;;);</script>'), {
    limitMs: 6000,
    loadMs: 1000,
    settleMs: 100,
  })
  assert.deepEqual(await shoot(), { fault: 'it took more than 6 seconds' })
  assert.deepEqual(left(), [])
})

test('a page that fills the memory ends at its limit', async (t) => {
  const html = '<script>const all = []; for (;;) all.push(new Uint8Array(1e7).fill(1))</script>'
  const { shoot } = await open(t, (_, response) => page(response, html), { ...USUAL, limitMs: 20_000 })
  assert.ok('fault' in (await shoot()))
  assert.deepEqual(left(), [])
})

test('an error of the site is no picture of it', async (t) => {
  const { shoot } = await open(t, ({ url }, response) => {
    if (url === '/loop') response.writeHead(302, { location: '/loop' }).end()
    else response.writeHead(500, { 'content-type': 'text/html' }).end('<h1>broken</h1>')
  })
  for (const url of ['http://shop.localhost/', 'http://shop.localhost/loop'])
    assert.deepEqual(await shoot(url), { fault: 'the site answered with no page' })
})

test('a hostile page reaches nothing but its own site', async (t) => {
  const secret = createServer((_, response) => response.end('secret')).listen(0, '127.0.0.1')
  await new Promise((resolve) => secret.once('listening', resolve))
  t.after(() => secret.close())
  let calls = 0
  secret.on('connection', () => calls++)
  const { port } = secret.address() as AddressInfo
  const tries = [
    `http://127.0.0.1:${port}/`,
    `http://localhost:${port}/`,
    `http://[::1]:${port}/`,
    `https://127.0.0.1:${port}/`,
    `http://other.localhost/`,
    `https://other.example.com/`,
    'http://169.254.169.254/',
    'file:///etc/hostname',
  ]
  const script = `
    const tell = (what) => fetch('/told?' + encodeURIComponent(what), { method: 'POST' })
    for (const url of ${JSON.stringify(tries)}) {
      fetch(url, { mode: 'no-cors' }).then((answer) => answer.status === 403 || answer.type === 'opaque' || tell(url), () => 0)
      const image = new Image(); image.onload = () => tell('image ' + url); image.src = url
      const frame = document.createElement('iframe'); frame.src = url; document.body.append(frame)
      try { new WebSocket(url.replace('http', 'ws')).onopen = () => tell('socket ' + url) } catch {}
    }
    tell('began')`
  const { shoot, asked } = await open(t, (_, response) => page(response, `<body><script>${script}</script>`))
  await shoot()
  assert.equal(calls, 0)
  assert.deepEqual(
    [...new Set(asked.filter(({ url }) => url?.startsWith('/told')).map(({ url }) => url))],
    ['/told?began'],
  )
  assert.deepEqual([...new Set(asked.map(({ host }) => host))], ['shop.localhost'])
})

test('a picture that is no longer wanted ends at once, with all that was started for it', async (t) => {
  const wanted = new AbortController()
  const { shoot } = await open(t, () => wanted.abort())
  await assert.rejects(shoot('http://shop.localhost/', wanted.signal), { name: 'AbortError' })
  assert.deepEqual(left(), [])
})

test('a browser that is not there or cannot be run is none', async (t) => {
  assert.equal(await findBrowser('/usr/bin/no-such-browser'), undefined)
  const file = join(await temporaryFolder(t), 'browser')
  await writeFile(file, 'no program', { mode: 0o644 })
  assert.equal(await findBrowser(file), undefined)
})
