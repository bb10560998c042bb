/**
 * The fast path: plain requests are parsed and answered as bytes, everything else goes to node:http, on the same
 * connection, in any order. Through node:http the same answer costs nearly twice as much.
 *
 * What is in memory is written at once. What an app must be asked for becomes a visit, one at a time on a connection: what
 * arrives meanwhile is held until it has ended.
 *
 * It replaces node:http's own listener for the data of a connection, and passes to that listener what it does not
 * answer. It must always know where a request begins, so it looks at bytes only when all of this holds:
 *
 *   - every request that node:http has announced is answered, and every visit has ended
 *   - the body of the last one has ended, if it had one
 *   - the last bytes that node:http got are an empty line: a head that had begun would have ended there and would have
 *     been announced, so no head has begun
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Connection, Connections } from '../connections.ts'
import { hasBody } from '../http/headers.ts'
import { createWriter, type Wire } from '../http/wire.ts'
import { MemorySocket } from '../http2/memory-socket.ts'
import type { Limits } from '../limits.ts'
import type { PlainResponse } from './plain-response.ts'
import { createRequestReader, type ParsedRequest, type PlainRequest } from './request.ts'
import { ConnectionVisits } from './visits.ts'

type Parts = {
  http: Server
  limits: Limits
  connections: Connections
  /** The whole response; undefined when node:http must answer. */
  answer(request: PlainRequest, socket: Socket): Wire | undefined
  /** Begins to fetch a response that is not in memory, and writes it when it arrives; false when node:http must answer. */
  visit?(request: ParsedRequest, response: PlainResponse): boolean
  report(error: unknown): void
}

/** The state of one connection. */
type ConnectionState = {
  connection: Connection
  /** The listener of node:http. */
  passOn(chunk: Buffer): void
  /** The last four bytes that node:http got. */
  tail: number
  /** node:http waits for the beginning of a request. */
  isAtStart: boolean
  /** It announced a request while it read the last chunk. */
  isAnnounced: boolean
  visits: ConnectionVisits
}

export function createFastPath({ http, limits, connections, answer, visit = () => false, report }: Parts) {
  const states = new WeakMap<Socket, ConnectionState>()
  const writer = createWriter()
  const readRequests = createRequestReader(limits)
  const visitParts = { limits, connections, writer, visit, report }
  let isOpen = true

  // node:http does not see the requests that are answered here and would take such a connection for unused. So
  // `connections` enforces the timeouts and decides what is idle.
  http.headersTimeout = 0
  http.closeIdleConnections = connections.closeIdle
  http.on('connection', join)
  http.prependListener('upgrade', leave)
  subscribe(ANNOUNCED, announce)
  http.once('close', () => unsubscribe(ANNOUNCED, announce))

  function join(socket: Socket) {
    // Its requests were already tried as streams of HTTP/2.
    if (socket instanceof MemorySocket) return
    const connection = connections.watch(socket)
    const [passOn] = socket.listeners('data') as ConnectionState['passOn'][]
    if (!connection || !passOn) return
    const state: ConnectionState = {
      connection,
      passOn,
      tail: EMPTY_LINE,
      isAtStart: true,
      isAnnounced: false,
      visits: new ConnectionVisits(visitParts, connection, (chunk) => receive(state, chunk)),
    }
    states.set(socket, state)
    socket.setTimeout(0)
    // A listener of `data` makes node:http read from the socket instead of directly from its handle.
    socket.on('data', (chunk: Buffer) => receive(state, chunk))
    socket.off('data', passOn)
  }

  function leave(_: IncomingMessage, stream: NodeJS.WritableStream) {
    const socket = stream as Socket
    connections.unwatch(socket)
    states.delete(socket)
    // node:http removes only its own listeners, which ours have replaced.
    socket.removeAllListeners('data')
    socket.removeAllListeners('timeout')
  }

  function receive(state: ConnectionState, chunk: Buffer) {
    if (state.visits.isBusy) return state.visits.hold(chunk)
    const { answers, socket } = state.connection
    const isOurs = state.isAtStart && answers === 0 && isOpen && socket.writable
    const requests = isOurs ? readRequests(chunk) : undefined
    if (requests) answerFrom(0, requests, chunk, state)
    else hand(state, chunk)
  }

  function answerFrom(first: number, requests: ParsedRequest[], chunk: Buffer, state: ConnectionState) {
    const { connection } = state
    for (let at = first; at < requests.length; at++) {
      const request = requests[at] as ParsedRequest
      const wire = isOpen ? tryAnswer(request, connection.socket) : undefined
      if (!wire) {
        // Those of one packet are fetched at the same time by node:http.
        const isLast = at === requests.length - 1
        if (isOpen && isLast && state.visits.begin(request)) return
        return hand(state, request.begin === 0 ? chunk : chunk.subarray(request.begin))
      }
      connection.awaits = 'next'
      connection.since = connections.now()
      if (!writer.write(connection.socket, wire))
        return awaitDrain(state, () => answerFrom(at + 1, requests, chunk, state))
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

  /** Nothing more is read or written until the client has read what it was sent. */
  function awaitDrain(state: ConnectionState, goOn: () => void) {
    const { connection } = state
    const { socket } = connection
    connection.isAwaitingDrain = true
    socket.pause()
    state.visits.unlimitTime()
    state.visits.limitTime()
    socket.once('drain', () => {
      connection.isAwaitingDrain = false
      connection.since = connections.now()
      state.visits.unlimitTime()
      // Before `goOn`, which may pause the socket again.
      socket.resume()
      goOn()
    })
  }

  function hand(state: ConnectionState, chunk: Buffer) {
    const { connection } = state
    state.visits.limitTime()
    state.isAnnounced = false
    const hadBody = connection.body !== undefined
    state.passOn(chunk)

    const isBodyOver = connection.body?.complete === true
    if (isBodyOver) connection.body = undefined
    state.tail = lastFour(state.tail, chunk)
    state.isAtStart = state.tail === EMPTY_LINE && !connection.body
    if (connection.body) return
    const isNew = hadBody || state.isAnnounced
    // Whether a head has begun right after a body is not known: it counts as begun when the next bytes arrive.
    if (state.isAtStart || isBodyOver) isNew && wait(connection, 'next')
    else if (isNew || connection.awaits !== 'head') wait(connection, 'head')
  }

  /** node:http announces every request before it does anything else, including those that it answers by itself. */
  function announce(message: unknown) {
    const { request, response, socket, server } = message as Announcement
    const state = server === http ? states.get(socket) : undefined
    if (!state) return
    const { connection } = state
    state.isAnnounced = true
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
