/** A whole response as the bytes that node:http would send for it with `writeHead(status, headers)` and `end(body)`. */
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { LIMITS } from '../limits.ts'

/** In one piece, or in the two that it is put together from when it is sent. */
export type Wire = Buffer | Parts
export type Parts = { head: string; body: Buffer }

/**
 * The headers, `[name, value, …]`, say nothing of the connection, and give the body's length unless the status allows no
 * body: without it, the client could not tell where the response ends.
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

const STATUS_AT = 'HTTP/1.1 '.length
const ZERO = 0x30

/** For what is sent more than once: what is sent only once is better left in its parts. */
export function toWire(status: number, headers: readonly string[], body: Buffer): Buffer {
  const head = toHead(status, headers)
  const wire = Buffer.allocUnsafe(head.length + body.length)
  wire.write(head, 'latin1')
  body.copy(wire, head.length)
  return wire
}

/** The least that can be done to send it: one write. */
export function createWriter() {
  // A buffer for each response would be the greatest part of what there is to collect: a sixth of what an answer costs.
  let copies = Buffer.allocUnsafeSlow(COPY_BYTES)

  return {
    /** False when the client has yet to take what it was sent. */
    write(socket: Socket, wire: Wire): boolean {
      if (wire instanceof Uint8Array) return socket.write(wire)
      const { head, body } = wire
      const length = head.length + body.length
      if (length > COPY_BYTES) {
        socket.cork()
        socket.write(head, 'latin1')
        const isTaken = socket.write(body)
        socket.uncork()
        return isTaken
      }
      copies.write(head, 'latin1')
      body.copy(copies, head.length)
      const isTaken = socket.write(copies.subarray(0, length))
      // What the system did not take at once is still to be read from there.
      if (socket.writableLength > 0) copies = Buffer.allocUnsafeSlow(COPY_BYTES)
      return isTaken
    },
  }
}

const COPY_BYTES = 64 * 1024

function toHead(status: number, headers: readonly string[]): string {
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}\r\n`
  let hasDate = false
  let hasLength = status === 204 || status === 304
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] as string
    head += `${name}: ${headers[at + 1]}\r\n`
    if (name.length === 4) hasDate ||= name.toLowerCase() === 'date'
    else if (name.length === 14) hasLength ||= name.toLowerCase() === 'content-length'
  }
  if (!hasLength) throw new Error('a response without the length of its body cannot be written as a whole')
  if (!hasDate) head += dateLine()
  return head + KEPT
}

const KEPT = `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(LIMITS.idleClientMs / 1000)}\r\n\r\n`

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
