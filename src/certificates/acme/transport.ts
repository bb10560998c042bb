/** HTTPS to the CA: every answer is limited in size and time, and redirects are not followed. */
import { Agent, request } from 'node:https'
import { rootCertificates } from 'node:tls'
import type { Clock } from '../../base/index.ts'
import { CaUnreachable } from './problem.ts'

const TIMEOUT_MS = 30_000
const MAX_BYTES = 256 * 1024
const MAX_SOCKETS = 4
const MAX_URL_LENGTH = 2048

export type Answer = {
  status: number
  headers: Readonly<Record<string, string | string[] | undefined>>
  text: string
}

export type Ask = { method: 'GET' | 'HEAD' | 'POST'; url: string; body?: string; accept?: string }

type Parts = {
  /** Certificates, as PEM, that the CA's own server is checked against, beside those that Node knows. */
  ca?: readonly string[] | undefined
  userAgent: string
  signal?: AbortSignal | undefined
}

export function createTransport({ ca, userAgent, signal }: Parts) {
  const agent = new Agent({
    keepAlive: true,
    maxSockets: MAX_SOCKETS,
    ...(ca ? { ca: [...rootCertificates, ...ca] } : {}),
  })

  return {
    ask({ method, url, body, accept }: Ask): Promise<Answer> {
      return new Promise((resolve, reject) => {
        const host = hostOf(url)
        const fail = (error: Error) => reject(new CaUnreachable(`${host}: ${error.message}`, { cause: error }))
        const timeout = AbortSignal.timeout(TIMEOUT_MS)
        const asked = request(
          url,
          {
            method,
            agent,
            signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
            headers: {
              'user-agent': userAgent,
              ...(accept ? { accept } : {}),
              ...(body === undefined
                ? {}
                : { 'content-type': 'application/jose+json', 'content-length': Buffer.byteLength(body) }),
            },
          },
          (response) => {
            const chunks: Buffer[] = []
            let bytes = 0
            response.on('data', (chunk: Buffer) => {
              bytes += chunk.length
              if (bytes > MAX_BYTES) response.destroy(new Error(`the answer has more than ${MAX_BYTES} bytes`))
              else chunks.push(chunk)
            })
            response.once('error', fail)
            response.once('end', () =>
              resolve({
                status: response.statusCode ?? 0,
                headers: response.headers,
                text: Buffer.concat(chunks).toString('utf8'),
              }),
            )
          },
        )
        asked.once('error', (error) =>
          fail(timeout.aborted ? new Error(`no answer within ${TIMEOUT_MS / 1000} seconds`) : error),
        )
        asked.end(body)
      })
    },

    close: () => agent.destroy(),
  }
}

export type Transport = ReturnType<typeof createTransport>

/** Addresses come from the CA. One that is not HTTPS would send a signed request in the clear. */
export function checkUrl(url: unknown, what: string): string {
  if (typeof url === 'string' && url.length <= MAX_URL_LENGTH && URL.canParse(url) && url.startsWith('https://')) {
    return url
  }
  throw new CaUnreachable(`the CA gave no HTTPS address for ${what}`)
}

const hostOf = (url: string): string => new URL(url).host

const MAX_RETRY_AFTER_MS = 31 * 24 * 3600 * 1000

/** In seconds or as a date (RFC 9110, 10.2.3). */
export function retryAfterOf({ headers }: Pick<Answer, 'headers'>, clock: Pick<Clock, 'now'>): number | undefined {
  const [text] = [headers['retry-after'] ?? []].flat()
  if (text === undefined) return undefined
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - clock.now()
  return Number.isFinite(ms) ? Math.min(Math.max(0, ms), MAX_RETRY_AFTER_MS) : undefined
}
