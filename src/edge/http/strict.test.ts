import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { ask, edgeBefore, HOST, readRaw, startRawUpstream, startUpstream } from '../../../test/support/edge/edge.ts'

const host = `Host: ${HOST}`

/** Sends it, and reads until the other side closes or the text contains what is waited for. */
async function notify(port: number, text: string, until?: RegExp): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write(text, 'latin1')
  const answer = await readRaw(socket, until)
  socket.destroy()
  return answer
}

/** A head, and a body as it is. */
const bytes = (line: string, headers: string[] = [host], body = ''): string =>
  `${[line, ...headers].map((text) => `${text}\r\n`).join('')}\r\n${body}`

const chunked = 'Transfer-Encoding: chunked'
const post = (headers: string[], body = ''): string => bytes('POST / HTTP/1.1', [host, ...headers], body)
const get = (...headers: string[]): string => bytes('GET / HTTP/1.1', [host, ...headers])

const REFUSED: Record<string, [number, string]> = {
  'two lengths': [400, post(['Content-Length: 4', 'Content-Length: 5'], 'body')],
  'the same length twice': [400, post(['Content-Length: 4', 'Content-Length: 4'], 'body')],
  'a list of lengths': [400, post(['Content-Length: 4, 4'], 'body')],
  'a length with a sign': [400, post(['Content-Length: +4'], 'body')],
  'a length in another base': [400, post(['Content-Length: 0x4'], 'body')],
  'a length with a blank inside': [400, post(['Content-Length: 1 4'], 'body')],
  'an empty length': [400, post(['Content-Length:'])],
  'a length beyond counting': [400, post([`Content-Length: 1${'0'.repeat(30)}`], 'body')],
  'a length, then chunks': [400, post(['Content-Length: 4', chunked], '0\r\n\r\n')],
  'chunks, then a length': [400, post([chunked, 'Content-Length: 4'], '0\r\n\r\n')],
  'chunked twice': [400, post([chunked, chunked], '0\r\n\r\n')],
  'chunked, but not last': [400, post(['Transfer-Encoding: chunked, identity'], '0\r\n\r\n')],
  'chunked, and another after it': [400, post([chunked, 'Transfer-Encoding: identity'], '0\r\n\r\n')],
  'a coding that we do not undo': [501, post(['Transfer-Encoding: gzip, chunked'], '0\r\n\r\n')],
  'an unknown coding': [400, post(['Transfer-Encoding: xchunked'], '0\r\n\r\n')],
  'a list that begins with nothing': [501, post(['Transfer-Encoding: , chunked'], '0\r\n\r\n')],
  'a coding in quotes': [400, post(['Transfer-Encoding: "chunked"'], '0\r\n\r\n')],
  'a coding with parameters': [400, post(['Transfer-Encoding: chunked;q=1'], '0\r\n\r\n')],
  'a coding after a vertical tab': [400, post(['Transfer-Encoding: \x0bchunked'], '0\r\n\r\n')],
  'a coding and a tab after it': [400, post(['Transfer-Encoding: chunked \t'], '0\r\n\r\n')],
  'an empty coding': [400, post(['Transfer-Encoding:'])],
  'a blank before the colon': [400, post(['Transfer-Encoding : chunked'], '0\r\n\r\n')],
  'chunks in HTTP/1.0': [400, bytes('POST / HTTP/1.0', [host, chunked], '0\r\n\r\n')],
  'a chunk without a size': [400, post([chunked], '\r\nbody\r\n0\r\n\r\n')],
  'a chunk size that is none': [400, post([chunked], 'xyz\r\n')],
  'a negative chunk size': [400, post([chunked], '-1\r\n')],
  'a chunk size with a prefix': [400, post([chunked], '0x4\r\nbody\r\n0\r\n\r\n')],
  'a chunk size beyond counting': [400, post([chunked], `${'f'.repeat(17)}\r\nbody`)],
  'a chunk size and a blank': [400, post([chunked], '4 \r\nbody\r\n0\r\n\r\n')],
  'a chunk size before a bare line feed': [400, post([chunked], '4\nbody\r\n0\r\n\r\n')],
  'a chunk that ends with a bare line feed': [400, post([chunked], '4\r\nbody\n0\r\n\r\n')],
  'a chunk that is longer than its size': [400, post([chunked], '4\r\nbodies\r\n0\r\n\r\n')],
  'an extension before a bare line feed': [400, post([chunked], '4;a\nbody\r\n0\r\n\r\n')],
  'an extension with an open quote': [400, post([chunked], '4;a="\r\nbody\r\n0\r\n\r\n')],
  'an extension without an end': [413, post([chunked], `4;${'a'.repeat(20_000)}\r\nbody\r\n0\r\n\r\n`)],
  'a length in a trailer': [400, post([chunked], '0\r\nContent-Length: 4\r\n\r\n')],
  'a coding in a trailer': [400, post([chunked], `0\r\n${chunked}\r\n\r\n`)],
  'bare line feeds': [400, `GET / HTTP/1.1\n${host}\n\n`],
  'a bare line feed after the request line': [400, `GET / HTTP/1.1\n${host}\r\n\r\n`],
  'a bare line feed after a header': [400, `GET / HTTP/1.1\r\n${host}\nX: y\r\n\r\n`],
  'a bare line feed at the end': [400, `GET / HTTP/1.1\r\n${host}\r\n\n`],
  'a bare carriage return in a value': [400, get('X: a\rY: b')],
  'a bare carriage return at the end': [400, `GET / HTTP/1.1\r\n${host}\r\n\rX: y\r\n\r\n`],
  'a folded line': [400, get('X: a\r\n b')],
  'a folded Host': [400, `GET / HTTP/1.1\r\nHost:\r\n ${HOST}\r\n\r\n`],
  'a blank before the first header': [400, bytes('GET / HTTP/1.1', [' X: y', host])],
  'a NUL in a value': [400, get('X: a\0b')],
  'a control character in a value': [400, get('X: a\x01b')],
  'a NUL in the target': [400, bytes('GET /a\0b HTTP/1.1')],
  'a blank in the target': [400, bytes('GET /a b HTTP/1.1')],
  'a tab in the target': [400, bytes('GET /a\tb HTTP/1.1')],
  'a byte beyond ASCII in the target': [400, bytes('GET /\xe9 HTTP/1.1')],
  'a fragment in the target': [400, bytes('GET /a#b HTTP/1.1')],
  'a target that is no path': [400, bytes('GET a HTTP/1.1')],
  'a star for something else than OPTIONS': [400, bytes('GET * HTTP/1.1')],
  'a target that is too long': [414, bytes(`GET /${'a'.repeat(8192)} HTTP/1.1`)],
  'a target beyond all headers': [431, bytes(`GET /${'a'.repeat(40_000)} HTTP/1.1`)],
  'a header name with a parenthesis': [400, get('X(y): z')],
  'a header without a name': [400, get(': y')],
  'a header without a colon': [400, get('X')],
  'a header that is too long': [431, get(`X: ${'a'.repeat(40_000)}`)],
  'too many headers': [431, get(...Array.from({ length: 100 }, (_, n) => `X-${n}: y`))],
  'far too many headers': [431, get(...Array.from({ length: 5000 }, () => 'X:'))],
  'two hosts': [400, get('Host: other')],
  'the same host twice': [400, get(host)],
  'no host': [400, bytes('GET / HTTP/1.1', [])],
  'HTTP/0.9': [505, 'GET /\r\n\r\n'],
  'HTTP/0.9 by name': [505, bytes('GET / HTTP/0.9')],
  'HTTP/1.2': [400, bytes('GET / HTTP/1.2')],
  'HTTP/2.0': [505, bytes('GET / HTTP/2.0')],
  'a preface of HTTP/2': [400, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  'a version in lower case': [400, bytes('GET / http/1.1')],
  'something after the version': [400, bytes('GET / HTTP/1.1 x')],
  'another protocol': [400, bytes('DESCRIBE / RTSP/1.0')],
  'a protocol of radio stations': [400, bytes('SOURCE / ICE/1.0')],
  'a method in lower case': [400, bytes('get / HTTP/1.1')],
  'an unknown method': [400, bytes('SMUGGLE / HTTP/1.1')],
  'a tab after the method': [400, bytes('GET\t/ HTTP/1.1')],
}

test('requests that two programs may read in two ways are refused, and the connection is closed', async (t) => {
  const reached: string[] = []
  const upstream = await startUpstream(t, (asked, response) => {
    reached.push(`${asked.method} ${asked.url}`)
    response.end('ok')
  })
  const edge = await edgeBefore(t, upstream)
  for (const [name, [status, sent]] of Object.entries(REFUSED)) {
    // An idle connection to the app, so that anything that is forwarded arrives immediately.
    await ask(edge.port, { path: '/before' })
    assert.deepEqual(reached.splice(0), ['GET /before'], name)
    // What follows must not become a request either.
    const text = await notify(edge.port, `${sent}${bytes('GET /after HTTP/1.1')}`)
    const answers = text.match(/^HTTP\/1\.1 .*$/gm)?.map((line) => Number(line.slice(9, 12))) ?? []
    assert.deepEqual(answers, [status], name)
  }
  assert.deepEqual(reached, [])
  assert.deepEqual(edge.troubles, [])
})

const TAKEN: Record<string, string> = {
  'a length, and blanks around it': post(['Content-Length: \t4 '], 'body'),
  'chunks with extensions and a trailer': post([chunked], '4;a=b\r\nbody\r\n0\r\nX: y\r\n\r\n'),
  'a coding in capitals': post(['TRANSFER-ENCODING: Chunked'], '4\r\nbody\r\n0\r\n\r\n'),
  'HTTP/1.0 with a host': bytes('GET / HTTP/1.0', [host, 'Connection: keep-alive']),
  'empty lines before a request': `\r\n\r\n${get()}`,
  'what browsers do not escape': bytes('GET /a|b?{c}^`"<> HTTP/1.1'),
  'bytes beyond ASCII in a value': get('X: \xe9'),
  'as many headers as there may be': get(...Array.from({ length: 99 }, (_, n) => `X-${n}: y`)),
}

test('what is unusual and can be read in one way only reaches the app', async (t) => {
  const reached: string[] = []
  const upstream = await startUpstream(t, (asked, response) => {
    reached.push(asked.url ?? '')
    asked.resume().once('end', () => response.end('.'))
  })
  const edge = await edgeBefore(t, upstream)
  for (const [name, sent] of Object.entries(TAKEN)) {
    const text = await notify(edge.port, sent, /\r\n\r\n/)
    assert.match(text, /^HTTP\/1\.1 200 OK\r\n/, name)
  }
  assert.equal(reached.length, Object.keys(TAKEN).length)
})

test('once the end of a connection was announced, nothing more is taken from it', async (t) => {
  const reached: string[] = []
  const upstream = await startUpstream(t, (asked, response) => {
    reached.push(`${asked.method} ${asked.url}`)
    response.end('ok')
  })
  const edge = await edgeBefore(t, upstream)
  const after = bytes('GET /after HTTP/1.1')
  const afterwards = [after, bytes('GET /after HTTP/1.1', [host, 'Connection: Upgrade', 'Upgrade: websocket'])]
  for (const [first, status] of [
    [post(['Content-Length: 4', 'Host: other'], 'body'), 400],
    [bytes('POST /a#b HTTP/1.1', [host, 'Content-Length: 4'], 'body'), 400],
    [post(['Content-Length: 4', 'Upgrade: h2c'], 'body'), 200],
  ] as const) {
    for (const second of afterwards) {
      await ask(edge.port, { path: '/before' })
      const text = await notify(edge.port, `${first}${second}`)
      assert.match(text, new RegExp(`^HTTP/1\\.1 ${status} (?:(?!HTTP/1)[^])*$`), first)
      assert.deepEqual(reached.splice(0).slice(1), status === 200 ? ['POST /'] : [], first + second)
    }
  }
})

test('what comes after a refused upgrade in the same packet is never taken for a request', async (t) => {
  let heads = ''
  const upstream = await startRawUpstream(t, (socket) => {
    socket.on('data', (chunk) => {
      heads += chunk.toString('latin1')
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
    })
  })
  const edge = await edgeBefore(t, upstream)
  // HTTP/2 is never passed on. The second request has a value that would be a third, if its beginning were lost.
  const lost = bytes('GET /b HTTP/1.1', [host, `X: ${bytes('GET /c HTTP/1.1').trimEnd()}`])
  const text = await notify(edge.port, `${get('Connection: Upgrade', 'Upgrade: h2c')}${lost}`)
  assert.match(text, /\r\nconnection: close\r\n/i)
  assert.equal(text.match(/HTTP\/1\.1/g)?.length, 1)
  assert.doesNotMatch(heads, /\/[bc] /)
})
