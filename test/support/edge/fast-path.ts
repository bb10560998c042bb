/** An HTTP server with or without the fast path, and a client that knows when the server has read what it sent. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { type Connections, createConnections } from '../../../src/edge/connections.ts'
import { createFastPath } from '../../../src/edge/fast-path/fast-path.ts'
import type { PlainRequest } from '../../../src/edge/fast-path/request.ts'
import { faultOf, refuseMalformed, refuseRequest } from '../../../src/edge/http/strict.ts'
import type { Wire } from '../../../src/edge/http/wire.ts'
import { LIMITS, type Limits } from '../../../src/edge/limits.ts'
import type { Scope } from '../folder.ts'

export type FastPathServer = {
  http: Server
  port: number
  connections: Connections
  close(): void
  /** The requests that reached node:http, in order. */
  asked: IncomingMessage[]
  troubles: unknown[]
}

type Options = {
  /** Without it, there is no fast path. */
  answer?(request: PlainRequest, socket: Socket): Wire | undefined
  listener: RequestListener
  limits?: Partial<Limits>
}

/** Set up as the edge sets up its own. */
export async function startFastPathServer(t: Scope, options: Options): Promise<FastPathServer> {
  const { answer, listener } = options
  const limits = { ...LIMITS, ...options.limits }
  const asked: IncomingMessage[] = []
  const troubles: unknown[] = []
  const http = createServer({
    keepAliveTimeout: limits.idleClientMs,
    headersTimeout: limits.requestHeadMs,
    requestTimeout: 0,
    maxHeaderSize: limits.requestHeaderBytes,
    optimizeEmptyRequests: true,
    requireHostHeader: false,
    shouldUpgradeCallback: ({ url }) => url === '/socket',
  })
  http.timeout = limits.stalledClientMs
  const connections = createConnections({ http, limits })
  const queue = answer && createFastPath({ http, limits, connections, answer, report: (error) => troubles.push(error) })
  const receive: RequestListener = (request, response) => {
    asked.push(request)
    response.on('error', () => undefined)
    if (request.headers.upgrade !== undefined) response.shouldKeepAlive = false
    const fault = faultOf(request, limits)
    if (fault !== undefined) return refuseRequest(response, fault)
    listener(request, response)
  }
  http.on('request', receive)
  http.on('checkContinue', receive)
  http.on('clientError', refuseMalformed)
  http.on('upgrade', (_, socket, head) => {
    socket.on('error', () => undefined)
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n')
    socket.write(head)
    socket.pipe(socket)
  })
  t.after(() => {
    http.close()
    http.closeAllConnections()
  })
  await once(http.listen(0, '127.0.0.1'), 'listening')
  const { port } = http.address() as AddressInfo
  return { http, port, connections, close: () => queue?.close(), asked, troubles }
}

export type Client = {
  socket: Socket
  /** The server's side of the connection. */
  peer: Socket
  /** Everything received, as latin1. */
  text(): string
  isClosed(): boolean
  /** Resolves when the server has read the bytes and written its response. */
  send(bytes: string): Promise<void>
  settle(): Promise<void>
}

export async function connectTo({ http, port }: { http: Server; port: number }): Promise<Client> {
  const accepted = once(http, 'connection') as Promise<[Socket]>
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  socket.on('error', () => undefined)
  let text = ''
  let isClosed = false
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
  })
  for (const event of ['end', 'close'] as const) {
    socket.on(event, () => {
      isClosed = true
    })
  }
  const [[peer]] = await Promise.all([accepted, once(socket, 'connect')])
  let sent = 0

  async function settle() {
    let last = -1
    for (let still = 0; still < STILL_TURNS; still++) {
      await turn()
      if (text.length !== last) still = 0
      last = text.length
    }
  }

  return {
    socket,
    peer,
    text: () => text,
    isClosed: () => isClosed,
    async send(bytes) {
      if (isClosed) return
      socket.write(bytes, 'latin1')
      sent += bytes.length
      for (let turns = 0; peer.bytesRead < sent && !peer.destroyed && turns < MAX_TURNS; turns++) await turn()
      await settle()
    },
    settle,
  }
}

/** A server in this process that wrote nothing for so many turns of the event loop has nothing to write. */
const STILL_TURNS = 6
const MAX_TURNS = 10_000

const turn = () => new Promise((resolve) => setImmediate(resolve))
