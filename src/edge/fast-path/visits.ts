/**
 * The plain requests of one connection whose responses are fetched. There is one at a time: what arrives meanwhile is held,
 * unread, until that one has ended.
 */
import type { Socket } from 'node:net'
import type { Connection, Connections } from '../connections.ts'
import type { Writer } from '../http/wire.ts'
import type { Limits } from '../limits.ts'
import { PlainResponse, type Wired } from './plain-response.ts'
import type { ParsedRequest } from './request.ts'

/** What all connections have in common. */
export type VisitParts = {
  limits: Limits
  connections: Connections
  writer: Writer
  /** Begins to fetch the response, which is written when it arrives; false when node:http must answer. */
  visit(request: ParsedRequest, response: PlainResponse): boolean
  report(error: unknown): void
}

/** A class, so that a request costs no closures. */
export class ConnectionVisits implements Wired {
  readonly socket: Socket
  readonly writer: Writer
  private readonly parts: VisitParts
  private readonly connection: Connection
  private readonly onHeld: (chunk: Buffer) => void
  private response: PlainResponse | undefined
  private held: Buffer | undefined
  /** The socket's own timeout is set. */
  private isTimed = false

  /** `onHeld` gets what was held, when it can be read. */
  constructor(parts: VisitParts, connection: Connection, onHeld: (chunk: Buffer) => void) {
    const { socket } = connection
    this.parts = parts
    this.connection = connection
    this.onHeld = onHeld
    this.socket = socket
    this.writer = parts.writer
    socket.on('drain', () => this.response?.emit('drain'))
    socket.on('close', () => this.response?.disconnected())
    this.replaceTimeout()
  }

  /** Whether what arrives is to be held. */
  get isBusy(): boolean {
    return this.response !== undefined || this.held !== undefined
  }

  begin(request: ParsedRequest): boolean {
    const response = new PlainResponse(this)
    this.response = response
    this.connection.answers++
    // It may be the idle timeout of node:http.
    this.unlimitTime()
    try {
      if (this.parts.visit(request, response)) return true
    } catch (error) {
      this.parts.report(error)
      response.destroy()
      return true
    }
    this.response = undefined
    this.connection.answers--
    return false
  }

  /** As long as it is not too much, the socket is read on, which shows when the client leaves. */
  hold(chunk: Buffer) {
    this.held = this.held ? Buffer.concat([this.held, chunk]) : chunk
    if (this.held.length >= this.parts.limits.requestHeaderBytes) this.socket.pause()
  }

  limitTime() {
    if (this.isTimed) return
    this.isTimed = true
    this.socket.setTimeout(this.parts.limits.stalledClientMs)
  }

  unlimitTime() {
    if (!this.isTimed) return
    this.isTimed = false
    this.socket.setTimeout(0)
  }

  onUnread() {
    this.limitTime()
  }

  onClosed() {
    this.response = undefined
    this.connection.answers--
    this.connection.awaits = 'next'
    this.connection.since = this.parts.connections.now()
    // Not at once: each of many requests in one packet would be answered inside of the one before it.
    if (this.held) process.nextTick(() => this.readHeld())
  }

  private readHeld() {
    const { held } = this
    this.held = undefined
    if (!held || this.socket.destroyed) return
    // Before it is read, which may pause the socket again.
    this.socket.resume()
    this.onHeld(held)
  }

  /** No bytes moved for a while: node:http would close the connection, but during a visit it may be the app that is silent. */
  private replaceTimeout() {
    const { socket } = this
    const timeOut = socket.listeners('timeout').at(-1) as (() => void) | undefined
    if (!timeOut) return
    socket.off('timeout', timeOut)
    socket.on('timeout', () => {
      if (!this.response) timeOut.call(socket)
      else if (socket.writableLength > 0) socket.destroy()
    })
  }
}
