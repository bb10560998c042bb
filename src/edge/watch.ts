/**
 * The control plane's hand on the edge process: starts it, starts it again when it dies, gives it route tables and knows
 * when it uses them.
 *
 *   starting   no address yet; tables wait
 *   serving    it listens, and has been sent the newest table
 *   (died)     → starting, after a pause that grows while it keeps dying
 *   stopping   nothing leads out
 */
import { type ChildProcess, fork } from 'node:child_process'
import type { Clock, Log } from '../base/index.ts'
import type { FromEdge, ToEdge } from './channel.ts'
import type { RouteTable } from './routes.ts'

export type Edge = {
  address: { host: string; port: number }
  /** Resolves when the edge uses this table or a newer one. */
  publish(table: RouteTable, signal?: AbortSignal): Promise<void>
  isServing(): boolean
  pid(): number | undefined
  /** Lets requests in flight end within the time, then ends the process. */
  stop(graceMs: number): Promise<void>
}

type Parts = { clock: Clock; log: Log; host: string; port: number; tableFile: string }

const PAUSE_MS = { first: 100, most: 5000 }
/** An edge that served this long was well: its next death starts the pauses anew. */
const WELL_AFTER_MS = 30_000

export async function startEdge({ clock, log, host, port, tableFile }: Parts): Promise<Edge> {
  const stopping = new AbortController()
  const waiting = new Set<{ id: number; resolve(): void }>()
  let newest: { id: number; table: RouteTable } | undefined
  let child: ChildProcess | undefined
  let isServing = false
  let lastId = 0

  const first = await launch(port)
  const address = { host, port: first.port }
  const watching = watch(first.exited)

  /** Starts a process; resolves once it listens. */
  async function launch(onPort: number): Promise<{ port: number; exited: Promise<void> }> {
    const born = fork(new URL('./process.ts', import.meta.url), [], {
      env: {},
      execArgv: [],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    child = born
    const exited = new Promise<void>((resolve) => {
      born.once('exit', () => {
        isServing = false
        resolve()
      })
    })
    const listening = new Promise<number>((resolve, reject) => {
      born.on('message', (message: FromEdge) => {
        if (message.kind === 'listening') resolve(message.port)
        if (message.kind === 'using') settle(message.id)
        if (message.kind === 'failed') reject(new Error(`the edge failed: ${message.message}`))
      })
      exited.then(() => reject(new Error('the edge ended before it listened')))
    })
    send({ kind: 'start', host, port: onPort, tableFile })
    const boundPort = await listening
    isServing = true
    if (newest) send({ kind: 'table', ...newest })
    return { port: boundPort, exited }
  }

  async function watch(firstExited: Promise<void>) {
    let exited = firstExited
    let pauseMs = PAUSE_MS.first
    let startTime = clock.now()
    for (;;) {
      await exited
      if (stopping.signal.aborted) return
      if (clock.now() - startTime > WELL_AFTER_MS) pauseMs = PAUSE_MS.first
      log.error({ pauseMs }, 'the edge process ended by itself; starting it again')
      await clock.sleep(pauseMs, stopping.signal)
      if (stopping.signal.aborted) return
      pauseMs = Math.min(pauseMs * 2, PAUSE_MS.most)
      startTime = clock.now()
      try {
        exited = (await launch(address.port)).exited
      } catch (error) {
        log.error({ err: error }, 'the edge could not be started')
      }
    }
  }

  function send(message: ToEdge) {
    // A channel that is closing: the exit that follows is what counts.
    child?.send(message, (error) => error && log.debug({ err: error }, 'a message did not reach the edge'))
  }

  function settle(id: number) {
    for (const waiter of waiting) {
      if (waiter.id > id) continue
      waiting.delete(waiter)
      waiter.resolve()
    }
  }

  return {
    address,
    isServing: () => isServing,
    pid: () => child?.pid,
    publish(table, signal) {
      const id = ++lastId
      newest = { id, table }
      return new Promise((resolve, reject) => {
        const waiter = { id, resolve }
        waiting.add(waiter)
        signal?.addEventListener('abort', () => {
          waiting.delete(waiter)
          reject(signal.reason)
        })
        if (isServing) send({ kind: 'table', id, table })
      })
    },
    async stop(graceMs) {
      stopping.abort()
      if (child && isServing) {
        const ending = child
        send({ kind: 'stop' })
        const patience = new AbortController()
        ending.once('exit', () => patience.abort())
        await clock.sleep(graceMs, patience.signal)
        ending.kill('SIGKILL')
      }
      await watching
    },
  }
}
