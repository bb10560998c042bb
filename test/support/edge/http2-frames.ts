/** A client that writes single frames of HTTP/2, as no library would (RFC 9113, section 4). */
import { once } from 'node:events'
import { connect } from 'node:tls'
import type { Scope } from '../folder.ts'
import { HOST } from './edge.ts'

export const FRAME = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, goaway: 7, window: 8, continuation: 9 }
export const FLAG = { endStream: 1, endHeaders: 4 }

export function frame(type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head[3] = type
  head[4] = flags
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** A header as a literal that is not indexed (RFC 7541, section 6.2.2). Lengths below 127. */
export const literal = (name: string, value: string): Buffer =>
  Buffer.concat([Buffer.from([0, name.length]), Buffer.from(name), Buffer.from([value.length]), Buffer.from(value)])

/** The head of a GET. */
export const getHead = (path: string, more: readonly Buffer[] = []): Buffer =>
  Buffer.concat([
    literal(':method', 'GET'),
    literal(':scheme', 'https'),
    literal(':authority', HOST),
    literal(':path', path),
    ...more,
  ])

export const number = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** A connection on which the settings are exchanged. */
export async function openFrames(t: Scope, port: number, { settings = Buffer.alloc(0) } = {}) {
  const socket = connect({
    host: '127.0.0.1',
    port,
    servername: HOST,
    ALPNProtocols: ['h2'],
    rejectUnauthorized: false,
  })
  t.after(() => socket.destroy())
  socket.on('error', () => undefined)
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  await once(socket, 'secureConnect')
  socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
  socket.write(frame(FRAME.settings, 0, 0, settings))
  return { socket, closed }
}
