import assert from 'node:assert/strict'
import { test } from 'node:test'
import { askRaw, startUpstream } from '../../../test/support/edge/edge.ts'
import { LIMITS } from '../limits.ts'
import { toParts, toWire } from './wire.ts'

const RESPONSES: [number, string[], string][] = [
  [200, ['content-type', 'text/plain', 'CONTENT-LENGTH', '4', 'Age', '0', 'X-High', 'é', 'Set-Cookie', ''], 'body'],
  [200, ['Content-Length', '0'], ''],
  [404, ['date', 'Thu, 01 Jan 1970 00:00:00 GMT', 'Content-Length', '4'], 'none'],
  [299, ['Content-Length', '4'], '2é.'],
  [304, ['ETag', '"x"'], ''],
  [204, [], ''],
]

test('a response is written as node:http writes it, byte for byte', async (t) => {
  const { http, port } = await startUpstream(t, ({ url = '' }, response) => {
    const [status, headers, body] = RESPONSES[Number(url.slice(1))] as (typeof RESPONSES)[number]
    response.writeHead(status, headers)
    // With a string, node:http would write the head in UTF-8 as well.
    response.end(Buffer.from(body))
  })
  http.keepAliveTimeout = LIMITS.idleClientMs
  for (const [n, [status, headers, body]] of RESPONSES.entries()) {
    const wire = toWire(status, headers, Buffer.from(body)).toString('latin1')
    const parts = toParts(status, headers, Buffer.from(body))
    assert.equal(withoutDate(parts.head + parts.body.toString('latin1')), withoutDate(wire))
    const { text, socket } = await askRaw(port, `GET /${n} HTTP/1.1\r\nHost: site\r\n\r\n`, endOf(wire))
    socket.destroy()
    assert.equal(withoutDate(text), withoutDate(wire))
  }
})

test('a response without Content-Length is never written', () => {
  assert.throws(() => toWire(200, ['X-Content-Length', '4'], Buffer.from('body')), /Content-Length/)
})

/** The last line and what follows. */
const endOf = (wire: string): RegExp => new RegExp(`\r\n\r\n${wire.slice(wire.indexOf('\r\n\r\n') + 4)}$`)

const withoutDate = (text: string): string =>
  text.replace(/\r\nDate: \w{3}, \d\d \w{3} \d{4} [\d:]{8} GMT/, '\r\nDate:')
