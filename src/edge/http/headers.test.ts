/** What of a request reaches the application, and what of the answer comes back. */
import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import {
  ask,
  askRaw,
  edgeBefore,
  HOST,
  readRaw,
  startRawUpstream,
  startUpstream,
} from '../../../test/support/edge/edge.ts'

/** An application that answers with what it was asked: method, path, headers as they came, and the body. */
const mirror = (t: TestContext) =>
  startUpstream(t, async (asked, response) => {
    const { method, url, rawHeaders } = asked
    response.end(JSON.stringify({ method, url, rawHeaders, body: await text(asked) }))
  })

type Mirrored = { method: string; url: string; rawHeaders: string[]; body: string }

const valuesOf = ({ rawHeaders }: Mirrored, name: string): string[] =>
  rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === name)

test('method, path, query, headers and body arrive as they were sent', async (t) => {
  const edge = await edgeBefore(t, await mirror(t))
  const { status, text } = await ask(edge.port, {
    method: 'POST',
    path: '/a%2Fb/../c//?q=%20&r',
    headers: { 'X-Some-Thing': 'one', cookie: 'a=1; b=2', 'content-type': 'text/plain' },
    body: 'the body',
  })
  const seen: Mirrored = JSON.parse(text)
  assert.equal(status, 200)
  assert.deepEqual([seen.method, seen.url, seen.body], ['POST', '/a%2Fb/../c//?q=%20&r', 'the body'])
  assert.deepEqual(valuesOf(seen, 'host'), [HOST])
  assert.deepEqual(valuesOf(seen, 'x-some-thing'), ['one'])
  assert.deepEqual(valuesOf(seen, 'cookie'), ['a=1; b=2'])
  assert.deepEqual(valuesOf(seen, 'content-length'), ['8'])
  assert.deepEqual(valuesOf(seen, 'transfer-encoding'), [])
})

test('every method is forwarded, with a body or without', async (t) => {
  const edge = await edgeBefore(t, await mirror(t))
  for (const method of ['GET', 'DELETE', 'OPTIONS', 'PUT', 'PATCH', 'PROPFIND']) {
    for (const [headers, body] of [
      [{ 'content-length': '4' }, 'body'],
      [{ 'transfer-encoding': 'chunked' }, 'chunky'],
      [{}, ''],
    ] as const) {
      const seen: Mirrored = JSON.parse((await ask(edge.port, { method, headers: { ...headers }, body })).text)
      assert.deepEqual([seen.method, seen.body], [method, body])
    }
  }
})

test('the edge sets who asked and how, whatever the client sends', async (t) => {
  const edge = await edgeBefore(t, await mirror(t))
  const { text } = await ask(edge.port, {
    host: `${HOST}:8080`,
    headers: {
      'x-forwarded-for': '6.6.6.6',
      'X-Forwarded-Proto': 'https',
      'x-forwarded-host': 'evil.example',
      'x-forwarded-port': '666',
      x_forwarded_for: '6.6.6.6',
      content_length: '666',
      transfer_encoding: 'evil',
      forwarded: 'for=6.6.6.6',
      'x-real-ip': '6.6.6.6',
      proxy: 'http://evil.example',
      'proxy-authorization': 'Basic eA==',
      'x-middleware-subrequest': 'middleware',
      'X-Middleware-Subrequest-Id': '1',
      'x-nextjs-data': '1',
    },
  })
  const seen: Mirrored = JSON.parse(text)
  assert.deepEqual(valuesOf(seen, 'x-forwarded-for'), ['127.0.0.1'])
  assert.deepEqual(valuesOf(seen, 'x-forwarded-proto'), ['http'])
  assert.deepEqual(valuesOf(seen, 'x-forwarded-host'), [`${HOST}:8080`])
  assert.deepEqual(valuesOf(seen, 'host'), [`${HOST}:8080`])
  assert.deepEqual(valuesOf(seen, 'x-nextjs-data'), ['1'])
  assert.doesNotMatch(text, /6\.6\.6\.6|evil|666|proxy-auth|subrequest|x_forwarded/i)
})

test('headers that concern one connection do not cross, in either direction', async (t) => {
  const upstream = await startRawUpstream(t, async (socket) => {
    const asked = await readRaw(socket, /\r\n\r\n/)
    const body = Buffer.from(asked)
    socket.write(
      'HTTP/1.1 200 OK\r\nConnection: X-Secret, keep-alive\r\nX-Secret: 1\r\nKeep-Alive: timeout=7\r\n' +
        'Proxy-Authenticate: Basic\r\nUpgrade: h2c\r\nTrailer: x\r\nSet-Cookie: a=1\r\nset-cookie: b=2\r\n' +
        `X-Kept: yes\r\nContent-Length: ${body.length}\r\n\r\n`,
    )
    socket.write(body)
  })
  const edge = await edgeBefore(t, upstream)
  const { text: answer } = await askRaw(
    edge.port,
    `GET / HTTP/1.1\r\nHost: ${HOST}\r\nConnection: close, X-Hop, Host, X-Forwarded-For\r\nX-Hop: 1\r\nKeep-Alive: 5\r\n` +
      'TE: gzip, trailers\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\nX-Kept: yes\r\n\r\n',
  )
  const [head = '', asked = ''] = answer.split('\r\n\r\n')
  assert.doesNotMatch(head, /x-secret|timeout=7|proxy-|upgrade|trailer/i)
  assert.match(head, /\r\nSet-Cookie: a=1\r\nset-cookie: b=2\r\n/)
  assert.match(head, /\r\nX-Kept: yes\r\n/)
  assert.doesNotMatch(asked, /x-hop|upgrade|keep-alive: 5|gzip/i)
  assert.match(asked, new RegExp(`host: ${HOST}\\r\\n`, 'i'))
  assert.match(asked, /x-forwarded-for: 127\.0\.0\.1\r\n/)
  assert.match(asked, /te: trailers$/m)
  assert.doesNotMatch(asked, /^connection:/im)
})

test('a request with two lengths, bad chunks or bare line feeds is refused, and nothing of it goes on', async (t) => {
  let requests = 0
  const upstream = await startUpstream(t, (_, response) => {
    requests++
    response.end()
  })
  const edge = await edgeBefore(t, upstream)
  for (const rest of [
    'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!',
    'Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n',
    'X-Folded: a\r\n b\r\n\r\n',
    'X-Space : a\r\n\r\n',
    'X-Bare: a\nX-Other: b\r\n\r\n',
  ]) {
    const { text } = await askRaw(edge.port, `POST / HTTP/1.1\r\nHost: ${HOST}\r\n${rest}`)
    assert.match(text, /^HTTP\/1\.1 400 /, rest)
  }
  assert.equal(requests, 0)
  const { text } = await askRaw(
    edge.port,
    `POST / HTTP/1.1\r\nHost: ${HOST}\r\nTransfer-Encoding: chunked\r\n\r\nnonsense`,
  )
  assert.match(text, /^HTTP\/1\.1 (400|502)/)
  const { text: tooLarge } = await askRaw(edge.port, `GET / HTTP/1.1\r\nHost: ${HOST}\r\nX: ${'x'.repeat(40_000)}`)
  assert.match(tooLarge, /^HTTP\/1\.1 431 /)
})

test('a target with its own authority counts more than the Host header', async (t) => {
  const edge = await edgeBefore(t, await mirror(t))
  const { text } = await askRaw(
    edge.port,
    `GET http://${HOST}/path?q HTTP/1.1\r\nHost: other\r\nConnection: close\r\n\r\n`,
  )
  const seen: Mirrored = JSON.parse(text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1))
  assert.equal(seen.url, '/path?q')
  assert.deepEqual(valuesOf(seen, 'host'), [HOST])
  for (const target of ['nonsense', 'ftp://site.localhost/', `http://user@${HOST}/`]) {
    assert.match((await askRaw(edge.port, `GET ${target} HTTP/1.0\r\nHost: ${HOST}\r\n\r\n`)).text, /^HTTP\/1\.1 400 /)
  }
})
