/** Attacks of an app, or of an attacker who controls its output: responses that are not what they seem to be. */
import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { ask, askRaw, edgeBefore, HOST, startRawUpstream, untilStill } from '../../../test/support/edge/edge.ts'

/** An app that answers with these bytes, and what a visitor gets of it; twice, so that what is stored is seen. */
async function answersWith(
  t: TestContext,
  bytes: string | Buffer | ((socket: Socket) => void),
): Promise<{ text: string; asked: number }> {
  let asked = 0
  const app = await startRawUpstream(t, (socket) => {
    socket.on('data', () => {
      asked++
      if (typeof bytes === 'function') bytes(socket)
      else socket.end(bytes, 'latin1' as never)
    })
  })
  const edge = await edgeBefore(t, app)
  const get = `GET / HTTP/1.1\r\nHost: ${HOST}\r\nConnection: close\r\n\r\n`
  await askRaw(edge.port, get)
  const { text } = await askRaw(edge.port, get)
  assert.deepEqual(edge.troubles, [])
  return { text, asked }
}

const LASTING = 'HTTP/1.1 200 OK\r\nCache-Control: s-maxage=60\r\n'

for (const [name, bytes] of Object.entries({
  'two lengths': `${LASTING}Content-Length: 4\r\nContent-Length: 5\r\n\r\nbody!`,
  'the same length twice': `${LASTING}Content-Length: 4\r\nContent-Length: 4\r\n\r\nbody`,
  'a length and chunks': `${LASTING}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n`,
  'an unknown coding': `${LASTING}Transfer-Encoding: gzip, chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n`,
  'a coding that hides its name': `${LASTING}Transfer-Encoding : chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n`,
  'a line feed in a header': `${LASTING}X: a\nSet-Cookie: evil=1\r\nContent-Length: 0\r\n\r\n`,
  'a carriage return in a header': `${LASTING}X: a\rSet-Cookie: evil=1\r\nContent-Length: 0\r\n\r\n`,
  'a NUL in a header': `${LASTING}X: a\0b\r\nContent-Length: 0\r\n\r\n`,
  'a folded header': `${LASTING}X: a\r\n evil: 1\r\nContent-Length: 0\r\n\r\n`,
  'a line feed in the reason': 'HTTP/1.1 200 OK\nevil: 1\r\nCache-Control: s-maxage=60\r\nContent-Length: 0\r\n\r\n',
  'another protocol': 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: evil\r\n\r\nevil',
  'a flood of interim responses': 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'.repeat(2000),
  'a header bomb': `${LASTING}X: ${'x'.repeat(100_000)}\r\nContent-Length: 0\r\n\r\n`,
  'a bomb of many headers': `${LASTING}${'X: y\r\n'.repeat(1000)}Content-Length: 0\r\n\r\n`,
  'a status that is none': 'HTTP/1.1 99 Odd\r\nContent-Length: 0\r\n\r\n',
  nothing: '',
})) {
  test(`an app that answers with ${name} costs a page of ours, and nothing is stored`, async (t) => {
    const { text, asked } = await answersWith(t, bytes)
    assert.match(text.replaceAll(/^(?:HTTP\/1\.1 103 [\s\S]*?\r\n\r\n)+/g, ''), /^HTTP\/1\.1 502 /)
    assert.doesNotMatch(text, /evil/)
    assert.equal(asked, 2)
  })
}

for (const [name, bytes] of Object.entries({
  'a chunk that is longer than its size': `${LASTING}Transfer-Encoding: chunked\r\n\r\n2\r\nbody\r\n0\r\n\r\n`,
  'a size that is none': `${LASTING}Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n-1\r\n\r\n`,
  'a size beyond all numbers': `${LASTING}Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\nfffffffffffffffff\r\n\r\n`,
  'no last chunk': `${LASTING}Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n`,
  'lines that end otherwise': `${LASTING}Transfer-Encoding: chunked\r\n\r\n4\nbody\n0\n\n`,
  'trailers without an end': `${LASTING}Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n${'X: y\r\n'.repeat(50_000)}`,
})) {
  test(`a chunked body with ${name} never looks whole, and is not stored`, async (t) => {
    const { text, asked } = await answersWith(t, bytes)
    assert.ok(text === '' || /^HTTP\/1\.1 502 /.test(text) || !text.endsWith('0\r\n\r\n'), text.slice(-100))
    assert.equal(asked, 2)
  })
}

test('a second response after the first is given to no visitor', async (t) => {
  let asked = 0
  const app = await startRawUpstream(t, (socket) => {
    socket.on('data', () => {
      asked++
      socket.write(`${LASTING}Content-Length: 4\r\n\r\ngood${LASTING}Content-Length: 4\r\n\r\nevil`)
    })
  })
  const edge = await edgeBefore(t, app)
  for (const path of ['/1', '/2', '/3']) assert.equal((await ask(edge.port, { path })).text, 'good')
  await untilStill(() => asked)
  assert.equal(asked, 3)
})

test('headers of one connection of the app are not those of the visitor', async (t) => {
  const bytes = `${LASTING}Connection: close, X-Internal\r\nX-Internal: evil\r\nKeep-Alive: timeout=1\r\nProxy-Authenticate: evil\r\nContent-Length: 2\r\n\r\nok`
  const { text, asked } = await answersWith(t, bytes)
  assert.match(text, /^HTTP\/1\.1 200 /)
  assert.doesNotMatch(text, /evil|timeout=1\b/)
  assert.equal(asked, 1)
})

test('an app cannot fake the edge’s own entry in Cache-Status', async (t) => {
  const { text } = await answersWith(t, `${LASTING}Age: 0\r\nCache-Status: evil; hit\r\nContent-Length: 2\r\n\r\nok`)
  assert.match(text, /Cache-Status: headland; hit/)
  assert.equal(text.match(/^Age: /gim)?.length, 1)
})

test('interim responses are passed on without what is about the connection', async (t) => {
  const bytes = `HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok`
  const { text } = await answersWith(t, bytes)
  assert.match(text, /^HTTP\/1\.1 103 Early Hints\r\nLink: <\/a>\r\n\r\nHTTP\/1\.1 200 OK\r\n/)
})
