/**
 * One process of the service, seen from its parent:
 *
 *   starting   it is not ready yet
 *   ready      it works
 *   (ended)    → starting, after a pause that grows while it keeps ending
 *   stopping   final
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { type Clock, type Log, settlesWithin } from '../base/index.ts'
import { roleEnvironment } from '../config.ts'
import type { FromChild, ToChild } from './child.ts'
import type { Handle, SharedSocket } from './sockets.ts'

type Parts<Ready> = {
  clock: Clock
  log: Log
  role: string
  /** Aborted when the service stops: a process that is not ready yet is not waited for. */
  stopping?: AbortSignal
  /** Node, its flags, the program and its arguments. Read at each start. */
  command(): readonly string[]
  /** Read at each start. */
  sockets?(): readonly SharedSocket[]
  /** What it begins with, read at each start. Only the first may take the place of another process. */
  begin?(isFirst: boolean): unknown
  /** An edge asks for its socket at this gateway. */
  onJobSocketWanted?(gateway: string, send: SendSocket): void
  /** It says that the service cannot go on. */
  onFatal?(error: Error): void
  /** It has been started again. */
  onRestart?(ready: Ready): void
}

/** Sends a socket to the process. */
export type SendSocket = (message: ToChild, handle: Handle) => void

/** `isAsked`: it ended in order, as it does when it is told to. */
type Exit = { isAsked: boolean }

/** Threads share the memory that the C library keeps for later; each would keep some for itself. */
const FEW_ARENAS = { MALLOC_ARENA_MAX: '1' }
/** A process that is not ready within this time is ended. */
const READY_MS = 300_000
const PAUSE_MS = { first: 100, max: 5000 }
/** After working this long, the next end is followed by the first pause again. */
const WELL_AFTER_MS = 30_000

/** Resolves when the process is ready for the first time; rejects if it fails before. */
export async function supervise<Ready>(parts: Parts<Ready>) {
  const { clock, log, role, command, sockets = () => [], begin = () => null } = parts
  const { onJobSocketWanted, onFatal, onRestart } = parts
  const stopping = new AbortController()
  let child: ChildProcess | undefined
  let isFirst = true
  const taken = Promise.withResolvers<void>()

  /** Resolves once it is ready. */
  async function launch(): Promise<{ ready: Ready; exited: Promise<Exit> }> {
    const [file = '', ...args] = command()
    const started = spawn(file, args, {
      env: { ...FEW_ARENAS, ...roleEnvironment(role) },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc', ...sockets().map(({ handle }) => handle as never)],
    })
    child = started
    const exited = new Promise<Exit>((resolve) => {
      started.once('exit', (code) => resolve({ isAsked: code === 0 }))
      started.once('error', () => resolve({ isAsked: false }))
    })
    const ready = new Promise<Ready>((resolve, reject) => {
      started.on('message', (message: FromChild) => {
        if (message.kind === 'ready') resolve(message.ready as Ready)
        else if (message.kind === 'tookOver') taken.resolve()
        else if (message.kind === 'fatal') onFatal?.(new Error(message.message))
        else if (message.kind === 'jobSocketWanted') onJobSocketWanted?.(message.gateway, sendSocket)
        else reject(new Error(message.message))
      })
      exited.then(() => reject(new Error(`the ${role} process ended before it was ready`)))
    })
    const sendSocket: SendSocket = (message, handle) => started.send(message, handle as never, () => undefined)
    send({ kind: 'begin', begin: begin(isFirst) })
    isFirst = false
    const endIt = () => void started.kill('SIGKILL')
    parts.stopping?.addEventListener('abort', endIt)
    try {
      if (!(await settlesWithin(clock, ready, READY_MS))) {
        endIt()
        throw new Error(`the ${role} process was not ready within ${READY_MS / 1000} seconds`)
      }
      return { ready: await ready, exited }
    } finally {
      parts.stopping?.removeEventListener('abort', endIt)
    }
  }

  function send(message: ToChild) {
    // An error means that the channel is closing: the exit of the process follows, and is handled.
    child?.send(message, () => undefined)
  }

  async function keepRunning(first: Promise<Exit>) {
    let exited = first
    let pauseMs = PAUSE_MS.first
    let startTime = clock.now()
    for (;;) {
      const { isAsked } = await exited
      if (stopping.signal.aborted) return
      if (isAsked || clock.now() - startTime > WELL_AFTER_MS) pauseMs = PAUSE_MS.first
      if (isAsked) log.info({ role }, 'a process of the service was told to end; starting it again')
      else log.error({ role, pauseMs }, 'a process of the service ended by itself; starting it again')
      await clock.sleep(pauseMs, stopping.signal)
      if (stopping.signal.aborted) return
      pauseMs = Math.min(pauseMs * 2, PAUSE_MS.max)
      startTime = clock.now()
      try {
        const launched = await launch()
        exited = launched.exited
        onRestart?.(launched.ready)
      } catch (error) {
        if (!stopping.signal.aborted) log.error({ role, err: error }, 'a process of the service could not be started')
      }
    }
  }

  const first = await launch()
  const running = keepRunning(first.exited)

  return {
    ready: first.ready,
    pid: () => child?.pid,
    send,
    /** Ends it at once, and starts it again. */
    restart: () => void child?.kill('SIGKILL'),
    /** Lets it end, if it is one that ends at SIGTERM, and starts it again. */
    renew: () => void child?.kill('SIGTERM'),
    /** Resolves when it has taken the place of another process; rejects if it ends meanwhile. */
    async takeOver() {
      send({ kind: 'takeOver' })
      const ended = first.exited.then(() => {
        throw new Error(`the ${role} process ended while it took over`)
      })
      await Promise.race([taken.promise, ended])
    },
    /** It may end by itself, and is not started again. */
    async letGo() {
      stopping.abort()
      await running
    },
    /** Lets it end within the time, then ends it. */
    async stop(graceMs: number, { isReplaced = false } = {}) {
      stopping.abort()
      send({ kind: 'stop', isReplaced })
      if (!(await settlesWithin(clock, running, graceMs))) child?.kill('SIGKILL')
      await running
    },
  }
}

export type Supervised<Ready> = Awaited<ReturnType<typeof supervise<Ready>>>
