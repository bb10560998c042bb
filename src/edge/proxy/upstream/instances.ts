/**
 * Asks instances, over connections that are kept. Every request is on a connection alone; one that waits for a place
 * waits in the pool. A connection that was kept may have been closed by the other side just now, before it saw the
 * request: such a request is asked once more, on a new connection.
 *
 *   waiting   for a place at the instance
 *   asking    the request is on its way
 *   hearing   the head of the response is there, its body follows
 *   over      nothing leads out
 */
import { connect, type Socket } from 'node:net'
import type { Limits } from '../../limits.ts'
import type { ServerTarget } from '../../routes.ts'
import type { InFlight } from '../in-flight.ts'
import type { Pools } from '../pools.ts'
import { createPace } from './pace.ts'
import { createResponseReader, type Head, Malformed, type ResponseReader } from './response-reader.ts'

export type UpstreamRequest = {
  method: 'GET' | 'HEAD'
  path: string
  /** `[name, value, …]`, complete: also the host. */
  headers: readonly string[]
}

/** Why there is no response: too many wait; none came in time; the instance is not there or speaks no HTTP. */
export type Failure = 'busy' | 'late' | 'broken'

export type Listener = {
  interim?(head: Head): void
  head(head: Head, length: number | undefined): void
  data(chunk: Buffer): void
  /** The response is complete. */
  end(): void
  /** Before the head: there is no response. After it: what came is not the whole. */
  fail(why: Failure): void
}

export type UpstreamHandle = {
  /** Nothing more is heard. */
  abort(): void
  pause(): void
  resume(): void
  /** The response has no end in sight: it gives its place to another. */
  becomeStream(): void
}

type Parts = {
  limits: Limits
  inFlight: InFlight
  pools: Pools
  /** A fault that is not the app's: whoever listens to its response has failed. */
  report(error: unknown): void
}

/** A connection and what came over it before the present request. */
type Line = { socket: Socket; isFresh: boolean; user: User | undefined; idleUntilMs: number }
type User = { data(chunk: Buffer): void; closed(isBroken: boolean): void }

export function createInstances({ limits, inFlight, pools, report }: Parts) {
  const pace = createPace({ bytesPerTurn: limits.environmentBytesPerTurn, turnMs: limits.turnMs })
  /** Idle connections by instance, the one used last at the end. */
  const idle = new Map<string, Line[]>()
  const sweeper = setInterval(sweep, SWEEP_MS)
  sweeper.unref()

  function sweep() {
    const now = performance.now()
    for (const [instance, lines] of idle) {
      while (lines[0] && lines[0].idleUntilMs < now) lines.shift()?.socket.destroy()
      if (lines.length === 0) idle.delete(instance)
    }
  }

  function take({ instance }: ServerTarget): Line | undefined {
    const now = performance.now()
    const lines = idle.get(instance)
    for (let line = lines?.pop(); line; line = lines?.pop()) {
      if (line.idleUntilMs > now && !line.socket.destroyed) return line
      line.socket.destroy()
    }
    return undefined
  }

  function keep({ instance }: ServerTarget, line: Line, keepAliveMs: number | undefined) {
    // A second less than the other side says: a request must not cross its closing.
    const keptMs = Math.min(
      limits.idleUpstreamMs,
      keepAliveMs === undefined ? limits.idleUpstreamMs : keepAliveMs - 1000,
    )
    if (keptMs <= 0 || !pools.isKnown(instance)) return void line.socket.destroy()
    line.user = undefined
    line.isFresh = false
    line.idleUntilMs = performance.now() + keptMs
    const lines = idle.get(instance)
    if (lines) lines.push(line)
    else idle.set(instance, [line])
  }

  function open(target: ServerTarget): Line {
    const socket = connect({ host: target.host, port: target.port, noDelay: true })
    const line: Line = { socket, isFresh: true, user: undefined, idleUntilMs: 0 }
    socket.on('data', (chunk) => {
      // Bytes that nobody asked for: whatever is said next on this connection is not to be believed.
      if (line.user) line.user.data(chunk)
      else socket.destroy()
    })
    // Its `close` follows, which is what counts.
    socket.on('error', ignored)
    socket.on('end', () => line.user?.closed(false))
    socket.on('close', (hadError) => {
      line.user?.closed(hadError)
      const lines = idle.get(target.instance)
      const at = lines?.indexOf(line) ?? -1
      if (at >= 0) lines?.splice(at, 1)
    })
    return line
  }

  return {
    ask(target: ServerTarget, asked: UpstreamRequest, listener: Listener): UpstreamHandle {
      let stage: 'waiting' | 'asking' | 'hearing' | 'over' = 'waiting'
      let line: Line | undefined
      let mayRepeat = true
      let isPaused = false
      let isSpent = false
      let hasHeard = false
      const flight = { destroy: () => fail('broken') }
      const timeout = setTimeout(() => fail('late'), limits.responseStartMs)
      inFlight.begin(target, flight)
      const place = pools.of(target).enter(() => send(take(target) ?? open(target)))
      // Not at once: the caller has not got its handle yet.
      if (!place) queueMicrotask(() => fail('busy'))

      function send(onto: Line) {
        if (stage === 'over') return
        stage = 'asking'
        line = onto
        const options = { method: asked.method, maxHeaderBytes: limits.responseHeaderBytes }
        const reader = createResponseReader(
          { interim: (received) => listener.interim?.(received), head, data },
          options,
        )
        onto.user = {
          data: (chunk) => onMessage(reader, onto, chunk),
          closed: (isBroken) => closed(reader, onto, isBroken),
        }
        const wire = toWire(asked)
        if (wire === undefined) return queueMicrotask(() => fail('broken'))
        onto.socket.write(wire, 'latin1')
      }

      function head(received: Head, length: number | undefined) {
        stage = 'hearing'
        clearTimeout(timeout)
        listener.head(received, length)
      }

      function data(chunk: Buffer) {
        if (stage !== 'over') listener.data(chunk)
      }

      function onMessage(reader: ResponseReader, onto: Line, chunk: Buffer) {
        hasHeard = true
        understand(() => {
          if (reader.read(chunk) && stage !== 'over') return finish(reader, onto)
          if (stage !== 'over' && pace.isSpent(target.environment, chunk.length, nextTurn)) {
            isSpent = true
            onto.socket.pause()
          }
        })
      }

      function closed(reader: ResponseReader, onto: Line, isBroken: boolean) {
        if (stage === 'over' || line !== onto) return
        if (!hasHeard && !onto.isFresh && mayRepeat) {
          mayRepeat = false
          return send(open(target))
        }
        // A body that ends with its connection ends with a proper close: what was reset is not the whole.
        if (isBroken) return fail('broken')
        understand(() => {
          reader.end()
          finish(reader, onto)
        })
      }

      function nextTurn() {
        isSpent = false
        if (stage !== 'over' && !isPaused) line?.socket.resume()
      }

      function understand(step: () => void) {
        try {
          step()
        } catch (error) {
          fail('broken')
          if (!(error instanceof Malformed)) report(error)
        }
      }

      function finish(reader: ResponseReader, onto: Line) {
        leave()
        if (reader.isReusable() && !isPaused) keep(target, onto, reader.keepAliveMs())
        else onto.socket.destroy()
        listener.end()
      }

      function fail(why: Failure) {
        if (stage === 'over') return
        leave()
        line?.socket.destroy()
        listener.fail(why)
      }

      function leave() {
        stage = 'over'
        clearTimeout(timeout)
        place?.leave()
        inFlight.end(target, flight)
        if (line) line.user = undefined
      }

      return {
        abort() {
          if (stage === 'over') return
          leave()
          line?.socket.destroy()
        },
        pause() {
          if (stage === 'over') return
          isPaused = true
          line?.socket.pause()
        },
        resume() {
          if (stage === 'over') return
          isPaused = false
          if (!isSpent) line?.socket.resume()
        },
        becomeStream: () => place?.becomeStream(),
      }
    },

    /** Connections to others than these are closed when they are idle. */
    keepOnly(instances: ReadonlySet<string>) {
      for (const [instance, lines] of idle) {
        if (instances.has(instance)) continue
        idle.delete(instance)
        for (const { socket } of lines) socket.destroy()
      }
    },
  }
}

export type Instances = ReturnType<typeof createInstances>

const SWEEP_MS = 5000

/** Undefined when something in it cannot be said again as one request: what came in passed a parser, but not this one. */
function toWire({ method, path, headers }: UpstreamRequest): string | undefined {
  if (NOT_IN_PATHS.test(path) || CONTROLS.test(headers.join(''))) return undefined
  let wire = `${method} ${path} HTTP/1.1\r\n`
  for (let at = 0; at < headers.length; at += 2) wire += `${headers[at]}: ${headers[at + 1]}\r\n`
  return `${wire}\r\n`
}

const NOT_IN_PATHS = /[^\x21-\xff]/
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROLS = /[\x00-\x08\x0a-\x1f\x7f]|[^\x00-\xff]/

function ignored() {
  // Whoever uses the connection is told by its close.
}
