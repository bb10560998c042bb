/**
 * Between a control process of a cluster and a worker, on a connection that the worker makes. Bytes are asked for piece by piece by the
 * side that uses them, so neither side gets more than it has asked for.
 */
import type { CgiHead } from '../cgi.ts'

export const TOPIC = 'git'

/** What a worker does. `Request` is plain data. */
export type WorkerMethods<Request> = {
  /** Resolves when the answer begins. */
  begin(given: { id: string; request: Request; hasBody: boolean }): Promise<CgiHead>
  /** The next bytes of the answer, in base64; `null` at its end. */
  read(given: { id: string }): Promise<string | null>
  /** The rest is not read. */
  leave(given: { id: string }): void
}

/** What a control process does. */
export type ControlMethods = {
  /** The next bytes of what the caller sends, in base64; `null` at its end. */
  body(given: { id: string }): Promise<string | null>
  /** The worker ends soon: it is not asked for more. */
  leaving(given: Record<string, never>): void
}

/** So much is read ahead, and sent at once. */
export const PIECE_BYTES = 1024 * 1024

/** The pieces of a stream, one after another; each has all that has arrived. */
export function piecesOf(stream: AsyncIterable<Buffer>): () => Promise<string | null> {
  const pieces = stream[Symbol.asyncIterator]()
  return async () => {
    const { value, done } = await pieces.next()
    return done ? null : value.toString('base64')
  }
}
