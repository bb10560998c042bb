import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type OutgoingHttpHeaders, request } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { temporaryFolder } from '../../test/support/folder.ts'
import { SERVICE_PEER } from '../edge/index.ts'
import { openRelay, RELAY_LIMITS } from './relay.ts'

type Asked = Pick<IncomingMessage, 'url' | 'headers'> & { peer: string | undefined }

/** A relay in front of a server that stands for the edge, and what that server was asked for. */
async function open(t: TestContext) {
  const asked: Asked[] = []
  const server = createServer(({ url, headers, socket }, response) => {
    asked.push({ url, headers, peer: socket.remoteAddress })
    if (url === '/page') response.setHeader('content-type', 'text/html; charset=utf-8')
    if (url === '/gone') response.writeHead(404, { 'content-type': 'text/html' })
    response.end(url === '/large' ? Buffer.alloc(RELAY_LIMITS.bytes + 1) : 'from the edge')
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const path = join(await temporaryFolder(t), 'edge.sock')
  const edge = { host: '127.0.0.1', port }
  const relay = await openRelay({ path, edge, hosts: ['shop.localhost', 'shop.example.com'], user: undefined })
  t.after(() => relay.close())
  return { asked, relay, path }
}

/** The status and the text; a status of 0 for a connection that is closed. */
function call(socketPath: string, path: string, headers: OutgoingHttpHeaders): Promise<[number, string]> {
  return new Promise((resolve) => {
    request({ socketPath, path, headers, agent: false }, (response) => {
      let text = ''
      response.setEncoding('latin1').on('data', (part) => {
        text += part
      })
      response.on('end', () => resolve([response.statusCode ?? 0, text]))
      response.on('error', () => resolve([0, '']))
    })
      .on('error', () => resolve([0, '']))
      .end()
  })
}

test('every name of the site is asked of the edge, as by the service and not by a visitor', async (t) => {
  const { asked, path } = await open(t)
  for (const host of ['shop.localhost:8081', 'SHOP.example.com'])
    assert.deepEqual(await call(path, '/a?b=c', { host }), [200, 'from the edge'])
  assert.deepEqual(
    asked.map(({ url, headers, peer }) => [url, headers.host, peer]),
    [
      ['/a?b=c', 'shop.localhost:8081', SERVICE_PEER],
      ['/a?b=c', 'SHOP.example.com', SERVICE_PEER],
    ],
  )
})

test('no other name is asked of it, however it is written', async (t) => {
  const { asked, path } = await open(t)
  for (const host of ['other.localhost', '127.0.0.1:8080', 'localhost', '', 'shop.localhost.', 'x@shop.localhost'])
    assert.equal((await call(path, '/', { host }))[0], 403, host)
  assert.equal((await call(path, 'http://other.localhost/', { host: 'shop.localhost' }))[0], 403)
  const raw = connect(path)
  raw.end('CONNECT other.localhost:443 HTTP/1.1\r\nHost: shop.localhost\r\n\r\n')
  await new Promise((resolve) => raw.once('close', resolve).resume())
  assert.deepEqual(asked, [])
})

test('of a request with two names, the one that is checked is the one that is sent', async (t) => {
  const { asked, path } = await open(t)
  const raw = connect(path)
  raw.end('GET / HTTP/1.1\r\nHost: shop.localhost\r\nHost: other.localhost\r\nConnection: close\r\n\r\n')
  await new Promise((resolve) => raw.once('close', resolve).resume())
  assert.ok(!asked.some(({ headers }) => headers.host !== 'shop.localhost'))
})

test('a page cannot say for whom it asks', async (t) => {
  const { asked, path } = await open(t)
  await call(path, '/', {
    host: 'shop.localhost',
    'x-forwarded-for': '192.0.2.1',
    'x-forwarded-host': 'other.localhost',
    'x-forwarded-proto': 'gopher',
    forwarded: 'for=192.0.2.1',
    'x-headland-protocol': 'https',
    cookie: 'own=1',
  })
  const { headers } = asked[0] as Asked
  assert.deepEqual(
    ['x-forwarded-for', 'x-forwarded-host', 'forwarded', 'x-headland-protocol'].filter((name) => name in headers),
    [],
  )
  assert.deepEqual([headers['x-forwarded-proto'], headers.cookie], ['https', 'own=1'])
})

test('only a page that was found counts as one', async (t) => {
  const { relay, path } = await open(t)
  for (const address of ['/gone', '/picture']) await call(path, address, { host: 'shop.localhost' })
  assert.equal(relay.hasPage(), false)
  await call(path, '/page', { host: 'shop.localhost' })
  assert.equal(relay.hasPage(), true)
})

test('more than a page may have is not passed on', async (t) => {
  const { path } = await open(t)
  assert.equal((await call(path, '/large', { host: 'shop.localhost' }))[0], 0)
})
