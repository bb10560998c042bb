/** Reads what the form sent: within bounds, from a page of the same site, and with a place to return to that is local. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { expectsContinue } from '../http/headers.ts'
import type { Limits } from '../limits.ts'
import { toHost } from '../routes.ts'
import { UNLOCK_PATH } from './form.ts'

export type Unlocking = { password: string; to: string }

export type UnlockFault = 'other-site' | 'not-a-form' | 'too-large' | 'too-slow'

/** Undefined when the client has gone. */
export async function readUnlocking(
  request: IncomingMessage,
  response: ServerResponse,
  { authority, limits }: { authority: string; limits: Limits },
): Promise<Unlocking | UnlockFault | undefined> {
  if (!isSameOrigin(request, authority)) return 'other-site'
  const type = request.headers['content-type'] ?? ''
  if (!/^application\/x-www-form-urlencoded(?:;|$)/i.test(type)) return 'not-a-form'
  if (Number(request.headers['content-length'] ?? 0) > limits.unlockBodyBytes) return 'too-large'
  if (expectsContinue(request)) response.writeContinue()
  const body = await readBody(request, limits)
  if (typeof body === 'string' || body === undefined) return body
  const fields = new URLSearchParams(body.toString('utf8'))
  return { password: fields.get('password') ?? '', to: localPath(fields.get('to') ?? '/', limits) }
}

/**
 * Browsers say where a form comes from, in one header or the other. A form of another site could only send a password
 * that it knows, but there is no reason to take it. Programs say nothing.
 */
function isSameOrigin({ headers }: IncomingMessage, authority: string): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return false
  if (headers.origin === undefined) return true
  const [, host] = /^https?:\/\/([^/]+)$/i.exec(headers.origin) ?? []
  // Without the port, which proxies in front may leave out.
  return host !== undefined && toHost(host) === toHost(authority)
}

/** The path and query that the visitor asked for, if they lead to no other site; else the start page. */
export function localPath(to: string, { unlockReturnLength }: Pick<Limits, 'unlockReturnLength'>): string {
  // Browsers read `//host` and `/\host` as another site, and ignore blanks and control characters.
  if (to.length > unlockReturnLength || !/^\/(?![/\\])[!-[\]-~]*$/.test(to)) return '/'
  return pathOf(to) === UNLOCK_PATH ? '/' : to
}

/** Without the query. */
export const pathOf = (target: string): string => target.split('?', 1)[0] as string

function readBody(request: IncomingMessage, limits: Limits): Promise<Buffer | UnlockFault | undefined> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let bytes = 0
    const timeout = setTimeout(() => finish('too-slow'), limits.unlockBodyMs)
    function finish(result: Buffer | UnlockFault | undefined) {
      clearTimeout(timeout)
      request.removeListener('data', receive)
      resolve(result)
    }
    function receive(chunk: Buffer) {
      bytes += chunk.length
      if (bytes > limits.unlockBodyBytes) return finish('too-large')
      chunks.push(chunk)
    }
    request.on('data', receive)
    request.once('end', () => finish(Buffer.concat(chunks)))
    // A client that has gone gets no answer: `close` follows each error.
    request.on('error', () => undefined)
    request.once('close', () => finish(undefined))
  })
}
