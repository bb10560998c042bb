/** An edge that serves one application over TLS, with clients for HTTP/1.1 and HTTP/2. */
import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { type ClientHttp2Session, type ClientHttp2Stream, connect, type OutgoingHttpHeaders } from 'node:http2'
import { request } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import type { Limits } from '../../../src/edge/limits.ts'
import type { EdgeCertificate } from '../../../src/edge/tls/types.ts'
import type { Scope } from '../folder.ts'
import { type CachedApp, cachedApp } from './cache.ts'
import { type EdgeResponse, HOST, readAnswer } from './edge.ts'
import { makeCertificate } from './tls.ts'

export async function edgeCertificate(t: Scope, id: string, names: readonly string[]): Promise<EdgeCertificate> {
  const { key, cert } = await makeCertificate(t, { names })
  return { id, names, chain: cert, key }
}

export type SecureApp = CachedApp & { securePort: number; certificate: EdgeCertificate }

export async function secureApp(t: Scope, listener: RequestListener, limits: Partial<Limits> = {}): Promise<SecureApp> {
  const app = await cachedApp(t, listener, { limits })
  const certificate = await edgeCertificate(t, 'c1', [HOST])
  app.secure.changeCertificates({ set: [certificate], removed: [] })
  const { server } = app.secure
  // Clients close their connections later.
  t.after(() => void app.secure.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return { ...app, certificate, securePort: (server.address() as AddressInfo).port }
}

type Asked = { host?: string; path?: string; method?: string; headers?: Record<string, string>; body?: Buffer | string }

/** One request of HTTP/1.1 over TLS, on a connection of its own. */
export function askSecurely(app: SecureApp, asked: Asked = {}, more: ConnectionOptions = {}): Promise<EdgeResponse> {
  const { host = HOST, path = '/', method = 'GET', headers = {}, body } = asked
  const sent = request({
    host: '127.0.0.1',
    port: app.securePort,
    servername: host,
    ca: app.certificate.chain,
    path,
    method,
    headers: { host, ...headers },
    agent: false,
    ...more,
  })
  sent.end(body)
  return readAnswer(sent)
}

/** A connection of HTTP/2. */
export async function openHttp2(t: Scope, app: SecureApp, more: ConnectionOptions = {}): Promise<ClientHttp2Session> {
  const session = connect(`https://${HOST}:${app.securePort}`, {
    host: '127.0.0.1',
    servername: HOST,
    ca: app.certificate.chain,
    ...more,
  })
  session.on('error', () => undefined)
  t.after(() => session.destroy())
  await once(session, 'connect')
  return session
}

export type Http2Answer = { status: number; headers: Record<string, string>; body: Buffer; text: string }

/** One stream and its complete response. */
export async function askHttp2(
  session: ClientHttp2Session,
  headers: OutgoingHttpHeaders = {},
  body?: Buffer | string,
): Promise<Http2Answer> {
  const stream = session.request({ ':authority': HOST, ...headers }, { endStream: body === undefined })
  if (body !== undefined) stream.end(body)
  return readHttp2(stream)
}

export async function readHttp2(stream: ClientHttp2Stream): Promise<Http2Answer> {
  const [headers] = (await once(stream, 'response')) as [Record<string, string>]
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk)
  const whole = Buffer.concat(chunks)
  return { status: Number(headers[':status']), headers, body: whole, text: whole.toString() }
}
