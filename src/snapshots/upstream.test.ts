import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { createUpstream } from './inside/upstream.mjs'

const LENGTH = 20_000_000

/** A server, and calls to it, which end with an answer that makes no progress for so long. */
async function open(t: TestContext, answer: RequestListener, idleMs = 60_000) {
  const server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  const ask = createUpstream({ suffix: '', waits: { connectMs: 60_000, headMs: 60_000, idleMs } })
  const to = { protocol: 'http', host: '127.0.0.1', port, method: 'GET', path: '/', headers: {}, body: undefined }
  return { server, call: (isRepeatable = true) => ask({ ...to, isRepeatable }) }
}

test('an answer that the build is slow to read is whole', async (t) => {
  const { call } = await open(t, (_, response) => void response.end(Buffer.alloc(LENGTH)), 2000)
  const response = await call()
  await pause(3000)
  assert.equal((await buffer(response)).length, LENGTH)
})

test('an answer that does not go on is ended', async (t) => {
  const { call } = await open(t, (_, response) => void response.write('a'), 300)
  const response = await call()
  await assert.rejects(buffer(response), /stopped in the middle of an answer/)
})

test('a call that cannot be made again gets a connection of its own', async (t) => {
  const { server, call } = await open(t, (_, response) => void response.end('a'))
  let connections = 0
  server.on('connection', () => {
    connections += 1
  })
  for (const isRepeatable of [true, true, false, false]) await buffer(await call(isRepeatable))
  assert.equal(connections, 3)
})
