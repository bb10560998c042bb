/**
 * The connections of clients: how many there may be, and how long one may do nothing. One timer looks at all of them, so
 * that a request costs no timer of its own.
 *
 * What a connection waits for, when no answer is under way:
 *
 *   first   it is new, and sent nothing: closed after `requestHeadMs`, without a word
 *   head    a request has begun: 408 after `requestHeadMs`
 *   next    it is kept between two requests: closed after `idleClientMs`
 *
 * When most of the connections that there may be are taken, those that do nothing are closed after `crowdedMs`, so that
 * whoever only holds them leaves room for whoever asks for something.
 *
 * A client that does not read its answer or stops in the middle of a body is let go by the socket's own timeout.
 */
import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import { clientNetwork } from '../http/index.ts'
import { refuseOn } from './http/strict.ts'
import type { Limits } from './limits.ts'

export type Connection = {
  readonly socket: Socket
  awaits: 'first' | 'head' | 'next'
  /** Since when, by `now()`. */
  since: number
  /** Responses of node:http that have not ended. */
  answers: number
  /** The request whose body is still to come. */
  body: IncomingMessage | undefined
  /** An answer is written that the client does not take. */
  isHeldBack: boolean
}

type Parts = {
  http: Server
  limits: Limits
  /** Whether an address stands for many clients, as that of a proxy in front of us does. */
  isExempt?(address: string): boolean
}

/** Of a connection that sent nothing yet, and of one between two requests. */
type Timeout = { headMs: number; idleMs: number }

/** The part of all connections from which on they are scarce. */
const CROWDED = 0.75

export function createConnections({ http, limits, isExempt = () => false }: Parts) {
  const watched = new Map<Socket, Connection>()
  const counts = new Map<string, number>()
  let total = 0
  let now = performance.now()

  const usual: Timeout = { headMs: limits.requestHeadMs, idleMs: limits.idleClientMs }
  http.maxConnections = limits.connections
  http.on('connection', admit)
  const sweep = setInterval(() => {
    now = performance.now()
    const isCrowded = total > limits.connections * CROWDED
    const timeout = isCrowded ? { headMs: limits.crowdedMs, idleMs: limits.crowdedMs } : usual
    for (const connection of watched.values()) endOverdue(connection, timeout)
  }, limits.clientSweepMs)
  sweep.unref()
  http.once('close', () => clearInterval(sweep))

  function admit(socket: Socket) {
    const { remoteAddress } = socket
    // One that was closed before we saw it has no address any more.
    if (remoteAddress === undefined) return void socket.destroy()
    total++
    socket.once('close', () => total--)
    const address = remoteAddress.replace(MAPPED, '')
    if (isExempt(address)) return
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

  function endOverdue({ socket, awaits, since, answers, body, isHeldBack }: Connection, { headMs, idleMs }: Timeout) {
    if (answers > 0 || body || isHeldBack) return
    const age = now - since
    if (awaits === 'head' && age >= limits.requestHeadMs) refuseOn(socket, 408)
    else if (awaits === 'first' && age >= headMs) socket.destroySoon()
    else if (awaits === 'next' && age >= idleMs) socket.destroySoon()
  }

  /** Ends what waits for a request that has not begun, after what was written to it. */
  function closeIdle() {
    for (const { socket, awaits, answers, body, isHeldBack } of watched.values()) {
      if (answers === 0 && !body && !isHeldBack && awaits !== 'head') socket.destroySoon()
    }
  }

  return {
    /** The time of the last look: near enough for what is counted in seconds. */
    now: () => now,

    /** From now on the times of this connection are kept here; undefined when it was not let in. */
    watch(socket: Socket): Connection | undefined {
      if (socket.destroyed) return undefined
      const connection: Connection = {
        socket,
        awaits: 'first',
        since: performance.now(),
        answers: 0,
        body: undefined,
        isHeldBack: false,
      }
      watched.set(socket, connection)
      socket.once('close', () => watched.delete(socket))
      return connection
    },

    of: (socket: Socket): Connection | undefined => watched.get(socket),

    /** It speaks another protocol now, with times of its own. */
    unwatch: (socket: Socket): boolean => watched.delete(socket),

    closeIdle,
  }
}

export type Connections = ReturnType<typeof createConnections>

/** A socket for both protocols writes IPv4 so. */
const MAPPED = /^::ffff:(?=\d+\.)/i
