/** A request and the address that it was sent to. */
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { toHost } from '../routes.ts'

export type Address = {
  /** As the client wrote it, with a port. */
  authority: string
  /** The key of the route table. */
  host: string
  /** Path and query. */
  path: string
}

/**
 * What the cache needs of a visit: a GET or HEAD without a body, and its response. Those of node:http have all of it, and so
 * have plain ones, which the fast path reads and answers.
 */
export type ReadVisit = Address & {
  request: ReadRequest
  response: ReadResponse
  /** It is answered without a request to the app. */
  isHit: boolean
  /** An app or a build has sent it: another request to the same app may wait for the answer. */
  isFromJob: boolean
}

export type ReadRequest = Pick<IncomingMessage, 'method' | 'headers' | 'rawHeaders' | 'httpVersion' | 'socket'>

export type ReadResponse = {
  readonly socket: Socket | null
  readonly headersSent: boolean
  readonly writableEnded: boolean
  readonly writableFinished: boolean
  readonly destroyed: boolean
  writeHead(status: number, reason?: string, headers?: OutgoingHttpHeaders | string[]): unknown
  writeHead(status: number, headers?: OutgoingHttpHeaders | string[]): unknown
  flushHeaders(): void
  /** `onSent` is called when the connection has taken the bytes: the buffer may be used again. It is not where the client has left. */
  write(chunk: Buffer, onSent?: () => void): boolean
  end(chunk?: Buffer | string): unknown
  destroy(): unknown
  on(event: 'drain', listener: () => void): unknown
  once(event: 'close', listener: () => void): unknown
}

export type Visit = ReadVisit & {
  request: IncomingMessage
  response: ServerResponse
}

/** Undefined when the request target is invalid for a server. */
export function readAddress({ url = '', headers }: IncomingMessage): Address | undefined {
  const authority = headers.host ?? ''
  if (url.startsWith('/') || url === '*') return { authority, host: toHost(authority), path: url }
  // The authority of an absolute target takes precedence over the Host header (RFC 9112, section 3.2.2).
  const [, own, path = ''] = /^https?:\/\/([^/?#@]+)((?:[/?].*)?)$/i.exec(url) ?? []
  if (own === undefined) return undefined
  return { authority: own, host: toHost(own), path: path.startsWith('/') ? path : `/${path}` }
}
