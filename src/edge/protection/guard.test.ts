/** Protected environments behind a real edge: what visitors, programs and attackers get, and what the app gets. */
import assert from 'node:assert/strict'
import type { IncomingMessage, RequestListener } from 'node:http'
import { type TestContext, test } from 'node:test'
import { ask, askRaw, HOST, serverTarget, startTestEdge, startUpstream } from '../../../test/support/edge/edge.ts'
import { quickPasswordHash } from '../../../test/support/quick-password.ts'
import { until } from '../../../test/support/until.ts'
import type { Limits } from '../limits.ts'
import type { Access, Protection, Target } from '../routes.ts'

const PASSWORD = 'correct horse'
const PAGE = { accept: 'text/html,application/xhtml+xml' }
const hash = quickPasswordHash(PASSWORD)

const locked = (cookieKey = 'the key'): Protection => ({ password: { hash, cookieKey } })
const basic = (password: string) => ({ authorization: `Basic ${Buffer.from(`ci:${password}`).toString('base64')}` })

type Given = { listener?: RequestListener; access?: Access; limits?: Partial<Limits>; now?(): number }

/** An app behind an edge, and the requests that it got. */
async function setUp(t: TestContext, { listener, access = { protection: locked() }, limits = {}, now }: Given = {}) {
  const asked: IncomingMessage[] = []
  const upstream = await startUpstream(t, (request, response) => {
    asked.push(request)
    if (listener) return listener(request, response)
    response.writeHead(200, { 'cache-control': 'public, s-maxage=600, max-age=60', 'cdn-cache-control': 'max-age=9' })
    response.end(`page ${asked.length}`)
  })
  const target: Target = { ...serverTarget(upstream.port), access }
  const edge = await startTestEdge(t, { [HOST]: target }, { limits, ...(now ? { now } : {}) })
  return { edge, port: edge.port, asked, target }
}

function sendForm(port: number, fields: Record<string, string>, headers: Record<string, string> = {}) {
  const body = new URLSearchParams(fields).toString()
  const type = { 'content-type': 'application/x-www-form-urlencoded' }
  return ask(port, { method: 'POST', path: '/.headland/unlock', headers: { ...type, ...headers }, body })
}

async function unlock(port: number): Promise<string> {
  const { headers } = await sendForm(port, { password: PASSWORD })
  return (headers['set-cookie']?.[0] ?? '').split(';')[0] as string
}

test('a browser gets a form, and with the right password a cookie and the page that it asked for', async (t) => {
  const { port, asked } = await setUp(t)
  const form = await ask(port, { path: '/a?b=1&c="><script>', headers: PAGE })
  assert.equal(form.status, 401)
  assert.equal(form.headers['www-authenticate'], undefined)
  assert.equal(form.headers['cache-control'], 'no-store')
  assert.match(form.headers['content-security-policy']?.toString() ?? '', /^default-src 'none'; style-src 'sha256-/)
  assert.match(form.text, /name="to" value="\/a\?b=1&amp;c=&quot;&gt;&lt;script&gt;"/)
  assert.doesNotMatch(form.text, /<script|src=|href=|@import|url\(/)

  const done = await sendForm(port, { password: PASSWORD, to: '/a?b=1' })
  assert.deepEqual([done.status, done.headers.location], [303, '/a?b=1'])
  assert.equal(asked.length, 0)
  const cookie = done.headers['set-cookie']?.[0]?.split(';')[0] ?? ''
  const page = await ask(port, { path: '/a?b=1', headers: { ...PAGE, cookie } })
  assert.deepEqual([page.status, page.text], [200, 'page 1'])
})

test('a program gets a challenge, and the page with the password by Basic, under any user name', async (t) => {
  const { port } = await setUp(t)
  const challenge = await ask(port)
  assert.equal(challenge.status, 401)
  assert.equal(challenge.headers['www-authenticate'], 'Basic realm="protected site", charset="UTF-8"')
  assert.equal((await ask(port, { headers: basic(PASSWORD) })).text, 'page 1')
  const wrong = await ask(port, { headers: basic('wrong') })
  assert.deepEqual([wrong.status, wrong.headers['www-authenticate'] !== undefined], [401, true])
})

test('a script of an open page gets no challenge, which would open a window of the browser', async (t) => {
  const { port } = await setUp(t)
  const { status, headers } = await ask(port, { headers: { accept: '*/*', 'sec-fetch-mode': 'cors' } })
  assert.deepEqual([status, headers['www-authenticate']], [401, undefined])
})

test('the app gets neither the cookie nor the password, and gets its own', async (t) => {
  const { port, asked } = await setUp(t, { listener: (_, response) => response.end('ok') })
  const cookie = await unlock(port)
  await ask(port, { path: '/1', headers: { cookie, authorization: 'Bearer app' } })
  await ask(port, { path: '/2', headers: { cookie: `a=1; ${cookie}; b=2` } })
  await ask(port, { path: '/3', headers: { ...basic(PASSWORD), cookie: 'a=1' } })
  await ask(port, { path: '/4', method: 'POST', headers: { cookie: `${cookie}; a=1` }, body: 'x' })
  const got = asked.map(({ url, headers }) => [url, headers.cookie, headers.authorization])
  assert.deepEqual(got, [
    ['/1', undefined, 'Bearer app'],
    ['/2', 'a=1; b=2', undefined],
    ['/3', 'a=1', undefined],
    ['/4', 'a=1', undefined],
  ])
  assert.ok(asked.every(({ rawHeaders }) => !rawHeaders.join().includes('headland_unlock')))
})

test('a second Authorization header beside the password does not reach the app', async (t) => {
  const { port, asked } = await setUp(t)
  const head = `Host: ${HOST}\r\nAuthorization: ${basic(PASSWORD).authorization}\r\nAuthorization: Bearer app`
  await askRaw(port, `GET / HTTP/1.1\r\n${head}\r\n\r\n`, /page 1/)
  assert.equal(asked[0]?.rawHeaders.join().includes('Bearer'), false)
})

test('visitors who may see it share stored pages, and others get none', async (t) => {
  const { port, asked } = await setUp(t, {
    listener: (_, response) => {
      response.writeHead(200, { 'cache-control': 's-maxage=600', vary: 'Cookie' })
      response.end('page')
    },
  })
  const cookie = await unlock(port)
  const first = await ask(port, { headers: { cookie } })
  const second = await ask(port, { headers: basic(PASSWORD) })
  assert.match(String(second.headers['cache-status']), /hit/)
  assert.deepEqual([asked.length, second.text], [1, first.text])
  assert.equal((await ask(port)).status, 401)
  assert.equal((await ask(port, { headers: { cookie: `${cookie}x` } })).status, 401)
})

test('no answer may be stored by a cache downstream', async (t) => {
  const { port } = await setUp(t)
  const headers = basic(PASSWORD)
  for (const round of ['fetched', 'stored']) {
    const page = await ask(port, { headers })
    assert.equal(page.headers['cache-control'], 'private, max-age=60', round)
    assert.equal(page.headers['cdn-cache-control'], undefined)
  }
  const known = await ask(port, { method: 'POST', headers, body: 'x' })
  assert.equal(known.headers['cache-control'], 'private, max-age=60')
  assert.equal(known.headers['cdn-cache-control'], undefined)
})

test('a visitor without the password does not wake a sleeping app, and one with it does', async (t) => {
  const woken: string[] = []
  const access = { protection: locked() }
  const edge = await startTestEdge(
    t,
    { [HOST]: { kind: 'asleep', environment: 'e1', deployment: 'd1', access } },
    { wake: (deployment) => woken.push(deployment) },
  )
  assert.equal((await ask(edge.port)).status, 401)
  assert.equal((await ask(edge.port, { headers: basic('wrong') })).status, 401)
  const upgrade = `GET / HTTP/1.1\r\nHost: ${HOST}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`
  assert.match((await askRaw(edge.port, upgrade)).text, /^HTTP\/1\.1 401 /)
  assert.deepEqual(woken, [])
  const waiting = ask(edge.port, { headers: basic(PASSWORD) })
  await until(() => woken.length === 1)
  edge.use({ [HOST]: { kind: 'empty', environment: 'e1', access } })
  assert.equal((await waiting).status, 404)
})

test('an upgrade needs the password, and the app gets the request without it', async (t) => {
  const { port, asked, edge, target } = await setUp(t)
  const upgrade = (headers: string) =>
    `GET /ws HTTP/1.1\r\nHost: ${HOST}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${headers}\r\n`
  const refused = (await askRaw(port, upgrade(''))).text
  assert.match(refused, /^HTTP\/1\.1 401 Unauthorized\r\n/)
  assert.match(refused, /\r\nwww-authenticate: Basic /)
  assert.match(
    (await askRaw(port, upgrade(`Authorization: ${basic('wrong').authorization}\r\n`))).text,
    /^HTTP\/1\.1 401 /,
  )
  assert.equal(asked.length, 0)
  const cookie = await unlock(port)
  const passed = (await askRaw(port, upgrade(`Cookie: ${cookie}\r\n`))).text
  assert.match(passed, /^HTTP\/1\.1 200 OK\r\n/, 'the app has no WebSocket')
  assert.match(passed, /Cache-Control: private, max-age=60\r\n/)
  assert.equal(asked[0]?.headers.cookie, undefined)
  edge.use({ [HOST]: { ...target, access: { protection: { addresses: ['203.0.113.1'] } } } })
  assert.match((await askRaw(port, upgrade(`Cookie: ${cookie}\r\n`))).text, /^HTTP\/1\.1 403 Forbidden\r\n/)
})

test('a redirect to another host of the environment needs the password as well', async (t) => {
  const access = { protection: locked() }
  const edge = await startTestEdge(t, { [HOST]: { kind: 'redirect', environment: 'e1', to: 'secret.example', access } })
  const refused = await ask(edge.port)
  assert.deepEqual([refused.status, JSON.stringify(refused).includes('secret.example')], [401, false])
  const { status, headers } = await ask(edge.port, { headers: basic(PASSWORD) })
  assert.deepEqual([status, headers.location], [308, '//secret.example/'])
  assert.equal(headers['cache-control'], 'private, max-age=0, must-revalidate')
})

test('only allowed addresses get an answer, whatever a visitor claims', async (t) => {
  const { port, edge, target } = await setUp(t, { access: { protection: { addresses: ['203.0.113.0/24'] } } })
  const claims: Record<string, string>[] = [
    {},
    { 'x-forwarded-for': '203.0.113.7' },
    { 'x-forwarded-for': '203.0.113.7', 'x-real-ip': '203.0.113.7', forwarded: 'for=203.0.113.7' },
    { x_forwarded_for: '203.0.113.7' },
    { 'x-forwarded-for': '203.0.113.7', connection: 'x-forwarded-for' },
  ]
  for (const headers of claims) assert.equal((await ask(port, { headers })).status, 403, JSON.stringify(headers))
  edge.trust(['127.0.0.1'])
  assert.equal((await ask(port, { headers: { 'x-forwarded-for': '203.0.113.7' } })).status, 200)
  // Only what the trusted proxy has added counts: the last address.
  assert.equal((await ask(port, { headers: { 'x-forwarded-for': '203.0.113.7, 198.51.100.1' } })).status, 403)
  const twice = `GET / HTTP/1.1\r\nHost: ${HOST}\r\nX-Forwarded-For: 203.0.113.7\r\nX-Forwarded-For: 198.51.100.1\r\n\r\n`
  assert.match((await askRaw(port, twice, /\r\n\r\n/)).text, /^HTTP\/1\.1 403 /)
  for (const unclear of ['', 'unknown', '203.0.113.7, unknown', '203.0.113.0/24'])
    assert.equal((await ask(port, { headers: { 'x-forwarded-for': unclear } })).status, 403, unclear)
  edge.use({ [HOST]: { ...target, access: { protection: { addresses: ['127.0.0.1'] } } } })
  edge.trust([])
  assert.equal((await ask(port)).status, 200)
})

test('an allowed address must still know the password, and the form of another address is not taken', async (t) => {
  const { port, edge, target } = await setUp(t, { access: { protection: { ...locked(), addresses: ['127.0.0.0/8'] } } })
  assert.equal((await ask(port)).status, 401)
  const cookie = await unlock(port)
  assert.equal((await ask(port, { headers: { cookie } })).status, 200)
  edge.use({ [HOST]: { ...target, access: { protection: { ...locked(), addresses: ['203.0.113.7'] } } } })
  assert.equal((await sendForm(port, { password: PASSWORD })).status, 403)
  assert.equal((await ask(port, { headers: { cookie } })).status, 403)
})

test('guesses are limited, by form and by Basic together, and cookies go on', async (t) => {
  const { port } = await setUp(t, { limits: { unlockTriesOfClient: { atOnce: 3, perSecond: 0.001 } } })
  const cookie = await unlock(port)
  assert.match((await sendForm(port, { password: 'wrong' })).text, /role="alert">This is not the password/)
  assert.equal((await ask(port, { headers: basic('wrong') })).status, 401)
  assert.equal((await sendForm(port, { password: 'wrong' })).status, 401)
  const form = await sendForm(port, { password: 'wrong', to: '/a' })
  assert.equal(form.status, 429)
  assert.match(form.headers['retry-after'] ?? '', /^\d+$/)
  assert.match(form.text, /Too many attempts/)
  assert.equal((await ask(port, { headers: basic('wrong again') })).status, 429)
  assert.equal((await ask(port, { headers: { cookie } })).status, 200)
})

test('another password ends all cookies and what was remembered of the one before', async (t) => {
  const { port, edge, target } = await setUp(t)
  const cookie = await unlock(port)
  assert.equal((await ask(port, { headers: basic(PASSWORD) })).status, 200)
  const next = { hash: quickPasswordHash('another one'), cookieKey: 'the next key' }
  edge.use({ [HOST]: { ...target, access: { protection: { password: next } } } })
  assert.equal((await ask(port, { headers: { cookie } })).status, 401)
  assert.equal((await ask(port, { headers: basic(PASSWORD) })).status, 401)
  assert.equal((await ask(port, { headers: basic('another one') })).status, 200)
})

test('a form that is too large, too slow, of another site or no form is refused before a password is compared', async (t) => {
  const { port } = await setUp(t, {
    limits: { unlockBodyMs: 200, unlocksWaiting: 0, unlocksWaitingPerEnvironment: 0 },
  })
  const large = { password: PASSWORD, to: 'x'.repeat(20_000) }
  assert.equal((await sendForm(port, large)).status, 413)
  const head = `POST /.headland/unlock HTTP/1.1\r\nHost: ${HOST}\r\nContent-Type: application/x-www-form-urlencoded\r\n`
  const chunk = `4000\r\n${'x'.repeat(0x4000)}\r\n`
  const chunked = `${head}Transfer-Encoding: chunked\r\n\r\n${chunk}${chunk}`
  assert.match((await askRaw(port, chunked, /\r\n\r\n/)).text, /^HTTP\/1\.1 413 /)
  assert.match((await askRaw(port, `${head}Content-Length: 9\r\n\r\npass`, /\r\n\r\n/)).text, /^HTTP\/1\.1 408 /)
  const others: Record<string, string>[] = [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: `http://${HOST}.evil.example` },
    { origin: `http://${HOST}`, 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
  ]
  for (const headers of others)
    assert.equal((await sendForm(port, { password: PASSWORD }, headers)).status, 403, JSON.stringify(headers))
  assert.equal((await sendForm(port, { password: PASSWORD }, { 'content-type': 'text/plain' })).status, 400)
  // It came as far as the comparison, for which there is no place here.
  const own = { origin: `http://${HOST}:8081`, 'sec-fetch-site': 'same-origin' }
  assert.equal((await sendForm(port, { password: PASSWORD }, own)).status, 429)
})

test('a form leads to no other site', async (t) => {
  const { port } = await setUp(t)
  for (const to of ['//evil.example', 'https://evil.example', '/\\evil.example', '/a\r\nx: y'])
    assert.equal((await sendForm(port, { password: PASSWORD, to })).headers.location, '/', to)
})

test('the address of the form belongs to the app where there is no password', async (t) => {
  const { port, edge, target, asked } = await setUp(t, { access: {} })
  assert.equal((await ask(port, { path: '/.headland/unlock' })).text, 'page 1')
  edge.use({ [HOST]: { ...target, access: { protection: { addresses: ['127.0.0.1'] } } } })
  assert.equal((await sendForm(port, { password: 'x' })).status, 200)
  edge.use({ [HOST]: { ...target, access: { protection: locked() } } })
  assert.equal((await ask(port, { path: '/.headland/unlock', headers: PAGE })).status, 401)
  const known = await ask(port, { path: '/.headland/unlock', headers: basic(PASSWORD) })
  assert.deepEqual([known.status, known.headers.location, asked.length], [303, '/', 2])
})

test('files below /.well-known/ are protected like all others', async (t) => {
  const { port, asked } = await setUp(t)
  assert.equal((await ask(port, { path: '/.well-known/acme-challenge/token' })).status, 401)
  assert.equal(asked.length, 0)
})

test('every answer of a hidden environment asks search engines not to list it', async (t) => {
  const access = { isHidden: true }
  const { port, edge } = await setUp(t, { access })
  for (const round of ['fetched', 'stored', 'by the fast path', 'again'])
    assert.equal((await ask(port, { headers: { connection: 'keep-alive' } })).headers['x-robots-tag'], 'noindex', round)
  for (const method of ['HEAD', 'POST', 'OPTIONS'])
    assert.equal((await ask(port, { method })).headers['x-robots-tag'], 'noindex', method)
  const others: Record<string, Target> = {
    empty: { kind: 'empty', environment: 'e1', access },
    down: { kind: 'down', environment: 'e1', deployment: 'd', access },
    redirect: { kind: 'redirect', environment: 'e1', to: 'x.example', access },
    gone: { ...serverTarget(1), access } as Target,
    locked: { kind: 'empty', environment: 'e1', access: { ...access, protection: locked() } },
  }
  edge.use(others)
  for (const host of Object.keys(others))
    assert.equal((await ask(port, { host })).headers['x-robots-tag'], 'noindex', host)
  const upgrade = 'GET / HTTP/1.1\r\nHost: gone\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'
  assert.match((await askRaw(port, upgrade)).text, /\r\nX-Robots-Tag: noindex\r\n/)
  assert.equal((await ask(port, { host: 'unknown' })).headers['x-robots-tag'], undefined)
})

test('an environment that becomes public is not hidden in any later answer, and the other way round', async (t) => {
  const { port, edge, target } = await setUp(t, { access: { isHidden: true } })
  const robots = async () => (await ask(port, { headers: { connection: 'keep-alive' } })).headers['x-robots-tag']
  for (let round = 0; round < 4; round++) assert.equal(await robots(), 'noindex')
  const { access: _, ...open } = target
  edge.use({ [HOST]: open as Target })
  assert.equal(await robots(), undefined)
  edge.use({ [HOST]: { ...target, access: { isHidden: true } } })
  assert.equal(await robots(), 'noindex')
})
