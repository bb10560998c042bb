/**
 * HTTP/2 on connections of visitors. A stream is answered from memory where the fast path can, and otherwise as a request of
 * HTTP/1.1. Framing, header compression and flow control are those of nghttp2, which Node has built in.
 */
import type { Server } from 'node:http'
import { constants, performServerHandshake, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import type { Connections } from '../connections.ts'
import type { PlainRequest } from '../fast-path/request.ts'
import type { Wire } from '../http/wire.ts'
import type { Limits } from '../limits.ts'
import { createWireReader } from './head.ts'
import { type Http2Head, toPlainRequest } from './plain-request.ts'
import { createTranslator, refuse } from './translate.ts'

type Parts = {
  http: Server
  limits: Limits
  connections: Connections
  /** Whether a connection that was opened for the first name may be used for the second one. */
  mayShare(name: string, authority: string): boolean
  /** The whole response; undefined when it is not in memory. */
  answer(request: PlainRequest, socket: TLSSocket): Wire | undefined
  report(error: unknown): void
}

const { NGHTTP2_CANCEL } = constants

export function createHttp2Sessions({ http, limits, connections, mayShare, answer, report }: Parts) {
  const sessions = new Set<ServerHttp2Session>()
  const readWire = createWireReader()
  const options = optionsFor(limits)
  let isOpen = true

  function accept(socket: TLSSocket) {
    const connection = connections.watch(socket)
    if (!connection) return
    const session = performServerHandshake(socket, options)
    const translator = createTranslator(http, socket)
    const name = String(socket.servername || '')
    sessions.add(session)
    connection.end = () => session.close()
    session.on('error', () => socket.destroy())
    session.once('close', () => {
      sessions.delete(session)
      translator.close()
    })
    session.on('stream', (stream, headers, flags, rawHeaders) => {
      connection.awaits = 'next'
      connection.answers++
      stream.once('close', () => {
        connection.answers--
        connection.since = connections.now()
      })
      // A stream that was reset has a `close`, which is handled.
      stream.on('error', () => undefined)
      stream.setTimeout(limits.stalledClientMs, () => isStalled(stream) && stream.close(NGHTTP2_CANCEL))
      const head: Http2Head = { headers, flags, rawHeaders: rawHeaders as unknown as string[] }
      if (!mayShare(name, headers[':authority'] ?? '')) return refuse(stream, MISDIRECTED)
      const wire = isOpen ? tryAnswer(head, socket) : undefined
      if (wire) send(stream, wire)
      else translator.translate(stream, head)
    })
    if (!isOpen) session.close()
  }

  function tryAnswer(head: Http2Head, socket: TLSSocket): Wire | undefined {
    try {
      const request = toPlainRequest(head, limits)
      return request && answer(request, socket)
    } catch (error) {
      report(error)
      return undefined
    }
  }

  function send(stream: ServerHttp2Stream, wire: Wire) {
    const { headers, body } = readWire(wire)
    stream.respond(headers, { endStream: body.length === 0 })
    if (body.length > 0) stream.end(body)
  }

  return {
    accept,
    /** Ends each connection when its streams have ended. A client repeats a stream that was on its way at another edge. */
    close() {
      isOpen = false
      for (const session of sessions) session.close()
    },
  }
}

export type Http2Sessions = ReturnType<typeof createHttp2Sessions>

/** The certificate of this connection is for another name (RFC 9110, section 15.5.20). */
const MISDIRECTED = 421

/** No bytes moved for a while: is it the client's turn? An event stream may be silent for any time. */
function isStalled(stream: ServerHttp2Stream): boolean {
  const isReadingNothing = stream.writableLength > 0
  const isSendingNothing = !stream.endAfterHeaders && !stream.readableEnded && stream.readableFlowing === true
  return isReadingNothing || isSendingNothing
}

/** What one connection may cost. A client that goes beyond is disconnected. */
const optionsFor = (limits: Limits) => ({
  settings: {
    enablePush: false,
    maxConcurrentStreams: limits.streamsPerConnection,
    maxHeaderListSize: limits.requestHeaderBytes,
    initialWindowSize: limits.streamWindowBytes,
  },
  // The pseudo-headers count as well.
  maxHeaderListPairs: limits.requestHeaders + 4,
  maxSessionMemory: Math.ceil(limits.sessionBytes / 1_000_000),
  maxSettings: 16,
  maxOutstandingPings: 4,
  maxSessionInvalidFrames: 16,
  maxSessionRejectedStreams: 16,
  streamResetBurst: limits.streamResets,
  streamResetRate: Math.ceil(limits.streamResets / 30),
})
