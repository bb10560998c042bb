import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fastify } from 'fastify'
import { openRaw, sendRaw } from '../../test/support/edge/raw.ts'
import type { Scope } from '../../test/support/folder.ts'
import { Problem } from '../contract/index.ts'
import { sendClientError, sendProblem } from './errors.ts'
import { rawEndpoint } from './raw-endpoint.ts'
import type { Route } from './route.ts'

/** A server with only the raw endpoint. */
async function open(t: Scope, handle: Route['handle']): Promise<string> {
  const app = fastify({ clientErrorHandler: sendClientError, forceCloseConnections: true })
  app.setErrorHandler(sendProblem)
  rawEndpoint(app, '/door/*', { method: 'POST', handle })
  t.after(() => app.close())
  return app.listen({ host: '127.0.0.1', port: 0 })
}

const post = (headers: string, body = '') => `POST /door/a HTTP/1.1\r\nHost: x\r\n${headers}\r\n${body}`

test('the answer is made before the body is there, and is text that is sent as it is', async (t) => {
  let bodiesSeen = 0
  const address = await open(t, ({ body }) => {
    if (body !== undefined) bodiesSeen++
    return '{"taken":true}'
  })
  const connection = openRaw(address)
  connection.send(post('Content-Type: application/json\r\nContent-Length: 10\r\n'))
  const { status, body, header } = await connection.answer()
  assert.deepEqual([status, body, header('content-type')], [200, '{"taken":true}', 'application/json; charset=utf-8'])
  // The rest of the body, and the next call on the same connection.
  connection.send(`0123456789${post('Content-Length: 0\r\n')}`)
  assert.equal((await connection.answer()).status, 200)
  assert.equal(bodiesSeen, 0)
  connection.end()
})

test('a connection that is to be closed stays open until the body has come, whatever the answer is', async (t) => {
  let isRefused = false
  const address = await open(t, () => {
    if (isRefused) throw new Problem('WEBHOOK_REFUSED')
    return '{}'
  })
  for (const expected of [200, 401]) {
    isRefused = expected === 401
    for (const length of ['Content-Length: 6\r\n', 'Transfer-Encoding: chunked\r\n']) {
      const connection = openRaw(address)
      connection.send(post(`Connection: close\r\n${length}`))
      assert.equal((await connection.answer()).status, expected)
      for (let turns = 0; turns < 50; turns++) await new Promise((resolve) => setImmediate(resolve))
      assert.equal(connection.isClosed(), false)
      connection.send(length.startsWith('C') ? '012345' : '1\r\nx\r\n0\r\n\r\n')
      await connection.closed()
    }
  }
})

test('a caller who leaves in the middle of the body costs nothing but its call', async (t) => {
  let calls = 0
  const address = await open(t, () => {
    calls++
    return '{}'
  })
  for (const more of ['', 'Connection: close\r\n']) {
    const connection = openRaw(address)
    connection.send(post(`${more}Content-Length: 10\r\n`, 'half'))
    assert.equal((await connection.answer()).status, 200)
    connection.socket.resetAndDestroy()
  }
  assert.equal((await sendRaw(address, post('Content-Length: 0\r\n'))).status, 200)
  assert.equal(calls, 3)
})

test('a page of another origin may call and read, and the answer to any other method names the right one', async (t) => {
  const address = await open(t, () => '{}')
  const asked = (method: string) => sendRaw(address, post('').replace('POST', method), { head: method === 'HEAD' })
  const preflight = await asked('OPTIONS')
  assert.deepEqual([preflight.status, preflight.header('access-control-allow-methods')], [204, 'POST'])
  for (const method of ['POST', 'OPTIONS', 'GET', 'HEAD', 'PUT', 'PATCH', 'DELETE']) {
    const { status, header } = await asked(method)
    assert.equal(header('access-control-allow-origin'), '*')
    assert.equal(header('referrer-policy'), 'no-referrer')
    if (!['POST', 'OPTIONS'].includes(method)) assert.deepEqual([status, header('allow')], [405, 'POST, OPTIONS'])
  }
})
