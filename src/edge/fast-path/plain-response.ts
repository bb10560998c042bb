/**
 * The response to a plain request that is not in memory: it writes the bytes that a ServerResponse of node:http would write,
 * for a fraction of its cost, and has only what the cache and the edge's own pages use of one.
 *
 *   kept      the head was given, and waits for the first bytes of the body
 *   written   bytes of the body follow
 *   ended     all bytes were given; some may still wait for the client
 *   closed    final: all bytes were sent, or the connection is closed
 */
import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { type Headers, type ObservedResponse, REQUEST_ID_HEADER, toList } from '../http/counted-response.ts'
import type { ReadResponse } from '../http/visit.ts'
import { headOf, type Writer } from '../http/wire.ts'

/** The connection that a response is written to. */
export type Wired = {
  readonly socket: Socket
  readonly writer: Writer
  /** The client has not read all that was written. */
  onUnread(): void
  /** The response is closed: the next one may begin. */
  onClosed(): void
}

/** It emits `finish`, `drain` and `close`. */
export class PlainResponse extends EventEmitter implements ReadResponse, ObservedResponse {
  readonly socket: Socket
  statusCode = 200
  headersSent = false
  writableEnded = false
  writableFinished = false
  destroyed = false
  isBroken = false
  id: string | undefined
  onHead: ObservedResponse['onHead']
  onHeaders: ObservedResponse['onHeaders']
  identify: ObservedResponse['identify']
  changeHeaders: ObservedResponse['changeHeaders']
  private readonly wired: Wired
  private keptHead = ''
  private isChunked = false
  private isCorked = false
  private isClosed = false

  constructor(wired: Wired) {
    super()
    this.wired = wired
    this.socket = wired.socket
  }

  /** The headers are the last argument; a reason may stand before them. */
  writeHead(status: number, ...given: readonly unknown[]): this {
    const reason = typeof given[0] === 'string' ? given[0] : undefined
    const headers = given.at(-1)
    let sent = typeof headers === 'object' ? toList(headers as Headers) : []
    const id = status >= 500 ? this.errorId(headers) : undefined
    if (id !== undefined) sent = [...sent, REQUEST_ID_HEADER, id]
    if (this.changeHeaders) sent = this.changeHeaders(sent)
    const { head, isChunked } = headOf(status, reason, sent)
    this.statusCode = status
    this.keptHead = head
    this.isChunked = isChunked
    this.headersSent = true
    this.onHead?.(status, headers)
    this.onHeaders?.(headers)
    return this
  }

  flushHeaders() {
    if (this.keptHead === '' || this.isGone()) return
    this.socket.write(this.takeHead(), 'latin1')
    this.noteUnread()
  }

  /** False when the client has not read yet what it was sent: `drain` follows. */
  write(chunk: Buffer, onSent?: () => void): boolean {
    if (chunk.length === 0 || !mayHaveBody(this.statusCode) || this.isGone()) return true
    const isTaken = this.isChunked ? this.writeChunk(chunk, onSent) : this.writePart(chunk, onSent)
    this.noteUnread()
    return isTaken
  }

  end(chunk?: Buffer | string): this {
    if (this.writableEnded) return this
    if (chunk !== undefined) this.write(typeof chunk === 'string' ? Buffer.from(chunk) : chunk)
    this.writableEnded = true
    if (this.isGone()) return this
    const last = this.takeHead() + (this.isChunked ? '0\r\n\r\n' : '')
    if (last !== '') this.socket.write(last, 'latin1')
    this.uncork()
    if (this.socket.writableLength === 0) this.finish()
    else {
      this.noteUnread()
      this.socket.write(NOTHING, (error) => error || this.finish())
    }
    return this
  }

  /** Once it is closed, the connection is another response's. */
  destroy(): this {
    if (this.isClosed) return this
    if (!this.socket.destroyed) this.isBroken = true
    this.destroyed = true
    this.socket.destroy()
    return this
  }

  errorId(headers?: unknown): string | undefined {
    this.id ??= this.identify?.(headers)
    return this.id
  }

  /** The connection is closed. */
  disconnected() {
    if (!this.isClosed) this.close()
  }

  private writePart(chunk: Buffer, onSent?: () => void): boolean {
    const head = this.takeHead()
    if (head === '') return this.socket.write(chunk, onSent)
    return this.wired.writer.write(this.socket, { head, body: chunk }, onSent)
  }

  private writeChunk(chunk: Buffer, onSent?: () => void): boolean {
    const { socket } = this
    // What is written in the same turn of the event loop is sent together.
    if (!this.isCorked) {
      this.isCorked = true
      socket.cork()
      process.nextTick(() => this.uncork())
    }
    socket.write(`${this.takeHead()}${chunk.length.toString(16)}\r\n`, 'latin1')
    socket.write(chunk)
    return socket.write('\r\n', 'latin1', onSent)
  }

  private uncork() {
    if (!this.isCorked) return
    this.isCorked = false
    this.socket.uncork()
  }

  private takeHead(): string {
    const head = this.keptHead
    this.keptHead = ''
    return head
  }

  private noteUnread() {
    if (this.socket.writableLength > 0) this.wired.onUnread()
  }

  /** The client has left: what is written now reaches it no more, and `close` follows. */
  private isGone(): boolean {
    return this.destroyed || !this.socket.writable
  }

  private finish() {
    if (this.isClosed) return
    this.writableFinished = true
    this.emit('finish')
    this.close()
  }

  private close() {
    this.isClosed = true
    this.destroyed = true
    this.emit('close')
    this.wired.onClosed()
  }
}

const NOTHING = Buffer.alloc(0)

/** RFC 9110, section 6.4.1. */
const mayHaveBody = (status: number): boolean => status !== 204 && status !== 304
