/** A request and the address that it was sent to. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { toHost } from '../routes.ts'

export type Address = {
  /** As the client wrote it, with a port. */
  authority: string
  /** The key of the route table. */
  host: string
  /** Path and query. */
  path: string
}

export type Visit = Address & {
  request: IncomingMessage
  response: ServerResponse
  /** It is answered without a request to the app. */
  isHit: boolean
  /** An app or a build has sent it: another request to the same app may wait for the answer. */
  isFromJob: boolean
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
