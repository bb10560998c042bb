/** Apps that request their own site, each at an address of its own on loopback, as they have one in their networks. */
import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { ask, HOST, serverTarget, startTestEdge } from '../../test/support/edge/edge.ts'
import type { Scope } from '../../test/support/folder.ts'
import { until } from '../../test/support/until.ts'
import { openSocket } from '../processes/sockets.ts'
import { LIMITS, type Limits } from './limits.ts'

/** Only where a loop is expected: on a busy machine, requests that end may take longer. */
const SOON = { appRequestsStalledMs: 200 }

/** Where the app under test is, and from where it calls. */
const APP = '127.0.0.2'

type Fetch = (
  path: string,
  headers?: Record<string, string>,
  method?: string,
) => Promise<{ status: number; text: string }>
type App = (request: IncomingMessage, response: ServerResponse, fetch: Fetch) => void

async function startApp(t: Scope, app: App, limits: Partial<Limits> = {}) {
  const loops: string[] = []
  const jobs = await openSocket({ host: '127.0.0.1', port: 0 })
  t.after(() => jobs.handle.close())
  const fetch: Fetch = (path, headers = {}, method = 'GET') =>
    new Promise((resolve, reject) => {
      const at = { host: '127.0.0.1', port: jobs.address.port, path, method, localAddress: APP, agent: false as const }
      const asked = request({ ...at, headers: { ...headers, host: HOST } }, async (response) => {
        const text = (await response.setEncoding('utf8').toArray()).join('')
        resolve({ status: response.statusCode ?? 0, text })
      })
      asked.once('error', reject).end()
    })
  const http = createServer((request, response) => app(request, response, fetch))
  await new Promise<void>((resolve) => http.listen(0, APP, resolve))
  t.after(() => {
    http.close()
    http.closeAllConnections()
  })
  const target = { ...serverTarget((http.address() as AddressInfo).port), host: APP }
  const options = { limits, onLoop: (of: string) => loops.push(of) }
  const edge = await startTestEdge(t, { [HOST]: target }, options)
  edge.listenToJobs(jobs.handle)
  t.after(() => edge.stop())
  return { edge, loops, fetch }
}

test('a page that fetches itself without end is cut, and the rest of the chain is told so', async (t) => {
  let renders = 0
  const { edge, loops } = await startApp(
    t,
    async (_, response, fetch) => {
      renders++
      const { status, text } = await fetch('/')
      response.writeHead(status === 200 ? 200 : 500).end(text)
    },
    SOON,
  )
  const { status, text } = await ask(edge.port)
  assert.equal(status, 500)
  assert.match(text, /Loop detected.*Requests wait for each other/s)
  // One visit, and the requests that it and no visit may have.
  assert.equal(renders, 1 + 2 * LIMITS.ownRequestsPerVisit)
  assert.deepEqual(loops, ['d1'])
  assert.deepEqual(edge.load(), {})
  // The edge and other pages of the app are as before.
  assert.equal((await ask(edge.port, { host: 'unknown' })).status, 404)
})

test('a page that writes to itself without end is cut as well', async (t) => {
  const { edge, loops } = await startApp(
    t,
    async (_, response, fetch) => {
      const { status } = await fetch('/', {}, 'POST')
      response.writeHead(status === 200 ? 200 : 500).end()
    },
    SOON,
  )
  assert.equal((await ask(edge.port, { method: 'POST' })).status, 500)
  assert.equal(loops.length, 1)
})

test('a page that fetches hundreds of others at a time is no loop', async (t) => {
  const count = 3 * LIMITS.ownRequestsPerVisit
  const { edge, loops } = await startApp(t, async ({ url = '' }, response, fetch) => {
    if (url !== '/sitemap') return setTimeout(() => response.end(url), 20)
    const all = await Promise.all(Array.from({ length: count }, (_, at) => fetch(`/${at}`)))
    return response.end(JSON.stringify(all.map(({ status }) => status)))
  })
  const { text } = await ask(edge.port, { path: '/sitemap' })
  assert.deepEqual(
    JSON.parse(text),
    Array.from({ length: count }, () => 200),
  )
  assert.deepEqual(loops, [])
})

test('visitors who take every place of an app do not keep it from itself', async (t) => {
  const requestsPerInstance = 8
  const { edge, loops } = await startApp(
    t,
    async ({ url = '' }, response, fetch) => {
      if (url === '/data') return response.end('data')
      return response.end((await fetch('/data')).text)
    },
    { requestsPerInstance, ownRequestsPerVisit: 1 },
  )
  const paths = Array.from({ length: 4 * requestsPerInstance }, (_, at) => `/page-${at}`)
  const all = await Promise.all(paths.map((path) => ask(edge.port, { path })))
  assert.deepEqual(new Set(all.map(({ text }) => text)), new Set(['data']))
  assert.deepEqual(loops, [])
})

test('a request that an app forwards to itself, with its headers, is cut by the hops', async (t) => {
  const seen: string[] = []
  const { edge, loops } = await startApp(t, async ({ headers }, response, fetch) => {
    seen.push(String(headers['cdn-loop']))
    const { status } = await fetch('/', { 'cdn-loop': String(headers['cdn-loop']) })
    response.writeHead(status).end()
  })
  const { status } = await ask(edge.port, { headers: { 'cdn-loop': 'other-cdn; v=1' } })
  assert.equal(status, 508)
  assert.equal(seen.length, LIMITS.hops)
  assert.equal(seen[1], 'other-cdn; v=1, headland, headland')
  assert.deepEqual(loops, ['d1'])
})

test('an app is never a trusted proxy, and counts as one client', async (t) => {
  const { edge, fetch } = await startApp(t, ({ headers }, response) => response.end(headers['x-forwarded-for']), {
    connectionsPerClient: 2,
  })
  edge.trust(['127.0.0.0/8'])
  assert.equal((await fetch('/', { 'x-forwarded-for': '203.0.113.7' })).text, APP)
  assert.match((await ask(edge.port, { headers: { 'x-forwarded-for': '203.0.113.7' } })).text, /^203\.0\.113\.7, /)
  const held = [fetch('/'), fetch('/'), fetch('/'), fetch('/')]
  const results = await Promise.allSettled(held)
  assert.ok(
    results.some(({ status }) => status === 'rejected'),
    'connections above the limit of a client are closed',
  )
  await until(async () => (await fetch('/').catch(() => undefined))?.status === 200)
})

test('two apps that fetch each other without end are cut', async (t) => {
  const jobs = await openSocket({ host: '127.0.0.1', port: 0 })
  t.after(() => jobs.handle.close())
  const [one, two] = ['127.0.0.2', '127.0.0.3']
  const loops: string[] = []
  const startOne = async (at: string, other: string) => {
    const http = createServer((_, response) => {
      const asked = { host: '127.0.0.1', port: jobs.address.port, localAddress: at, agent: false as const }
      const next = request({ ...asked, headers: { host: other } }, async (answer) => {
        response.writeHead(answer.statusCode === 200 ? 200 : 500)
        response.end((await answer.setEncoding('utf8').toArray()).join(''))
      })
      next.once('error', () => response.destroy()).end()
    })
    await new Promise<void>((resolve) => http.listen(0, at, resolve))
    t.after(() => {
      http.close()
      http.closeAllConnections()
    })
    return (http.address() as AddressInfo).port
  }
  const targets = {
    one: { ...serverTarget(await startOne(one, 'two'), 'i1', 'd1'), host: one },
    two: { ...serverTarget(await startOne(two, 'one'), 'i2', 'd2'), host: two, environment: 'e2' },
  }
  const options = { limits: SOON, onLoop: (of: string) => loops.push(of) }
  const edge = await startTestEdge(t, targets, options)
  edge.listenToJobs(jobs.handle)
  t.after(() => edge.stop())
  const { status, text } = await ask(edge.port, { host: 'one' })
  assert.equal(status, 500)
  assert.match(text, /Loop detected/)
  assert.equal(loops.length, 1)
})

test('a loop through a proxy in front is cut, by the address that the proxy reports', async (t) => {
  // The proxy is at 127.0.0.1, and the app has its address in the network of jobs.
  const loops: string[] = []
  let port = 0
  const http = createServer((_, response) => {
    const headers = { host: HOST, 'x-forwarded-for': APP }
    const next = request({ host: '127.0.0.1', port, agent: false, headers }, (answer) => {
      answer.resume()
      response.writeHead(answer.statusCode === 200 ? 200 : 500).end()
    })
    next.once('error', () => response.destroy()).end()
  })
  await new Promise<void>((resolve) => http.listen(0, APP, resolve))
  t.after(() => {
    http.close()
    http.closeAllConnections()
  })
  const target = { ...serverTarget((http.address() as AddressInfo).port), host: APP }
  const edge = await startTestEdge(t, { [HOST]: target }, { limits: SOON, onLoop: (of) => loops.push(of) })
  port = edge.port
  edge.trust(['127.0.0.1'], '127.0.0.2/32')
  assert.equal((await ask(edge.port)).status, 500)
  assert.deepEqual(loops, ['d1'])
})
