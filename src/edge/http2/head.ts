/** The head of a response of HTTP/1.1 as one of HTTP/2. */
import type { OutgoingHttpHeaders } from 'node:http2'
import { toLower } from '../http/remember.ts'
import type { Wire } from '../http/wire.ts'

/** They apply to one connection of HTTP/1.1, and are errors in HTTP/2 (RFC 9113, section 8.2.2). */
const OF_CONNECTION = new Set(['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade'])

export function toHttp2Headers(status: number, rawHeaders: readonly string[]): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = Object.create(null)
  headers[':status'] = status
  for (let at = 0; at < rawHeaders.length; at += 2)
    add(headers, toLower(rawHeaders[at] as string), rawHeaders[at + 1] as string)
  return headers
}

export type Http2Response = { headers: OutgoingHttpHeaders; body: Buffer }

export function createWireReader() {
  /** Those in one buffer are sent many times. */
  const known = new WeakMap<Buffer, Http2Response>()

  return function readWire(wire: Wire): Http2Response {
    if (!(wire instanceof Uint8Array)) return { headers: readHead(wire.head), body: wire.body }
    const read = known.get(wire)
    if (read) return read
    const end = wire.indexOf('\r\n\r\n') + 4
    const response = { headers: readHead(wire.toString('latin1', 0, end)), body: wire.subarray(end) }
    known.set(wire, response)
    return response
  }
}

/** The head is one that we wrote: `HTTP/1.1 200 OK`, and then lines of `Name: value`. */
function readHead(head: string): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = Object.create(null)
  headers[':status'] = Number(head.slice(STATUS_AT, STATUS_AT + 3))
  let at = head.indexOf('\r\n') + 2
  while (at < head.length - 2) {
    const colon = head.indexOf(':', at)
    const end = head.indexOf('\r\n', colon)
    add(headers, toLower(head.slice(at, colon)), head.slice(colon + 2, end))
    at = end + 2
  }
  return headers
}

const STATUS_AT = 'HTTP/1.1 '.length

function add(headers: OutgoingHttpHeaders, name: string, value: string) {
  if (OF_CONNECTION.has(name)) return
  const before = headers[name]
  if (before === undefined) headers[name] = value
  else if (Array.isArray(before)) before.push(value)
  else headers[name] = [String(before), value]
}
