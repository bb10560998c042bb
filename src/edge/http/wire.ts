/** A whole response as the bytes that node:http would send for it with `writeHead(status, headers)` and `end(body)`. */
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { LIMITS } from '../limits.ts'

/** In one buffer, or as head and body, which are combined when it is sent. */
export type Wire = Buffer | Parts
export type Parts = { head: string; body: Buffer }

/**
 * The headers, `[name, value, …]`, contain no Connection, and contain Content-Length unless the status allows no body:
 * without it, the client would not know where the response ends.
 */
export const toParts = (status: number, headers: readonly string[], body: Buffer): Parts => ({
  head: toHead(status, headers),
  body,
})

/** The three digits of the status line. */
export function statusOf(wire: Wire): number {
  const digit = (at: number) => (wire instanceof Uint8Array ? (wire[at] as number) : wire.head.charCodeAt(at)) - ZERO
  return 100 * digit(STATUS_AT) + 10 * digit(STATUS_AT + 1) + digit(STATUS_AT + 2)
}

export const lengthOf = (wire: Wire): number =>
  wire instanceof Uint8Array ? wire.length : wire.head.length + wire.body.length

const STATUS_AT = 'HTTP/1.1 '.length
const ZERO = 0x30

/** For a response that is sent more than once; for one that is sent once, `toParts` is cheaper. */
export function toWire(status: number, headers: readonly string[], body: Buffer): Buffer {
  const head = toHead(status, headers)
  const wire = Buffer.allocUnsafe(head.length + body.length)
  wire.write(head, 'latin1')
  body.copy(wire, head.length)
  return wire
}

/** Sends a response with as little work as possible: one write. */
export function createWriter() {
  // Reused, because a new buffer for each response would cause most of the garbage: a sixth of the cost of a response.
  let copies = Buffer.allocUnsafeSlow(COPY_BYTES)

  return {
    /** False when the client has not read yet what it was sent. */
    write(socket: Socket, wire: Wire, onSent?: () => void): boolean {
      if (wire instanceof Uint8Array) return socket.write(wire, onSent)
      const { head, body } = wire
      const length = head.length + body.length
      if (length > COPY_BYTES) {
        socket.cork()
        socket.write(head, 'latin1')
        const isTaken = socket.write(body, onSent)
        socket.uncork()
        return isTaken
      }
      copies.write(head, 'latin1')
      body.copy(copies, head.length)
      const isTaken = socket.write(copies.subarray(0, length), onSent)
      // The kernel did not take everything: the rest is still to be read from this buffer.
      if (socket.writableLength > 0) copies = Buffer.allocUnsafeSlow(COPY_BYTES)
      return isTaken
    },
  }
}

export type Writer = ReturnType<typeof createWriter>

const COPY_BYTES = 64 * 1024

function toHead(status: number, headers: readonly string[]): string {
  const { head, isChunked } = headOf(status, undefined, headers)
  if (isChunked) throw new Error('a response without Content-Length cannot be written as a whole')
  return head
}

/** The head of any response. Where its length is not known, its body is to follow in chunks. */
export function headOf(
  status: number,
  reason: string | undefined,
  headers: readonly string[],
): { head: string; isChunked: boolean } {
  let head = `HTTP/1.1 ${status} ${reason ?? STATUS_CODES[status] ?? 'unknown'}\r\n`
  let hasDate = false
  let hasLength = status === 204 || status === 304
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] as string
    head += `${name}: ${headers[at + 1]}\r\n`
    if (name.length === 4) hasDate ||= name.toLowerCase() === 'date'
    else if (name.length === 14) hasLength ||= name.toLowerCase() === 'content-length'
  }
  if (!hasDate) head += dateLine()
  return { head: head + (hasLength ? KEPT : KEPT_CHUNKED), isChunked: !hasLength }
}

const KEEP_ALIVE = `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(LIMITS.idleClientMs / 1000)}\r\n`
const KEPT = `${KEEP_ALIVE}\r\n`
const KEPT_CHUNKED = `${KEEP_ALIVE}Transfer-Encoding: chunked\r\n\r\n`

let second = 0
let line = ''

function dateLine(): string {
  const now = Math.floor(Date.now() / 1000)
  if (now !== second) {
    second = now
    line = `Date: ${new Date(now * 1000).toUTCString()}\r\n`
  }
  return line
}
