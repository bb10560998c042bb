/**
 * Refuses malformed requests. node:http's parser refuses most of them: two lengths, a length beside a transfer coding,
 * bad chunks, bare line ends, folded lines, blanks before a colon, control characters. Requests that it accepts, but
 * that an app might read in another way, are refused here.
 *
 * The response is a status, and the connection is closed: after such a request it is not known where the next one
 * begins.
 */
import { type IncomingMessage, METHODS, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Limits } from '../limits.ts'

/** The status that a request is refused with; undefined for one that is well-formed. */
export function faultOf(request: IncomingMessage, limits: Limits): number | undefined {
  const { httpVersion, method = '', url = '', rawHeaders } = request
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return 505
  // The parser also accepts methods of RTSP and Icecast, which belong to other protocols.
  if (!HTTP_METHODS.has(method)) return 400
  if (url.length > limits.requestTargetBytes) return 414
  if (url.includes('#') || (url === '*' && method !== 'OPTIONS')) return 400
  if (rawHeaders.length / 2 > limits.requestHeaders) return 431
  return faultOfHeaders(rawHeaders, httpVersion)
}

function faultOfHeaders(rawHeaders: readonly string[], httpVersion: string): number | undefined {
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++
    else if (name.length === 17 && name.toLowerCase() === 'transfer-encoding') {
      const coding = (rawHeaders[at + 1] as string).toLowerCase()
      // HTTP/1.0 has none, so a proxy in front of us may have read the body in another way (RFC 9112, section 6.1).
      if (httpVersion === '1.0') return 400
      // Bodies are forwarded as decoded by node:http, so the header of any other coding would be lost.
      if (coding !== 'chunked') return /[, ]chunked$/.test(coding) ? 501 : 400
    }
  }
  return hosts > 1 || (hosts === 0 && httpVersion === '1.1') ? 400 : undefined
}

const HTTP_METHODS = new Set(METHODS.filter((method) => method !== 'SOURCE'))

export function refuseRequest(response: ServerResponse, status: number) {
  response.writeHead(status, { connection: 'close', 'content-length': 0 })
  response.end()
}

/** For a connection that has no response object. */
export function refuseOn(socket: Socket, status: number) {
  socket.on('error', noop)
  if (!socket.writable) return void socket.destroy()
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`)
  socket.destroySoon()
}

/** For requests that the parser itself refuses. */
export function refuseMalformed(error: NodeJS.ErrnoException, stream: NodeJS.WritableStream) {
  const socket = stream as Socket
  socket.on('error', noop)
  // Once something was sent, an error response could be taken for a part of it. Complete responses to earlier pipelined
  // requests are still sent.
  if (socket.bytesWritten > 0) return void setImmediate(() => socket.destroy())
  refuseOn(socket, STATUS_OF[error.code ?? ''] ?? 400)
}

const STATUS_OF: Record<string, number> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
}

function noop() {
  // Errors of a connection are followed by its `close`, which is handled.
}
