/** Visitors, editors and users of a service, all at the same time, who note everything that fails. */
import { Agent, type IncomingMessage, type RequestOptions, request } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { resources } from '../../../src/contract/index.ts'
import type { Scope } from '../folder.ts'
import { until } from '../until.ts'
import type { Files } from './deploy.ts'
import type { Login, TestService } from './service.ts'

type Parts = { service: TestService; as: Login; environment: resources.Environment }

const UPLOAD = Buffer.alloc(300_000, 'x')

const APP = `
  const started = String(Math.random())
  let text = '0'
  const server = require('node:http').createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url, 'http://app')
    if (pathname === '/started') return response.setHeader('cache-control', 'no-store').end(started)
    if (pathname === '/set') { text = searchParams.get('text'); return response.setHeader('cache-control', 'no-store').end() }
    if (pathname === '/stored') return response.setHeader('cache-control', 's-maxage=3600').end(text)
    if (pathname === '/upload') {
      let bytes = 0
      request.on('data', (chunk) => { bytes += chunk.length })
      return request.on('end', () => response.end(String(bytes)))
    }
    response.setHeader('cache-control', 'no-store')
    if (pathname !== '/stream') return response.end('fresh')
    let sent = 0
    const timer = setInterval(() => {
      response.write('piece ' + ++sent + '\\n')
      if (sent === 20) { clearInterval(timer); response.end('end') }
    }, 100)
  })
  server.on('upgrade', (request, socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\n\\r\\n')
    socket.pipe(socket).on('error', () => undefined)
  })
  server.listen(process.env.PORT, process.env.HOST)`

/** An app that answers in every way that the load asks for. */
export const LOADED_SITE: Files = {
  'package.json': JSON.stringify({ scripts: { start: 'node server.js' } }),
  'server.js': APP,
}

export type Load = Awaited<ReturnType<typeof startLoad>>

/** The site is `LOADED_SITE`. */
export async function startLoad(t: Scope, { service, as, environment }: Parts) {
  const agent = new Agent({ keepAlive: true })
  const { hostname, port } = new URL(service.edge)
  const site: RequestOptions = { host: hostname, port, headers: { host: new URL(environment.url).host }, agent }
  const stopping = new AbortController()
  const counts: Record<string, number> = {}
  let failures: string[] = []
  let purged = 0

  function visit(path: string, options: RequestOptions = {}, body?: Buffer): Promise<string> {
    return new Promise((resolve, reject) => {
      const sent = request({ ...site, path, ...options }, async (response: IncomingMessage) => {
        try {
          let text = ''
          for await (const chunk of response.setEncoding('utf8')) text += chunk
          if (response.statusCode === 200) resolve(text)
          else reject(new Error(`${path}: ${response.statusCode}`))
        } catch (error) {
          reject(error)
        }
      })
      sent.on('error', reject).end(body)
    })
  }

  /** Repeats a step until the end; each one that fails is noted. */
  async function repeat(kind: string, step: () => Promise<void>) {
    while (!stopping.signal.aborted) {
      try {
        await step()
        counts[kind] = (counts[kind] ?? 0) + 1
      } catch (error) {
        if (!stopping.signal.aborted) failures.push(`${kind}: ${error}`)
      }
      await sleep(10, undefined, { signal: stopping.signal }).catch(() => undefined)
    }
  }

  const expect = (found: string, expected: string) => {
    if (found !== expected) throw new Error(`got ${found.slice(0, 100)}`)
  }

  /** An editor: what is purged is never served again once the purge is acknowledged. */
  async function edit(number: number) {
    await visit(`/set?text=${number}`)
    // A call that was not acknowledged may or may not have been done, and is repeated.
    const isAcknowledged = async () =>
      (await call(`/v1/${environment.name}:clearCache`, { method: 'POST', body: {} })) === 'done'
    while (!(await isAcknowledged())) if (stopping.signal.aborted) return
    for (let visits = 0; visits < 5; visits++) {
      const shown = Number(await visit('/stored'))
      if (shown < number) throw new Error(`${shown} was served after the purge of it was acknowledged`)
    }
    purged++
  }

  /** A user: a change that was acknowledged is there. */
  async function change(number: number) {
    const displayName = `Change ${number}`
    if ((await call(`/v1/${environment.name}`, { method: 'PATCH', body: { displayName } })) !== 'done') return
    const read = await service.call(`/v1/${environment.name}`, { as }).catch(() => undefined)
    if (read?.status === 200 && read.json.displayName !== displayName) throw new Error('a change was lost')
  }

  /** Waits for the operation of the call. */
  async function call(path: string, options: { method: string; body: unknown }): Promise<'done' | 'unknown'> {
    try {
      const asked = await service.call(path, { as, ...options })
      if (asked.status !== 200) return 'unknown'
      if (asked.json.done === undefined && !asked.json.name?.includes('/operations/')) return 'done'
      const done = await service.call(`/v1/${asked.json.name}:wait`, { method: 'POST', as })
      return done.json.done && !done.json.error ? 'done' : 'unknown'
    } catch {
      await sleep(20)
      return 'unknown'
    }
  }

  async function echo() {
    const socket = await new Promise<Socket>((resolve, reject) => {
      const headers = { ...site.headers, connection: 'Upgrade', upgrade: 'websocket' }
      const sent = request({ ...site, path: '/socket', headers, agent: false })
      sent.on('upgrade', (_, opened) => resolve(opened as Socket))
      sent.on('error', reject).end()
    })
    t.after(() => socket.destroy())
    let received = ''
    let isBroken = false
    socket.setEncoding('utf8').on('data', (text) => {
      received += text
    })
    socket.on('error', () => undefined)
    socket.on('close', () => {
      isBroken = true
    })
    let number = 0
    await repeat('message', async () => {
      if (isBroken) {
        stopping.signal.throwIfAborted()
        await sleep(1000, undefined, { signal: stopping.signal })
        throw new Error('the WebSocket is broken')
      }
      const message = `message ${++number};`
      socket.write(message)
      await until(() => isBroken || received.endsWith(message))
      received = ''
    })
  }

  let [edits, changes, misses] = [0, 0, 0]
  const streamed = `${Array.from({ length: 20 }, (_, at) => `piece ${at + 1}\n`).join('')}end`
  const loops = Promise.all([
    repeat('hit', async () => void (await visit('/stored'))),
    repeat('miss', async () => expect(await visit(`/miss/${++misses}`), 'fresh')),
    repeat('new connection', async () => expect(await visit(`/miss/${++misses}`, { agent: false }), 'fresh')),
    repeat('stream', async () => expect(await visit('/stream'), streamed)),
    repeat('upload', async () => expect(await visit('/upload', { method: 'POST' }, UPLOAD), String(UPLOAD.length))),
    repeat('purge', () => edit(++edits)),
    repeat('change', () => change(++changes)),
    echo(),
  ])
  t.after(async () => {
    stopping.abort()
    agent.destroy()
    await loops
  })

  return {
    get: visit,

    /** Resolves when a further purge was acknowledged and checked. */
    async untilPurged() {
      const before = purged
      await until(() => purged > before || failures.length > 0)
    },

    /** What was done and what failed since the last call. At least one whole stream has been read in between. */
    async take(): Promise<{ counts: Record<string, number>; failures: string[] }> {
      await until(() => (counts.stream ?? 0) > 0 || failures.length > 0)
      const taken = { counts: { ...counts }, failures }
      for (const kind of Object.keys(counts)) counts[kind] = 0
      failures = []
      return taken
    },
  }
}
