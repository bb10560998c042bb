/**
 * Requests that are refused for their form, before anybody asks what they want. node:http's parser refuses most: two
 * lengths, a length beside a transfer coding, bad chunks, bare line ends, folded lines, blanks before a colon, control
 * characters. What it lets through, and somebody behind us might read in another way, is refused here.
 *
 * The answer is a status and the connection's end: after such a request nobody can say where the next one begins.
 */
import { type IncomingMessage, METHODS, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Limits } from '../limits.ts'

/** The status that a request is refused with; undefined for one that is well-formed. */
export function faultOf(request: IncomingMessage, limits: Limits): number | undefined {
  const { httpVersion, method = '', url = '', rawHeaders } = request
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return 505
  // The parser knows words of RTSP and Icecast, and those come with their own protocols' names and versions.
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
      // HTTP/1.0 has none, so whoever passed it on may have read the body in another way (RFC 9112, section 6.1).
      if (httpVersion === '1.0') return 400
      // Bodies are passed on as they are, and a coding that we do not undo would be lost.
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

/** What the parser itself refuses. */
export function refuseMalformed(error: NodeJS.ErrnoException, stream: NodeJS.WritableStream) {
  const socket = stream as Socket
  socket.on('error', noop)
  // Once something was sent, what is written now could be taken for a part of it. Answers to earlier requests that are
  // ready, and wait for one another, still go out.
  if (socket.bytesWritten > 0) return void setImmediate(() => socket.destroy())
  refuseOn(socket, STATUS_OF[error.code ?? ''] ?? 400)
}

const STATUS_OF: Record<string, number> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
}

function noop() {
  // Errors of a connection are followed by its `close`, which is what counts.
}
