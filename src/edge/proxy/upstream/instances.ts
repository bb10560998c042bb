/**
 * Sends requests to instances, over connections that are kept alive. A connection carries one request at a time; a
 * request beyond the limit waits in the pool. The instance may close a kept-alive connection before it reads the
 * request: such a request is sent once more, on a new connection.
 *
 *   waiting     for a place at the instance
 *   asking      the request is being sent
 *   receiving   the head of the response has arrived, its body follows
 *   over        final
 */
import type { Limits } from '../../limits.ts'
import type { ServerTarget } from '../../routes.ts'
import type { InFlight } from '../in-flight.ts'
import type { Pools } from '../pools.ts'
import { createUpstreamConnections, type UpstreamConnection } from './connections.ts'
import { createPace } from './pace.ts'
import { createResponseReader, type Head, Malformed, type ResponseReader } from './response-reader.ts'

export type UpstreamRequest = {
  method: 'GET' | 'HEAD'
  path: string
  /** `[name, value, …]`, complete, including the host. */
  headers: readonly string[]
  /** An app or a build has sent it. */
  isFromJob?: boolean
}

/**
 * Why there is no response: too many requests wait; none came in time; the instance is unreachable or sends invalid
 * HTTP.
 */
export type Failure = 'busy' | 'late' | 'broken'

export type Listener = {
  interim?(head: Head): void
  head(head: Head, length: number | undefined): void
  data(chunk: Buffer): void
  /** Nothing more has arrived for now. */
  flush?(): void
  /** The response is complete. `content` is what its trailer says that it is made of. */
  end(content?: string): void
  /** Before the head: there is no response. After it: the response is incomplete. */
  fail(why: Failure): void
}

export type UpstreamHandle = {
  /** The listener is not called any more. */
  abort(): void
  pause(): void
  resume(): void
  /** The response has no end in sight: it gives its place to another request. */
  becomeStream(): void
}

type Parts = {
  limits: Limits
  inFlight: InFlight
  pools: Pools
  /** A fault that is not the app's: the listener has thrown. */
  report(error: unknown): void
}

export function createInstances({ limits, inFlight, pools, report }: Parts) {
  const pace = createPace({ bytesPerTurn: limits.environmentBytesPerTurn, turnMs: limits.turnMs })
  const connections = createUpstreamConnections({ limits, pools })

  return {
    ask(target: ServerTarget, request: UpstreamRequest, listener: Listener): UpstreamHandle {
      let stage: 'waiting' | 'asking' | 'receiving' | 'over' = 'waiting'
      let connection: UpstreamConnection | undefined
      let mayRepeat = true
      let isPaused = false
      /** The environment has used up its share of this turn. */
      let isSpent = false
      let hasReceived = false
      const flight = { destroy: () => fail('broken') }
      const timeout = setTimeout(() => fail('late'), limits.responseStartMs)
      inFlight.begin(target, flight)
      const place = pools.of(target).enter(() => send(connections.take(target) ?? connections.open(target)), {
        isFromJob: request.isFromJob ?? false,
      })
      // Asynchronously: the caller does not have its handle yet.
      if (!place) queueMicrotask(() => fail('busy'))

      function send(onto: UpstreamConnection) {
        if (stage === 'over') return
        stage = 'asking'
        connection = onto
        const options = { method: request.method, maxHeaderBytes: limits.responseHeaderBytes }
        const reader = createResponseReader(
          { interim: (received) => listener.interim?.(received), head, data },
          options,
        )
        onto.user = {
          data: (chunk) => receive(reader, onto, chunk),
          closed: (isBroken) => closed(reader, onto, isBroken),
        }
        const wire = toWire(request)
        if (wire === undefined) return queueMicrotask(() => fail('broken'))
        onto.socket.write(wire, 'latin1')
      }

      function head(received: Head, length: number | undefined) {
        stage = 'receiving'
        clearTimeout(timeout)
        listener.head(received, length)
      }

      function data(chunk: Buffer) {
        if (stage !== 'over') listener.data(chunk)
      }

      function receive(reader: ResponseReader, from: UpstreamConnection, chunk: Buffer) {
        hasReceived = true
        failOnError(() => {
          if (reader.read(chunk) && stage !== 'over') return finish(reader, from)
          if (stage === 'receiving') listener.flush?.()
          if (stage !== 'over' && pace.isSpent(target.environment, chunk.length, nextTurn)) {
            isSpent = true
            from.socket.pause()
          }
        })
      }

      function closed(reader: ResponseReader, from: UpstreamConnection, isBroken: boolean) {
        if (stage === 'over' || connection !== from) return
        if (!hasReceived && !from.isFresh && mayRepeat) {
          mayRepeat = false
          return send(connections.open(target))
        }
        // A body that ends with its connection needs an orderly close: after a reset it may be incomplete.
        if (isBroken) return fail('broken')
        failOnError(() => {
          reader.end()
          finish(reader, from)
        })
      }

      function nextTurn() {
        isSpent = false
        if (stage !== 'over' && !isPaused) connection?.socket.resume()
      }

      function failOnError(step: () => void) {
        try {
          step()
        } catch (error) {
          fail('broken')
          if (!(error instanceof Malformed)) report(error)
        }
      }

      function finish(reader: ResponseReader, from: UpstreamConnection) {
        leave()
        if (reader.isReusable() && !isPaused) connections.keep(target, from, reader.keepAliveMs())
        else from.socket.destroy()
        listener.end(reader.content())
      }

      function fail(why: Failure) {
        if (stage === 'over') return
        leave()
        connection?.socket.destroy()
        listener.fail(why)
      }

      function leave() {
        stage = 'over'
        clearTimeout(timeout)
        place?.leave()
        inFlight.end(target, flight)
        if (connection) connection.user = undefined
      }

      return {
        abort() {
          if (stage === 'over') return
          leave()
          connection?.socket.destroy()
        },
        pause() {
          if (stage === 'over') return
          isPaused = true
          connection?.socket.pause()
        },
        resume() {
          if (stage === 'over') return
          isPaused = false
          if (!isSpent) connection?.socket.resume()
        },
        becomeStream: () => place?.becomeStream(),
      }
    },

    retire: connections.retire,
  }
}

export type Instances = ReturnType<typeof createInstances>

/** Undefined when it cannot be serialized as one request: node:http's parser accepts more characters than we send. */
function toWire({ method, path, headers }: UpstreamRequest): string | undefined {
  if (NOT_IN_PATHS.test(path) || CONTROLS.test(headers.join(''))) return undefined
  let wire = `${method} ${path} HTTP/1.1\r\n`
  for (let at = 0; at < headers.length; at += 2) wire += `${headers[at]}: ${headers[at + 1]}\r\n`
  return `${wire}\r\n`
}

const NOT_IN_PATHS = /[^\x21-\xff]/
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROLS = /[\x00-\x08\x0a-\x1f\x7f]|[^\x00-\xff]/
