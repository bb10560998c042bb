/** An edge server in this process, upstreams for it, and a client that sends exactly the given bytes. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, request, type Server } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net'
import { LIMITS, type Limits } from '../../../src/edge/limits.ts'
import type { Target } from '../../../src/edge/routes.ts'
import { createEdgeServer, type EdgeServer } from '../../../src/edge/server.ts'
import type { Scope } from '../folder.ts'

export const HOST = 'site.localhost'

export type TestEdge = EdgeServer & { port: number; use(hosts: Record<string, Target>): void; troubles: unknown[] }

type EdgeOptions = {
  limits?: Partial<Limits>
  wake?(deployment: string): void
  onLoop?(deployment: string): void
  now?(): number
  hasFastPath?: boolean
}

export async function startTestEdge(
  t: Scope,
  hosts: Record<string, Target>,
  { limits = {}, wake, onLoop, now, hasFastPath = true }: EdgeOptions = {},
): Promise<TestEdge> {
  const troubles: unknown[] = []
  const edge = createEdgeServer({
    limits: { ...LIMITS, ...limits },
    report: (error) => troubles.push(error),
    ...(wake ? { wake } : {}),
    ...(onLoop ? { onLoop } : {}),
    ...(now ? { now } : {}),
    hasFastPath,
  })
  const port = await listenOn(t, edge.http)
  const use = (next: Record<string, Target>) => edge.useRoutes(new Map(Object.entries(next)))
  use(hosts)
  return { ...edge, port, use, troubles }
}

/** An edge before one application. */
export const edgeBefore = (t: Scope, { port }: { port: number }, limits: Partial<Limits> = {}): Promise<TestEdge> =>
  startTestEdge(t, { [HOST]: serverTarget(port) }, { limits })

/** An application; its answers are the listener's. */
export async function startUpstream(t: Scope, listener: RequestListener): Promise<{ http: Server; port: number }> {
  const http = createServer(listener)
  return { http, port: await listenOn(t, http) }
}

/** An application that writes raw bytes. */
export async function startRawUpstream(t: Scope, onConnection: (socket: Socket) => void): Promise<{ port: number }> {
  const sockets = new Set<Socket>()
  const server = createTcpServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    onConnection(socket)
  })
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return { port: (server.address() as AddressInfo).port }
}

export const serverTarget = (port: number, instance = 'i1', deployment = 'd1'): Target => ({
  kind: 'server',
  environment: 'e1',
  deployment,
  instance,
  host: '127.0.0.1',
  port,
})

async function listenOn(t: Scope, http: Server): Promise<number> {
  t.after(() => {
    http.close()
    http.closeAllConnections()
  })
  await once(http.listen(0, '127.0.0.1'), 'listening')
  return (http.address() as AddressInfo).port
}

export type EdgeResponse = {
  status: number
  headers: IncomingMessage['headers']
  rawHeaders: string[]
  body: Buffer
  text: string
}

type Asked = { host?: string; path?: string; method?: string; headers?: Record<string, string>; body?: Buffer | string }

/** One request and its complete response, over a connection of its own. */
export async function ask(port: number, asked: Asked = {}): Promise<EdgeResponse> {
  const { host = HOST, path = '/', method = 'GET', headers = {}, body } = asked
  const sent = request({ host: '127.0.0.1', port, path, method, headers: { host, ...headers }, agent: false })
  sent.end(body)
  return readAnswer(sent)
}

export async function readAnswer(sent: ReturnType<typeof request>): Promise<EdgeResponse> {
  const [received] = (await once(sent, 'response')) as [IncomingMessage]
  const chunks: Buffer[] = []
  for await (const chunk of received) chunks.push(chunk)
  const whole = Buffer.concat(chunks)
  const { statusCode = 0, headers, rawHeaders } = received
  return { status: statusCode, headers, rawHeaders, body: whole, text: whole.toString() }
}

/** Writes bytes, and reads until the other side closes or the expected text has arrived. */
export async function askRaw(port: number, text: string, until?: RegExp): Promise<{ text: string; socket: Socket }> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write(text)
  return { text: await readRaw(socket, until), socket }
}

export function readRaw(socket: Socket, until?: RegExp): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    function end() {
      socket.off('data', take)
      socket.off('close', end)
      resolve(text)
    }
    function take(chunk: Buffer) {
      text += chunk.toString('latin1')
      if (until?.test(text)) end()
    }
    socket.on('data', take)
    socket.on('close', end)
  })
}

/** How many connections a server has open. */
export const connectionsOf = (http: Server): Promise<number> =>
  new Promise((resolve, reject) => http.getConnections((error, count) => (error ? reject(error) : resolve(count))))

/** Lets everything run until a number has not changed for many turns of the event loop: no work is left. */
export async function untilStill(read: () => number): Promise<number> {
  let last = read()
  for (let turns = 0; turns < 2000; turns++) {
    await new Promise((resolve) => setImmediate(resolve))
    if (read() !== last) turns = 0
    last = read()
  }
  return last
}
