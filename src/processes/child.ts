/**
 * The life of a supervised process, seen from inside: it is told what to begin with, says when it is ready, and ends when it is
 * told to or when the process that started it is gone.
 */

import { flushCompileCache } from 'node:module'
import { createListeners, freeAfterStart } from '../base/index.ts'
import type { JobSocket } from '../edge/index.ts'

/** What the parent sends. */
export type ToChild =
  | { kind: 'begin'; begin: unknown }
  | { kind: 'relisten' }
  /** The old process has stopped, or waits to be replaced. */
  | { kind: 'takeOver' }
  /** For an edge, with the socket: builds and apps reach it at this gateway and port. */
  | { kind: 'jobSocket'; gateway: string; port: number }
  | { kind: 'stop'; isReplaced: boolean }

/** What a child sends. */
export type FromChild =
  | { kind: 'ready'; ready: unknown }
  | { kind: 'tookOver' }
  /** An edge asks for the socket at which builds and apps of this gateway reach it. */
  | { kind: 'jobSocketWanted'; gateway: string }
  | { kind: 'failed'; message: string }
  /** The service cannot go on, and must not be started again by itself. */
  | { kind: 'fatal'; message: string }

/** The descriptor of the first socket of a child: after its own three, and the channel to the parent. */
export const FIRST_SOCKET = 4

/** `endsAtSigterm`: another process takes its place then. Without it, only the parent decides when the process stops. */
export function createChildLife<Begin, Ready>({ endsAtSigterm = false } = {}) {
  const begin = Promise.withResolvers<Begin>()
  const stopRequested = Promise.withResolvers<{ isReplaced: boolean }>()
  const takeOver = Promise.withResolvers<void>()
  const relisten = createListeners<void>()
  const jobSockets = createListeners<JobSocket>()
  process.on('message', (message: ToChild, handle?: JobSocket['handle']) => {
    if (message.kind === 'begin') begin.resolve(message.begin as Begin)
    else if (message.kind === 'relisten') relisten.notify()
    else if (message.kind === 'takeOver') takeOver.resolve()
    else if (message.kind === 'jobSocket') jobSockets.notify({ ...message, handle: handle as JobSocket['handle'] })
    else stopRequested.resolve(message)
  })
  process.on('disconnect', () => process.exit())
  // Ctrl-C in a terminal signals the whole process group, but the parent decides when this process stops.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
  if (endsAtSigterm) process.on('SIGTERM', () => stopRequested.resolve({ isReplaced: true }))

  return {
    begin: begin.promise,
    ready(ready: Ready) {
      send({ kind: 'ready', ready })
      afterStart()
    },
    /** The process whose place this one takes has stopped, or waits to be replaced. */
    takeOverRequested: takeOver.promise,
    tookOver: () => send({ kind: 'tookOver' }),
    /** `isReplaced`: another process already does the work of this one. */
    stopRequested: stopRequested.promise,
    /** The process that was to replace this one has ended, and this one has to open its Unix socket again. */
    onRelisten: relisten.add,
    /** For an edge: a socket at which builds and apps reach it. */
    onJobSocket: jobSockets.add,
    wantJobSocket: (gateway: string) => send({ kind: 'jobSocketWanted', gateway }),
    /** The service cannot go on: the parent ends all of it. */
    fail: (error: Error) => send({ kind: 'fatal', message: error.message }),
    /** Lets this process end when nothing is left to do. */
    leave() {
      process.removeAllListeners('disconnect')
      process.disconnect()
    },
  }
}

export type ChildLife<Begin, Ready> = ReturnType<typeof createChildLife<Begin, Ready>>

function send(message: FromChild) {
  process.send?.(message)
}

/**
 * Writes what a start has compiled for the next start, if that is not kept already: at its end Node would write it too, but a
 * process may be killed, and after a long life it has forgotten what only its start needed. Then frees what only the start needed.
 */
export function afterStart() {
  setImmediate(flushCompileCache)
  freeAfterStart()
}

/** Runs the process until it is told to stop. An error at the start is for the parent to report. */
export async function live(run: () => Promise<void>): Promise<void> {
  try {
    await run()
  } catch (error) {
    send({ kind: 'failed', message: error instanceof Error ? error.message : String(error) })
    process.exit(1)
  }
}
