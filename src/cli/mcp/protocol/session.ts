/** One client at the other end of a pipe: reads its messages, runs what it asks for, and writes the answers. */

import { linesOf } from './lines.ts'
import { CODES, errorFor, type Id, isId, isObject, type Outgoing, type Params, ProtocolError } from './messages.ts'
import { createToolCalls, type ToolHost } from './tool-calls.ts'
import {
  BY_HANDSHAKE,
  PER_REQUEST,
  type Peer,
  peerByHandshake,
  peerOfRequest,
  SERVER_INFO,
  takesBatches,
} from './versions.ts'

export type SessionParts = ToolHost & {
  info: { name: string; title: string; version: string }
  instructions: string
  input: AsyncIterable<Buffer>
  /** Resolves when the client can take more. */
  write(line: string): Promise<void>
  /** Aborted when the process is to end. */
  signal: AbortSignal
}

/** An argument is a path, a name or a short text. */
const MAX_LINE_BYTES = 1024 * 1024
const MAX_CALLS = 32
const MAX_BATCH = 50
/** How long a client may keep the list of tools: it is the same for the life of the process. */
const CACHE = { ttlMs: 60 * 60_000, cacheScope: 'private' }

/** Resolves when the client has closed its end. What still runs is ended then. */
export async function serveClient(parts: SessionParts): Promise<void> {
  const { info, instructions, tools } = parts
  const over = new AbortController()
  const running = new Map<Id, AbortController>()
  let agreed: Peer | undefined
  let last: Promise<void> = Promise.resolve()

  const send = (message: Outgoing | Outgoing[]): Promise<void> => {
    last = parts.write(`${JSON.stringify(message)}\n`)
    return last
  }
  const calls = createToolCalls({ ...parts, send, signal: AbortSignal.any([over.signal, parts.signal]) })

  const capabilities = { tools: {} }
  const finished = (peer: Peer, result: object, more: object = {}) =>
    peer.isPerRequest ? { resultType: 'complete', ...result, ...more, _meta: { [SERVER_INFO]: info } } : result

  async function answer(method: string, params: Params, { id, signal }: { id: Id; signal: AbortSignal }) {
    if (method === 'initialize') {
      agreed = peerByHandshake(params)
      return { protocolVersion: agreed.version, capabilities, serverInfo: info, instructions }
    }
    if (method === 'ping') return {}
    const peer = peerOfRequest(params) ?? agreed
    if (method === 'server/discover' && peer?.isPerRequest) {
      return finished(peer, { supportedVersions: PER_REQUEST, capabilities, instructions }, CACHE)
    }
    if (!['tools/list', 'tools/call'].includes(method))
      throw new ProtocolError(CODES.method, `Unknown method: ${shown(method)}`)
    if (!peer) throw new ProtocolError(CODES.params, NO_VERSION)
    if (method === 'tools/list') return finished(peer, { tools: tools.map(({ form }) => form) }, CACHE)
    const result = await calls.run(params, { peer, id, signal })
    return 'resultType' in result ? { ...result, _meta: { [SERVER_INFO]: info } } : finished(peer, result)
  }

  /** The answer to a message; undefined where it wants none. */
  async function replyTo(message: unknown): Promise<Outgoing | undefined> {
    const id = isObject(message) && isId(message.id) ? message.id : null
    try {
      if (!isObject(message) || message.jsonrpc !== '2.0')
        throw new ProtocolError(CODES.request, 'This is no message of JSON-RPC 2.0')
      const { method, params = {} } = message
      if (method === undefined && ('result' in message || 'error' in message)) return void calls.onAnswer(message)
      if (typeof method !== 'string') throw new ProtocolError(CODES.request, 'method is missing')
      if (!isObject(params)) throw new ProtocolError(CODES.params, 'params must be an object')
      if (!('id' in message)) return void onNotification(method, params)
      if (id === null) throw new ProtocolError(CODES.request, 'id must be a text or a whole number')
      return await run(id, method, params)
    } catch (error) {
      return errorFor(id, error instanceof ProtocolError ? error : internal(error))
    }
  }

  async function run(id: Id, method: string, params: Params): Promise<Outgoing | undefined> {
    if (running.has(id)) throw new ProtocolError(CODES.request, 'a request with this id is under way')
    if (running.size >= MAX_CALLS)
      throw new ProtocolError(CODES.internal, `more than ${MAX_CALLS} requests are under way: wait for one of them`)
    const cancelled = new AbortController()
    running.set(id, cancelled)
    try {
      const result = await answer(method, params, { id, signal: cancelled.signal })
      return cancelled.signal.aborted ? undefined : { jsonrpc: '2.0', id, result }
    } catch (error) {
      // A request that is cancelled gets no answer.
      if (cancelled.signal.aborted) return undefined
      throw error
    } finally {
      running.delete(id)
    }
  }

  function onNotification(method: string, { requestId }: Params) {
    if (method === 'notifications/cancelled' && isId(requestId)) running.get(requestId)?.abort(new Error('cancelled'))
  }

  async function onMessage(message: unknown): Promise<void> {
    if (!Array.isArray(message) || !takesBatches(agreed)) {
      const reply = await replyTo(message)
      if (reply) await send(reply)
      return
    }
    if (message.length === 0 || message.length > MAX_BATCH) {
      return send(errorFor(null, new ProtocolError(CODES.request, `a batch has 1 to ${MAX_BATCH} messages`)))
    }
    const replies = (await Promise.all(message.map(replyTo))).filter((reply) => reply !== undefined)
    if (replies.length > 0) await send(replies)
  }

  try {
    for await (const line of linesOf(parts.input, MAX_LINE_BYTES)) {
      if (parts.signal.aborted) return
      if ('isTooLong' in line) {
        await send(errorFor(null, new ProtocolError(CODES.request, `a message has more than ${MAX_LINE_BYTES} bytes`)))
      } else if (line.text.trim() !== '') {
        const message = parsed(line.text)
        if (message === undefined) await send(errorFor(null, new ProtocolError(CODES.parse, 'This is not JSON')))
        else onMessage(message).catch((error) => over.abort(error))
      }
      // A client that does not read gets no more work done.
      await last
    }
  } finally {
    over.abort(new Error('the client is gone'))
    for (const one of running.values()) one.abort(new Error('the client is gone'))
  }
}

const NO_VERSION = `Say initialize first (${BY_HANDSHAKE.join(', ')}), or the protocol version in _meta (${PER_REQUEST.join(', ')})`

const internal = (error: unknown) => new ProtocolError(CODES.internal, String((error as Error).message).slice(0, 1000))

const shown = (method: string): string => JSON.stringify(method.slice(0, 100))

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
