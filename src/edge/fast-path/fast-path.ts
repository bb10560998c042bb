/**
 * The fast lane: plain requests are read and answered as bytes, everything else goes to node:http, on the same
 * connection, back and forth. Through node:http the same answer costs nearly twice as much.
 *
 * The lane stands where node:http's own listener for a connection's data stood, and passes on to that listener what it
 * does not answer. What it must never get wrong is where a request begins. It looks at bytes only when all of this holds:
 *
 *   - every request that node:http has announced is answered
 *   - the body of the last one has ended, if it had one
 *   - the last bytes that node:http got are an empty line: a head that had begun would have ended there, and would have
 *     been announced, so nothing has begun
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Connection, Connections } from '../connections.ts'
import { hasBody } from '../http/headers.ts'
import { createWriter, type Wire } from '../http/wire.ts'
import type { Limits } from '../limits.ts'
import { type PlainRequest, readPlainRequests } from './request.ts'

type Parts = {
  http: Server
  limits: Limits
  connections: Connections
  /** The whole response; undefined where node:http is to answer. */
  answer(request: PlainRequest, socket: Socket): Wire | undefined
  report(error: unknown): void
}

type FastPath = {
  connection: Connection
  /** The listener of node:http. */
  passOn(chunk: Buffer): void
  /** The last four bytes that node:http got. */
  tail: number
  /** node:http waits for the beginning of a request. */
  isAtStart: boolean
  /** It announced a request, while it read what it was handed last. */
  isAnnounced: boolean
  /** The socket's own timeout is set. */
  isTimed: boolean
}

export function createFastPath({ http, limits, connections, answer, report }: Parts) {
  const fastPaths = new WeakMap<Socket, FastPath>()
  const writer = createWriter()
  let isOpen = true

  // To node:http, a connection whose requests it never sees is one that never sent any. So the times are kept by us …
  http.headersTimeout = 0
  // … and we say what is idle.
  http.closeIdleConnections = connections.closeIdle
  http.on('connection', join)
  http.prependListener('upgrade', leave)
  subscribe(ANNOUNCED, announce)
  http.once('close', () => unsubscribe(ANNOUNCED, announce))

  function join(socket: Socket) {
    const connection = connections.watch(socket)
    const [passOn] = socket.listeners('data') as FastPath['passOn'][]
    if (!connection || !passOn) return
    const fastPath = {
      connection,
      passOn,
      tail: EMPTY_LINE,
      isAtStart: true,
      isAnnounced: false,
      isTimed: false,
    }
    fastPaths.set(socket, fastPath)
    socket.setTimeout(0)
    // Whoever listens makes node:http give up reading from the handle, past the socket.
    socket.on('data', (chunk: Buffer) => receive(fastPath, chunk))
    socket.off('data', passOn)
  }

  function leave(_: IncomingMessage, stream: NodeJS.WritableStream) {
    const socket = stream as Socket
    connections.unwatch(socket)
    fastPaths.delete(socket)
    // node:http takes off its own listener, which was ours.
    socket.removeAllListeners('data')
  }

  function receive(fastPath: FastPath, chunk: Buffer) {
    const { answers, socket } = fastPath.connection
    const isOurs = fastPath.isAtStart && answers === 0 && isOpen && socket.writable
    const requests = isOurs ? readPlainRequests(chunk, limits) : undefined
    if (requests) answerFrom(0, requests, chunk, fastPath)
    else hand(fastPath, chunk)
  }

  function answerFrom(first: number, requests: PlainRequest[], chunk: Buffer, fastPath: FastPath) {
    const { connection } = fastPath
    for (let at = first; at < requests.length; at++) {
      const request = requests[at] as PlainRequest
      const wire = isOpen ? tryAnswer(request, connection.socket) : undefined
      if (!wire) return hand(fastPath, request.begin === 0 ? chunk : chunk.subarray(request.begin))
      connection.awaits = 'next'
      connection.since = connections.now()
      if (!writer.write(connection.socket, wire))
        return holdBack(fastPath, () => answerFrom(at + 1, requests, chunk, fastPath))
    }
  }

  function tryAnswer(request: PlainRequest, socket: Socket): Wire | undefined {
    try {
      return answer(request, socket)
    } catch (error) {
      report(error)
      return undefined
    }
  }

  /** Nothing more is read or written until the client has taken what it was sent. */
  function holdBack(fastPath: FastPath, goOn: () => void) {
    const { connection } = fastPath
    const { socket } = connection
    connection.isHeldBack = true
    socket.pause()
    socket.setTimeout(limits.stalledClientMs)
    socket.once('drain', () => {
      connection.isHeldBack = false
      connection.since = connections.now()
      socket.setTimeout(0)
      fastPath.isTimed = false
      // First, for what follows may have its own reasons to stop reading.
      socket.resume()
      goOn()
    })
  }

  function hand(fastPath: FastPath, chunk: Buffer) {
    const { connection } = fastPath
    if (!fastPath.isTimed) connection.socket.setTimeout(limits.stalledClientMs)
    fastPath.isTimed = true
    fastPath.isAnnounced = false
    const hadBody = connection.body !== undefined
    fastPath.passOn(chunk)

    const isBodyOver = connection.body?.complete === true
    if (isBodyOver) connection.body = undefined
    fastPath.tail = lastFour(fastPath.tail, chunk)
    fastPath.isAtStart = fastPath.tail === EMPTY_LINE && !connection.body
    if (connection.body) return
    const isNew = hadBody || fastPath.isAnnounced
    // Whether a head has begun right after a body, nobody can say: it is taken for one when more of it comes.
    if (fastPath.isAtStart || isBodyOver) isNew && wait(connection, 'next')
    else if (isNew || connection.awaits !== 'head') wait(connection, 'head')
  }

  /** node:http says this of every request before it does anything else, also of those that it answers by itself. */
  function announce(message: unknown) {
    const { request, response, socket, server } = message as Announcement
    const fastPath = server === http ? fastPaths.get(socket) : undefined
    if (!fastPath) return
    const { connection } = fastPath
    fastPath.isAnnounced = true
    connection.body = hasBody(request) ? request : undefined
    connection.answers++
    response.once('close', () => {
      connection.answers--
      connection.since = connections.now()
    })
  }

  function wait(connection: Connection, awaits: Connection['awaits']) {
    connection.awaits = awaits
    connection.since = connections.now()
  }

  return {
    /** From now on everything goes to node:http. */
    close() {
      isOpen = false
    },
  }
}

type Announcement = { request: IncomingMessage; response: ServerResponse; socket: Socket; server: Server }

const ANNOUNCED = 'http.server.request.start'

const EMPTY_LINE = 0x0d0a0d0a

function lastFour(before: number, chunk: Buffer): number {
  let tail = before
  for (let at = Math.max(0, chunk.length - 4); at < chunk.length; at++) tail = (tail << 8) | (chunk[at] as number)
  return tail
}
