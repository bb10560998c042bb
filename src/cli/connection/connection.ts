/**
 * HTTP connections to one service: kept alive, through a proxy or direct. This wraps `node:http` in the form of `fetch`, which
 * itself uses no such proxy for plain HTTP and does not report why a proxy refused.
 */
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { Readable } from 'node:stream'
import { type ProxyServer, type ProxyVariables, proxyFor } from './proxy.ts'

export type Connection = {
  proxy: ProxyServer | undefined
  /** For requests by `node:http`. */
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
        // An error after the response is reported by its body.
        sent.on('error', reject)
        sent.end(body)
      }),
  }
}

/** Statuses for which `Response` accepts no body. */
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
