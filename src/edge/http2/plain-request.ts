/** Requests of HTTP/2 that the fast path can answer: GETs without a body, with headers that only describe the request. */
import { constants, type IncomingHttpHeaders } from 'node:http2'
import type { PlainRequest } from '../fast-path/request.ts'
import type { Limits } from '../limits.ts'

export type Http2Head = {
  headers: IncomingHttpHeaders
  /** `[name, value, …]`, as the client sent them. */
  rawHeaders: readonly string[]
  flags: number
}

/** Undefined for any other request. */
export function toPlainRequest({ headers, rawHeaders, flags }: Http2Head, limits: Limits): PlainRequest | undefined {
  const target = headers[':path']
  const authority = headers[':authority']
  const isGet = headers[':method'] === 'GET' && (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0
  if (!isGet || target === undefined || !authority || rawHeaders.length > (limits.requestHeaders + PSEUDO) * 2)
    return undefined
  if (target.length > limits.requestTargetBytes || !TARGET.test(target)) return undefined
  let names = 0
  for (const name in headers) {
    if (NOT_PLAIN.has(name)) return undefined
    names++
  }
  // How two headers of one name are combined depends on the name. Only of cookies it is certain (RFC 9113, section 8.2.3).
  if (names * 2 !== rawHeaders.length && !isRepeatedCookie(headers, rawHeaders, names)) return undefined
  return new Plain(headers as Record<string, string>, target, authority)
}

const PSEUDO = 4
const TARGET = /^\/[!"$-~]*$/

const NOT_PLAIN = new Set(['host', 'content-length', 'te', 'trailer', 'expect', '__proto__', 'proxy-authorization'])

function isRepeatedCookie(headers: IncomingHttpHeaders, rawHeaders: readonly string[], names: number): boolean {
  if (headers.cookie === undefined) return false
  let cookies = 0
  for (let at = 0; at < rawHeaders.length; at += 2) if (rawHeaders[at] === 'cookie') cookies++
  return names + cookies - 1 === rawHeaders.length / 2
}

class Plain implements PlainRequest {
  readonly begin = 0
  readonly target: string
  readonly authority: string
  private readonly all: Record<string, string>
  private made: Record<string, string> | undefined

  constructor(all: Record<string, string>, target: string, authority: string) {
    this.all = all
    this.target = target
    this.authority = authority
    this.made = undefined
  }

  header(name: string): string | undefined {
    return name === 'host' ? this.authority : this.all[name]
  }

  namesFrom(letters: ReadonlySet<number>): string[] {
    const names: string[] = []
    for (const name in this.all) if (letters.has(name.charCodeAt(0))) names.push(name)
    if (letters.has(HOST_INITIAL)) names.push('host')
    return names
  }

  get headers(): Record<string, string> {
    if (this.made) return this.made
    const headers: Record<string, string> = Object.create(null)
    headers.host = this.authority
    for (const name in this.all) if (name.charCodeAt(0) !== COLON) headers[name] = this.all[name] as string
    this.made = headers
    return headers
  }
}

const HOST_INITIAL = 'h'.charCodeAt(0)
const COLON = ':'.charCodeAt(0)
