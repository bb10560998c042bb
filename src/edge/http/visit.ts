/** A request and where it is addressed to. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { toHost } from '../routes.ts'

export type Address = {
  /** As the client wrote it, with a port; goes on to the upstream unchanged. */
  authority: string
  /** What routes are found by. */
  host: string
  /** Path and query. */
  path: string
}

export type Visit = Address & {
  request: IncomingMessage
  response: ServerResponse
  /** It is answered without asking the app. */
  isHit: boolean
}

/** Undefined when the request target is none that a server knows. */
export function readAddress({ url = '', headers }: IncomingMessage): Address | undefined {
  const authority = headers.host ?? ''
  if (url.startsWith('/') || url === '*') return { authority, host: toHost(authority), path: url }
  // A target with its own authority counts, and the Host header beside it does not (RFC 9112, section 3.2.2).
  const [, own, path = ''] = /^https?:\/\/([^/?#@]+)((?:[/?].*)?)$/i.exec(url) ?? []
  if (own === undefined) return undefined
  return { authority: own, host: toHost(own), path: path.startsWith('/') ? path : `/${path}` }
}
