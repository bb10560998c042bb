/**
 * The connections of clients: how many there may be, and how long one may be idle. One timer checks all of them, so
 * that a request needs no timer of its own.
 *
 * What a connection waits for, when no response is in progress:
 *
 *   first   it is new, and sent nothing: closed after `requestHeadMs`, without a response
 *   head    a request has begun: 408 after `requestHeadMs`
 *   next    it is kept between two requests: closed after `idleClientMs`
 *
 * When most of the allowed connections are taken, idle ones are closed after `crowdedMs`, so that they do not block
 * clients that send requests.
 *
 * A client that does not read its response or stops in the middle of a body is disconnected by the socket's own
 * timeout.
 */
import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import { clientNetwork } from '../http/index.ts'
import { refuseOn } from './http/strict.ts'
import type { Limits } from './limits.ts'
import { isEncrypted } from './tls/encrypted.ts'

export type Connection = {
  readonly socket: Socket
  awaits: 'first' | 'head' | 'next'
  /** Since when, by `now()`. */
  since: number
  /** Responses of node:http that have not ended. */
  answers: number
  /** The request whose body is still to come. */
  body: IncomingMessage | undefined
  /** A response of the fast path is written that the client does not read. */
  isAwaitingDrain: boolean
  /** Ends it when it is idle, where more is needed than to close the socket. */
  end?: () => void
}

type Parts = {
  http: Server
  limits: Limits
  /** Whether a connection from this address stands for many clients, as one of a proxy in front of us does. */
  isExempt?(address: string, socket: Socket): boolean
}

/** Of a connection that sent nothing yet, and of one between two requests. */
type Timeout = { headMs: number; idleMs: number }

/** The share of the allowed connections above which idle ones are closed early. */
const CROWDED = 0.75

export function createConnections({ http, limits, isExempt = () => false }: Parts) {
  const watched = new Map<Socket, Connection>()
  const counts = new Map<string, number>()
  let total = 0
  let now = performance.now()

  const usual: Timeout = { headMs: limits.requestHeadMs, idleMs: limits.idleClientMs }
  http.maxConnections = limits.connections
  http.on('connection', (socket) => {
    // Those over TLS were admitted before their handshake.
    if (!isEncrypted(socket)) admit(socket)
  })
  const sweep = setInterval(() => {
    now = performance.now()
    const isCrowded = total > limits.connections * CROWDED
    const timeout = isCrowded ? { headMs: limits.crowdedMs, idleMs: limits.crowdedMs } : usual
    for (const connection of watched.values()) endOverdue(connection, timeout)
  }, limits.clientSweepMs)
  sweep.unref()

  /** Counts a new connection, or closes it where there are too many. */
  function admit(socket: Socket) {
    const { remoteAddress } = socket
    // It was closed already.
    if (remoteAddress === undefined) return void socket.destroy()
    total++
    socket.once('close', () => total--)
    const address = remoteAddress.replace(MAPPED, '')
    if (isExempt(address, socket)) return
    const client = clientNetwork(address)
    const count = counts.get(client) ?? 0
    if (count >= limits.connectionsPerClient) return void socket.destroy()
    counts.set(client, count + 1)
    socket.once('close', () => {
      const left = (counts.get(client) ?? 1) - 1
      if (left > 0) counts.set(client, left)
      else counts.delete(client)
    })
  }

  function endOverdue(
    { socket, awaits, since, answers, body, isAwaitingDrain, end }: Connection,
    { headMs, idleMs }: Timeout,
  ) {
    if (answers > 0 || body || isAwaitingDrain) return
    const age = now - since
    if (awaits === 'head' && age >= limits.requestHeadMs) refuseOn(socket, 408)
    else if (awaits === 'first' && age >= headMs) socket.destroySoon()
    else if (awaits === 'next' && age >= idleMs) end ? end() : socket.destroySoon()
  }

  /** Ends the connections on which no request has begun, once what was written to them is sent. */
  function closeIdle() {
    for (const { socket, awaits, answers, body, isAwaitingDrain, end } of watched.values()) {
      if (answers > 0 || body || isAwaitingDrain || awaits === 'head') continue
      if (end) end()
      else socket.destroySoon()
    }
  }

  return {
    admit,

    /** The time of the last sweep, which is precise enough for timeouts of seconds. */
    now: () => now,

    /** From now on the timeouts of this connection are enforced here; undefined when it was not admitted. */
    watch(socket: Socket): Connection | undefined {
      if (socket.destroyed) return undefined
      const connection: Connection = {
        socket,
        awaits: 'first',
        since: performance.now(),
        answers: 0,
        body: undefined,
        isAwaitingDrain: false,
      }
      watched.set(socket, connection)
      socket.once('close', () => watched.delete(socket))
      return connection
    },

    of: (socket: Socket): Connection | undefined => watched.get(socket),

    /** It was upgraded to another protocol, which has timeouts of its own. */
    unwatch: (socket: Socket): boolean => watched.delete(socket),

    closeIdle,

    /** The last connection is closed, also of those that other servers have accepted. */
    end: () => clearInterval(sweep),
  }
}

export type Connections = ReturnType<typeof createConnections>

/** How a dual-stack socket writes an IPv4 address. */
const MAPPED = /^::ffff:(?=\d+\.)/i
