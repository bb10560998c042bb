import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fastify } from 'fastify'
import { openRaw } from '../../test/support/edge/raw.ts'
import { bytesEndpoint } from './bytes-endpoint.ts'
import { sendProblem } from './errors.ts'
import type { Route } from './route.ts'

test('a body that is too large is answered with 413, whether or not its length was announced', async (t) => {
  const bodies: unknown[] = []
  const app = fastify({ forceCloseConnections: true })
  app.setErrorHandler(sendProblem)
  const handle = ({ body }: { body: unknown }) => bodies.push(body)
  bytesEndpoint(app, '/hook', { method: 'POST', takesBytes: 10, handle } as unknown as Route & { takesBytes: number })
  t.after(() => app.close())
  const address = await app.listen({ host: '127.0.0.1', port: 0 })

  async function statusOf(headers: string, body: string) {
    const connection = openRaw(address)
    connection.send(`POST /hook HTTP/1.1\r\nHost: x\r\n${headers}\r\n\r\n${body}`)
    const { status, body: text } = await connection.answer()
    connection.end()
    return status === 413 ? JSON.parse(text).error.details[0].reason : status
  }

  assert.equal(await statusOf('Content-Length: 11', ''), 'BODY_TOO_LARGE')
  assert.equal(await statusOf('Transfer-Encoding: chunked', 'b\r\n01234567890\r\n'), 'BODY_TOO_LARGE')
  assert.deepEqual(bodies, [])
  assert.equal(await statusOf('Content-Length: 10', '0123456789'), 200)
  assert.deepEqual(bodies, [Buffer.from('0123456789')])
})
