/**
 * A connection within this process, as two ends that node:http takes for sockets: what is written to one is read from the
 * other. The end of the server has the addresses of the visitor's connection.
 */
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'

export type VisitorConnection = Pick<
  Socket,
  'remoteAddress' | 'remotePort' | 'remoteFamily' | 'localAddress' | 'localPort'
>

export function connectInMemory(visitor: VisitorConnection): { client: MemorySocket; server: MemorySocket } {
  const [client, server] = [new MemorySocket(visitor), new MemorySocket(visitor)]
  client.connectTo(server)
  server.connectTo(client)
  return { client, server }
}

export class MemorySocket extends Duplex {
  readonly encrypted = true
  readonly remoteAddress: string | undefined
  readonly remotePort: number | undefined
  readonly remoteFamily: string | undefined
  readonly localAddress: string | undefined
  readonly localPort: number | undefined
  bytesRead = 0
  bytesWritten = 0
  #other: MemorySocket | undefined
  /** Called when the other end can take more. */
  #goOn: (() => void) | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(visitor: VisitorConnection) {
    super({ highWaterMark: HIGH_WATER_BYTES })
    this.remoteAddress = visitor.remoteAddress
    this.remotePort = visitor.remotePort
    this.remoteFamily = visitor.remoteFamily
    this.localAddress = visitor.localAddress
    this.localPort = visitor.localPort
  }

  connectTo(other: MemorySocket) {
    this.#other = other
  }

  override _read() {
    const goOn = this.#goOn
    this.#goOn = undefined
    goOn?.()
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void) {
    const other = this.#other as MemorySocket
    this.bytesWritten += chunk.length
    this.#timer?.refresh()
    if (chunk.length === 0) return done()
    other.#receive(chunk, done)
  }

  override _final(done: () => void) {
    this.#other?.push(null)
    done()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void) {
    clearTimeout(this.#timer)
    const other = this.#other
    // As on a network, the other end learns of it later.
    if (other && !other.destroyed) setImmediate(() => other.destroy())
    done(error)
  }

  #receive(chunk: Buffer, done: () => void) {
    this.bytesRead += chunk.length
    this.#timer?.refresh()
    // The other end has gone, which it will see.
    if (this.destroyed) return done()
    if (this.push(chunk)) done()
    else this.#goOn = done
  }

  setTimeout(ms: number, onTimeout?: () => void): this {
    clearTimeout(this.#timer)
    this.#timer = ms > 0 ? setTimeout(() => this.emit('timeout'), ms).unref() : undefined
    if (onTimeout) this.once('timeout', onTimeout)
    return this
  }

  /** Ends when what was written is read. */
  destroySoon() {
    if (this.writable) this.end()
    if (this.writableFinished) this.destroy()
    else this.once('finish', () => this.destroy())
  }

  setKeepAlive(): this {
    return this
  }

  setNoDelay(): this {
    return this
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }
}

const HIGH_WATER_BYTES = 64 * 1024
