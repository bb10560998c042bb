/** HTTP to the registry: every answer is bounded in size and by the time without progress, and credentials stay with their origin. */
import { once } from 'node:events'
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { RegistryRefused, RegistryUnreachable } from './problem.ts'

/** Without a byte in either direction. */
const STALL_MS = 30_000
const MAX_SOCKETS = 4
const MAX_REDIRECTS = 5
/** Of answers that are not blobs. */
const MAX_BYTES = 4 * 1024 * 1024

export type Answer = {
  status: number
  headers: Readonly<Record<string, string | string[] | undefined>>
  /** Where it came from, after redirects. */
  url: URL
  body: Buffer
}

export type Ask = {
  method: 'GET' | 'HEAD' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  url: URL
  headers?: Readonly<Record<string, string | number>>
  body?: Buffer | { bytes: number; open(): Readable }
  signal?: AbortSignal | undefined
  /** Takes the body of a successful answer instead of it being collected. */
  sink?: ((body: AsyncIterable<Buffer>, status: number) => Promise<void>) | undefined
}

type Parts = {
  userAgent: string
  /** Whether plain HTTP may be used for a host. */
  mayBePlain(host: string): boolean
}

export function createTransport({ userAgent, mayBePlain }: Parts) {
  const agents = {
    'http:': new HttpAgent({ keepAlive: true, maxSockets: MAX_SOCKETS }),
    'https:': new HttpsAgent({ keepAlive: true, maxSockets: MAX_SOCKETS }),
  }

  function check(url: URL): URL {
    if (url.protocol === 'https:' || (url.protocol === 'http:' && mayBePlain(url.hostname))) return url
    throw new RegistryRefused(`The registry leads to ${url.origin}, which is not HTTPS.`, 0)
  }

  async function exchange({ method, url, headers = {}, body, signal, sink }: Ask): Promise<Answer> {
    const length = body === undefined ? undefined : Buffer.isBuffer(body) ? body.byteLength : body.bytes
    const isSecure = check(url).protocol === 'https:'
    const asked = (isSecure ? httpsRequest : httpRequest)(url, {
      method,
      agent: agents[isSecure ? 'https:' : 'http:'],
      timeout: STALL_MS,
      ...(signal ? { signal } : {}),
      headers: {
        'user-agent': userAgent,
        ...headers,
        ...(length === undefined ? (method === 'POST' ? { 'content-length': 0 } : {}) : { 'content-length': length }),
      },
    })
    asked.once('timeout', () => asked.destroy(new Error(`nothing moved for ${STALL_MS / 1000} seconds`)))
    try {
      const answered = once(asked, 'response') as Promise<[IncomingMessage]>
      // It is awaited below; where the body fails first, its rejection must not be unhandled.
      answered.catch(() => undefined)
      if (body === undefined || Buffer.isBuffer(body)) asked.end(body)
      else await Promise.race([answered, pipeline(body.open(), asked)])
      const [response] = await answered
      return await read(response, { url, method, sink })
    } catch (error) {
      asked.destroy()
      signal?.throwIfAborted()
      if (error instanceof RegistryRefused || error instanceof RegistryUnreachable || error instanceof SinkFailed)
        throw error
      throw new RegistryUnreachable(`${url.host}: ${(error as Error).message}`, { cause: error })
    }
  }

  async function read(response: IncomingMessage, { url, method, sink }: Pick<Ask, 'url' | 'method' | 'sink'>) {
    const { statusCode: status = 0, headers } = response
    const isGood = status === 200 || status === 206
    let body = Buffer.alloc(0)
    if (sink && isGood && method !== 'HEAD') await sink(response, status)
    else body = await collect(response)
    return { status, headers, url, body }
  }

  return {
    /** Follows redirects of reads. Credentials are not sent to another origin. */
    async ask(ask: Ask): Promise<Answer> {
      let current = ask
      for (let count = 0; ; count++) {
        const answer = await exchange(current)
        const [to] = [answer.headers.location ?? []].flat()
        const isMoved = [301, 302, 303, 307, 308].includes(answer.status) && to !== undefined
        if (!isMoved || (ask.method !== 'GET' && ask.method !== 'HEAD')) return answer
        if (count >= MAX_REDIRECTS) throw new RegistryRefused('The registry leads from one address to the next.', 0)
        const url = within(to, answer.url)
        const { authorization: _, ...others } = { authorization: '', ...current.headers }
        current = { ...current, url, headers: url.origin === answer.url.origin ? (current.headers ?? {}) : others }
      }
    },

    close() {
      for (const agent of Object.values(agents)) agent.destroy()
    },
  }
}

export type Transport = ReturnType<typeof createTransport>

/** An error of the sink: of the disk or of what was received, and not of the connection. */
export class SinkFailed extends Error {}

async function collect(response: IncomingMessage): Promise<Buffer<ArrayBuffer>> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength
    if (bytes > MAX_BYTES) throw new RegistryRefused('The registry sent a longer answer than any that is asked for.', 0)
    chunks.push(chunk)
  }
  if (!response.complete) throw new Error('the answer was cut off')
  return Buffer.concat(chunks)
}

/** An address of an answer, which may be relative. */
export function within(to: string, base: URL): URL {
  const url = URL.canParse(to, base.href) ? new URL(to, base) : undefined
  if (!url || to.length > 8192) throw new RegistryRefused('The registry gave an address that cannot be read.', 0)
  url.username = ''
  url.password = ''
  return url
}
