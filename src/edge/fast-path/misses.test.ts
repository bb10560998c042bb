/** Responses that are fetched for plain requests: the same bytes as by node:http, and one at a time on a connection. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { RequestListener, ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import {
  edgeBefore,
  HOST,
  readRaw,
  serverTarget,
  startTestEdge,
  startUpstream,
} from '../../../test/support/edge/edge.ts'
import { until } from '../../../test/support/until.ts'
import type { Target } from '../routes.ts'

const get = (path: string, ...headers: string[]): string =>
  `GET ${path} HTTP/1.1\r\n${[`Host: ${HOST}`, ...headers].map((header) => `${header}\r\n`).join('')}\r\n`

/** What the app sends, and what the bytes of the whole response end with. */
const RESPONSES: Record<string, { send(response: ServerResponse): void; end: RegExp }> = {
  '/length': {
    send: (response) => response.writeHead(200, { 'Content-Length': 3, 'Cache-Control': 'no-store' }).end('END'),
    end: /END$/,
  },
  '/stored': {
    send: (response) => response.writeHead(200, { 'Content-Length': 3, 'Cache-Control': 's-maxage=60' }).end('END'),
    // A part of it is requested as well.
    end: /END?$/,
  },
  '/chunks': {
    send(response) {
      response.writeHead(200, { 'cache-control': 'private', 'set-cookie': ['a=1', 'b=2'], trailer: 'x-sum' })
      response.addTrailers({ 'x-sum': '1' })
      // In one piece: those of several depend on when they arrive.
      response.end('END')
    },
    end: /\r\n0\r\n\r\n$/,
  },
  '/large': {
    send: (response) => response.writeHead(200, { 'content-length': 400_003 }).end(`${'x'.repeat(400_000)}END`),
    end: /END$/,
  },
  '/empty': {
    send: (response) => response.writeHead(200, { 'content-length': 0 }).end(),
    end: /\r\n\r\n$/,
  },
  '/no-content': { send: (response) => response.writeHead(204).end(), end: /\r\n\r\n$/ },
  '/not-modified': { send: (response) => response.writeHead(304, { etag: '"a"' }).end(), end: /\r\n\r\n$/ },
  '/reason': {
    send: (response) => response.writeHead(404, 'Gone Fishing', { 'Content-Length': 3 }).end('END'),
    end: /END$/,
  },
  '/error': { send: (response) => response.writeHead(500, { 'content-length': 3 }).end('END'), end: /END$/ },
  '/hints': {
    send(response) {
      response.writeEarlyHints({ link: '</style.css>; rel=preload' })
      response.writeHead(200, { 'content-length': 3, date: 'Wed, 18 Nov 2026 00:00:00 GMT' }).end('END')
    },
    end: /END$/,
  },
  '/broken': { send: (response) => void response.socket?.destroy(), end: /<\/html>\n$/ },
}

const HEADERS = [
  [],
  ['Connection: keep-alive'],
  ['Accept-Encoding: gzip, br', 'Cookie: a=1'],
  ['If-None-Match: "a"'],
  ['Range: bytes=0-1'],
  ['Cache-Control: no-store'],
]

const app: RequestListener = ({ url = '' }, response) => RESPONSES[url]?.send(response)

async function connectFor(t: TestContext, { port }: { port: number }): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  t.after(() => socket.destroy())
  await once(socket, 'connect')
  return socket
}

/** The two are asked one after the other: a second may end in between. */
const withoutTimes = (text: string): string => text.replaceAll(/(?<=\r\ndate: )[^\r]+|(?<=\r\nage: |; ttl=)\d+/gi, '…')

async function compare(t: TestContext, target: Target) {
  const edges = [
    await startTestEdge(t, { [HOST]: target }),
    await startTestEdge(t, { [HOST]: target }, { hasFastPath: false }),
  ]
  for (const edge of edges) edge.recordRequests()
  let byNode = 0
  edges[0]?.http.on('request', () => byNode++)
  // All over the same two connections.
  const sockets = await Promise.all(edges.map((edge) => connectFor(t, edge)))
  for (const [path, { end }] of Object.entries(RESPONSES)) {
    for (const headers of HEADERS) {
      const answers = sockets.map((socket) => {
        const text = readRaw(socket, end)
        socket.write(get(path, ...headers))
        return text
      })
      const [ours, theirs] = (await Promise.all(answers)).map((text) =>
        withoutTimes(text).replaceAll(/(?<=request.id: )\w+/gi, '…'),
      )
      assert.equal(ours, theirs, `${path} ${headers}`)
    }
  }
  assert.equal(byNode, 0, 'node:http got no request')
  const [counted, expected] = edges.map((edge) => edge.takeCounts()?.e1)
  assert.deepEqual({ ...counted, latencies: [] }, { ...expected, latencies: [] })
}

test('a fetched response has the same bytes, and counts the same, with and without the fast path', async (t) => {
  const upstream = await startUpstream(t, app)
  await compare(t, serverTarget(upstream.port))
})

test('the same of a hidden environment', async (t) => {
  const upstream = await startUpstream(t, app)
  await compare(t, { ...serverTarget(upstream.port), access: { isHidden: true } })
})

type Waiting = { url: string | undefined; response: ServerResponse }

/** An app that answers when the test says so. */
async function startWaiting(t: TestContext) {
  const waiting: Waiting[] = []
  const upstream = await startUpstream(t, ({ url }, response) => void waiting.push({ url, response }))
  return { edge: await edgeBefore(t, upstream), waiting }
}

const answer = ({ response, url }: Waiting) => response.writeHead(200, { 'cache-control': 'no-store' }).end(`[${url}]`)

test('a request that arrives while a response is fetched is answered after it', async (t) => {
  const { edge, waiting } = await startWaiting(t)
  const socket = await connectFor(t, edge)
  const text = readRaw(socket, /\[\/c\]\r\n0\r\n\r\n$/)
  socket.write(get('/a'))
  await until(() => waiting.length === 1)
  // The second one arrives in two pieces.
  socket.write(get('/b').slice(0, 10))
  await until(async () => edge.load().d1 === 1)
  socket.write(get('/b').slice(10) + get('/c'))
  answer(waiting[0] as Waiting)
  await until(() => waiting.length === 3)
  for (const one of waiting.slice(1).reverse()) answer(one)
  assert.deepEqual((await text).match(/\[.*?\]/g), ['[/a]', '[/b]', '[/c]'])
})

test('when the client leaves, the app is not asked any longer', async (t) => {
  const { edge, waiting } = await startWaiting(t)
  const socket = await connectFor(t, edge)
  socket.write(get('/a'))
  await until(() => waiting.length === 1)
  let isClosed = false
  waiting[0]?.response.once('close', () => {
    isClosed = true
  })
  socket.destroy()
  await until(() => isClosed)
  await until(() => edge.takeCounts()?.e1?.requests === 1)
  assert.deepEqual(edge.load(), {})
})

test('an edge that stops lets a fetched response end, and closes its connection', async (t) => {
  const { edge, waiting } = await startWaiting(t)
  const socket = await connectFor(t, edge)
  const text = readRaw(socket)
  socket.write(get('/a'))
  await until(() => waiting.length === 1)
  const stopped = edge.stop()
  answer(waiting[0] as Waiting)
  await stopped
  assert.match(await text, /\[\/a\]\r\n0\r\n\r\n$/)
})
