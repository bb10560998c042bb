/**
 * Calls between two processes over one connection. Either side may call the other. A call ends with a result, with an error,
 * or with the connection; a signal that is aborted is passed on, and the other side ends the call.
 */
import type { Peer } from './peer.ts'

/** What one side offers: each method takes one argument of plain data, and resolves to plain data. */
// biome-ignore lint/suspicious/noExplicitAny: the types of a pair of processes replace it
export type Methods = Record<string, (argument: any, signal: AbortSignal) => unknown>

/** How errors are sent: plain data with a message at least. */
export type ErrorCodec = { toData(error: unknown): SentError; fromData(data: SentError): Error }

export type SentError = { message: string; details?: unknown }

export const PLAIN_ERRORS: ErrorCodec = {
  toData: (error) => ({ message: error instanceof Error ? error.message : String(error) }),
  fromData: ({ message }) => new Error(message),
}

export type Frame =
  | { call: number; method: string; argument: unknown }
  | { abort: number }
  | { result: number; value: unknown }
  | { failed: number; error: SentError }

export type CallPeer = Peer<Frame, Frame>

export class ConnectionLost extends Error {}

type ArgumentOf<Method> = Method extends (argument: infer Argument, signal: AbortSignal) => unknown ? Argument : never
type ResultOf<Method> = Method extends (...args: never[]) => infer Result ? Awaited<Result> : never

export type Caller<Theirs> = {
  call<Name extends keyof Theirs & string>(
    method: Name,
    argument: ArgumentOf<Theirs[Name]>,
    signal?: AbortSignal,
  ): Promise<ResultOf<Theirs[Name]>>
  /** The same without a result: an error is ignored, as is the end of the connection. */
  notify<Name extends keyof Theirs & string>(method: Name, argument: ArgumentOf<Theirs[Name]>): void
  closed: Promise<void>
  close(): void
}

type Pending = { resolve(value: unknown): void; reject(error: unknown): void }

export function createCaller<Theirs>(peer: CallPeer, own: Methods = {}, errors = PLAIN_ERRORS): Caller<Theirs> {
  const pending = new Map<number, Pending>()
  const running = new Map<number, AbortController>()
  let lastId = 0
  let isClosed = false

  async function run(id: number, method: string, argument: unknown) {
    const ending = new AbortController()
    running.set(id, ending)
    try {
      const found = Object.hasOwn(own, method) ? own[method] : undefined
      if (!found) throw new Error(`the other process has no method ${method}`)
      const value = await found(argument, ending.signal)
      peer.send({ result: id, value })
    } catch (error) {
      peer.send({ failed: id, error: errors.toData(error) })
    } finally {
      running.delete(id)
    }
  }

  function settle(id: number, end: (one: Pending) => void) {
    const one = pending.get(id)
    pending.delete(id)
    if (one) end(one)
  }

  peer.onMessage((frame) => {
    if ('call' in frame) run(frame.call, frame.method, frame.argument)
    else if ('abort' in frame) running.get(frame.abort)?.abort()
    else if ('result' in frame) settle(frame.result, ({ resolve }) => resolve(frame.value))
    else settle(frame.failed, ({ reject }) => reject(errors.fromData(frame.error)))
  })
  peer.closed.then(() => {
    isClosed = true
    const error = new ConnectionLost(`the connection to the ${peer.greeting.role} process was lost`)
    for (const { reject } of pending.values()) reject(error)
    pending.clear()
    for (const ending of running.values()) ending.abort(error)
  })

  function call(method: string, argument: unknown, signal?: AbortSignal): Promise<never> {
    const { promise, resolve, reject } = Promise.withResolvers<never>()
    if (signal?.aborted) {
      reject(signal.reason)
      return promise
    }
    if (isClosed) {
      reject(new ConnectionLost(`there is no connection to the ${peer.greeting.role} process`))
      return promise
    }
    const id = ++lastId
    const abort = () => {
      peer.send({ abort: id })
      settle(id, () => reject(signal?.reason))
    }
    const forget = () => signal?.removeEventListener('abort', abort)
    pending.set(id, { resolve: (value) => resolve(value as never), reject })
    signal?.addEventListener('abort', abort, { once: true })
    promise.then(forget, forget)
    peer.send({ call: id, method, argument })
    return promise
  }

  return {
    call,
    notify: (method, argument) => void call(method, argument).catch(() => undefined),
    closed: peer.closed,
    close: () => peer.close(),
  }
}
