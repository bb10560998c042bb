/** HTTP to Docker's engine, by its Unix socket or by TCP with TLS: every answer is bounded in size and in time. */
import { once } from 'node:events'
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { DockerRefused, DockerUnreachable } from './failure.ts'

export type DockerAddress =
  | { socketPath: string }
  /** With the certificates of both sides, as texts: an engine that asks for none gives everyone root. */
  | { host: string; port: number; tls: { ca: string; cert: string; key: string } }

export type TransportOptions = {
  address: DockerAddress
  /** For a whole answer. */
  timeoutMs?: number
}

export type Ask = {
  method: 'GET' | 'POST' | 'DELETE'
  path: string
  query?: Readonly<Record<string, string>>
  headers?: Readonly<Record<string, string>>
  body?: unknown
  maxBytes?: number
  signal?: AbortSignal | undefined
}

type StreamAsk = { path: string; query?: Readonly<Record<string, string>>; signal: AbortSignal }

const TIMEOUT_MS = 30_000
const KEEP_ALIVE_MS = 15_000
const MAX_SOCKETS = 16
/** Of an answer about one thing. Those about all of them have limits of their own. */
const MAX_BYTES = 1024 * 1024
/** Of Docker's words in an error. */
const MAX_WORDS = 500

export function createTransport({ address, timeoutMs = TIMEOUT_MS }: TransportOptions) {
  const isLocal = 'socketPath' in address
  const options = { keepAlive: true, maxSockets: MAX_SOCKETS }
  const agent = isLocal ? new HttpAgent(options) : new HttpsAgent(options)
  const to = isLocal
    ? { socketPath: address.socketPath, host: 'docker' }
    : { host: address.host, port: address.port, ...address.tls }
  const request = isLocal ? httpRequest : httpsRequest

  return {
    /** The JSON of a good answer; undefined where it has none. */
    async ask({ method, path, query = {}, headers = {}, body, maxBytes = MAX_BYTES, signal }: Ask): Promise<unknown> {
      const what = `${method} ${path}`
      const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body))
      const search = new URLSearchParams(query).toString()
      const late = AbortSignal.timeout(timeoutMs)
      try {
        const asked = request({
          ...to,
          method,
          agent,
          path: search === '' ? path : `${path}?${search}`,
          signal: signal ? AbortSignal.any([signal, late]) : late,
          headers: {
            ...headers,
            ...(bytes ? { 'content-type': 'application/json', 'content-length': bytes.byteLength } : {}),
          },
        })
        asked.end(bytes)
        const [response] = (await once(asked, 'response')) as [IncomingMessage]
        const text = await collect(response, maxBytes)
        const { statusCode: status = 0 } = response
        if (status < 200 || status > 299) throw new DockerRefused(what, status, wordsOf(text))
        return text === '' ? undefined : JSON.parse(text)
      } catch (error) {
        signal?.throwIfAborted()
        if (error instanceof DockerRefused) throw error
        const cause = late.aborted ? new Error(`no whole answer within ${timeoutMs / 1000} seconds`) : error
        throw new DockerUnreachable(what, { cause })
      }
    },

    /**
     * The bytes of an answer that has no end, on a connection of its own. Only its beginning is bounded in time: the caller ends it
     * by the signal.
     */
    async *stream({ path, query = {}, signal }: StreamAsk): AsyncGenerator<Uint8Array> {
      const what = `GET ${path}`
      const late = new AbortController()
      const timer = setTimeout(() => late.abort(), timeoutMs)
      try {
        const asked = request({
          ...to,
          method: 'GET',
          agent: false,
          path: `${path}?${new URLSearchParams(query)}`,
          signal: AbortSignal.any([signal, late.signal]),
        })
        asked.end()
        const [response] = (await once(asked, 'response')) as [IncomingMessage]
        const { statusCode: status = 0 } = response
        if (status < 200 || status > 299)
          throw new DockerRefused(what, status, wordsOf(await collect(response, MAX_BYTES)))
        clearTimeout(timer)
        // A machine that is gone is noticed within minutes.
        response.socket.setKeepAlive(true, KEEP_ALIVE_MS)
        yield* response as AsyncIterable<Uint8Array>
        if (!response.complete) throw new Error('its answer was cut off')
      } catch (error) {
        signal.throwIfAborted()
        if (error instanceof DockerRefused) throw error
        throw new DockerUnreachable(what, { cause: error })
      } finally {
        clearTimeout(timer)
      }
    },

    close: () => agent.destroy(),
  }
}

export type Transport = ReturnType<typeof createTransport>

async function collect(response: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength
    if (bytes > maxBytes) throw new Error(`its answer has more than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  if (!response.complete) throw new Error('its answer was cut off')
  return Buffer.concat(chunks).toString()
}

function wordsOf(text: string): string {
  try {
    const { message } = JSON.parse(text)
    if (typeof message === 'string') return message.slice(0, MAX_WORDS)
  } catch {
    // An answer of a proxy is not JSON, and is given as it is.
  }
  return text.slice(0, MAX_WORDS)
}
