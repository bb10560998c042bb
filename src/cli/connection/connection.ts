/**
 * How one service is spoken to: over connections that are kept, through a proxy or straight. This is `node:http` in the
 * form of `fetch`, which goes through no proxy of this kind for plain HTTP and does not say why a proxy refused.
 */
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { Readable } from 'node:stream'
import { type ProxyServer, type ProxyVariables, proxyFor } from './proxy.ts'

export type Connection = {
  proxy: ProxyServer | undefined
  /** For whoever makes a request of `node:http`. */
  agent: HttpAgent
  send(url: string, options: SendOptions): Promise<Response>
}

type SendOptions = {
  method: string
  headers: Record<string, string>
  body?: string | undefined
  signal: AbortSignal
}

export function createConnection(service: string, variables: ProxyVariables = {}): Connection {
  const proxy = proxyFor(service, variables)
  const isTls = new URL(service).protocol === 'https:'
  const proxyEnv = proxy ? { [isTls ? 'HTTPS_PROXY' : 'HTTP_PROXY']: proxy.url.href } : {}
  const agent = isTls ? new HttpsAgent({ keepAlive: true, proxyEnv }) : new HttpAgent({ keepAlive: true, proxyEnv })
  const request = isTls ? httpsRequest : httpRequest

  return {
    proxy,
    agent,
    send: (url, { body, ...options }) =>
      new Promise((resolve, reject) => {
        const sent = request(url, { ...options, agent })
        sent.once('response', (answer) => resolve(responseOf(answer)))
        // There may be one after the answer too, which its body tells.
        sent.on('error', reject)
        sent.end(body)
      }),
  }
}

/** Statuses with which there is no body, and a `Response` takes none. */
const BODILESS = [204, 205, 304]

function responseOf(answer: IncomingMessage): Response {
  const { statusCode: status = 0, rawHeaders } = answer
  const headers = new Headers()
  for (let index = 0; index < rawHeaders.length; index += 2) {
    headers.append(rawHeaders[index] ?? '', rawHeaders[index + 1] ?? '')
  }
  if (!BODILESS.includes(status)) {
    return new Response(Readable.toWeb(answer) as ReadableStream<Uint8Array>, { status, headers })
  }
  answer.resume()
  return new Response(null, { status, headers })
}
