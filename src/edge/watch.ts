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
import { getCompileCacheDir } from 'node:module'
import { extname } from 'node:path'
import type { Clock, Log } from '../base/index.ts'
import type { Stall } from '../watchdog/index.ts'
import type { CacheSettings, Inspection, Purge } from './cache/index.ts'
import type { FromEdge, ToEdge } from './channel.ts'
import type { Counts } from './counts.ts'
import type { RouteTable } from './routes.ts'

export type Edge = {
  address: { host: string; port: number }
  /** Resolves when the edge uses this table or a newer one. */
  publish(table: RouteTable, signal?: AbortSignal): Promise<void>
  /**
   * Resolves when no request of this instance is in flight; after the time, those that are left are broken off. Call it
   * when a table without the instance is in use, for until then new requests come.
   */
  drain(instance: string, graceMs: number): Promise<void>
  /** Resolves when no request that comes from now on is answered with what is to go. */
  purge(purge: Purge, signal?: AbortSignal): Promise<void>
  /** What is stored for an address of the environment. */
  inspect(environment: string, url: string, signal?: AbortSignal): Promise<Inspection>
  /** A visitor waits for this deployment, which sleeps. Returns what ends the listening. */
  onWake(listener: (deployment: string) => void): () => void
  /** Every few seconds, where there were any: requests by deployment, those that go on for long in each report. */
  onActivity(listener: (deployments: Record<string, number>) => void): () => void
  /** Every few seconds, where there were any: what visitors got since the report before, by environment. */
  onTraffic(listener: (environments: Record<string, Counts>) => void): () => void
  /** The event loop of the edge stood still. */
  onStall(listener: (stall: Stall) => void): () => void
  isServing(): boolean
  pid(): number | undefined
  /** Lets requests in flight end within the time, then ends the process. */
  stop(graceMs: number): Promise<void>
}

type Parts = {
  clock: Clock
  log: Log
  host: string
  port: number
  tableFile: string
  cache: CacheSettings
  trustedProxies?: readonly string[]
  /** Whether to count which paths of a site are asked for most. */
  countsPaths?: boolean
}

/** Beside this file: TypeScript in a checkout, compiled in a package. */
const PROGRAM = new URL(`./process${extname(import.meta.url)}`, import.meta.url)
const PAUSE_MS = { first: 100, max: 5000 }
/** An edge that served this long was well: its next death starts the pauses anew. */
const WELL_AFTER_MS = 30_000

export async function startEdge(parts: Parts): Promise<Edge> {
  const { clock, log, host, port, tableFile, cache, trustedProxies = [], countsPaths = false } = parts
  const stopping = new AbortController()
  const waiting = new Set<{ id: number; resolve(): void }>()
  const draining = new Map<number, () => void>()
  /** What was asked and not answered: a process that died meanwhile leaves the asking to the next. */
  const asked = new Map<number, { message: ToEdge; resolve(answer: FromEdge): void }>()
  const wakeListeners = new Set<(deployment: string) => void>()
  const activityListeners = new Set<(deployments: Record<string, number>) => void>()
  const stallListeners = new Set<(stall: Stall) => void>()
  const trafficListeners = new Set<(environments: Record<string, Counts>) => void>()
  let newest: { id: number; table: RouteTable } | undefined
  let child: ChildProcess | undefined
  let isServing = false
  let lastId = 0

  const first = await launch(port)
  const address = { host, port: first.port }
  const watching = watch(first.exited)

  /** Starts a process; resolves once it listens. */
  async function launch(onPort: number): Promise<{ port: number; exited: Promise<void> }> {
    const cacheFolder = getCompileCacheDir()
    const born = fork(PROGRAM, [], {
      // Nothing of our environment but the place of compiled code: without it the process would load a compiler first.
      env: cacheFolder === undefined ? {} : { NODE_COMPILE_CACHE: cacheFolder },
      execArgv: [],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    child = born
    const exited = new Promise<void>((resolve) => {
      born.once('exit', () => {
        isServing = false
        // With the process, everything that it had in flight is gone.
        for (const id of [...draining.keys()]) drained(id)
        resolve()
      })
    })
    const listening = new Promise<number>((resolve, reject) => {
      born.on('message', (message: FromEdge) => {
        if (message.kind === 'listening') resolve(message.port)
        else if (message.kind === 'failed') reject(new Error(`the edge failed: ${message.message}`))
        else onMessage(message)
      })
      exited.then(() => reject(new Error('the edge ended before it listened')))
    })
    send({ kind: 'start', host, port: onPort, tableFile, trustedProxies, countsPaths, cache })
    const boundPort = await listening
    isServing = true
    if (newest) send({ kind: 'table', ...newest })
    for (const { message } of asked.values()) send(message)
    return { port: boundPort, exited }
  }

  function onMessage(message: Exclude<FromEdge, { kind: 'listening' | 'failed' }>) {
    switch (message.kind) {
      case 'using':
        return settle(message.id)
      case 'drained':
        return drained(message.id)
      case 'purged':
      case 'inspected':
        return asked.get(message.id)?.resolve(message)
      case 'wake':
        for (const listener of wakeListeners) listener(message.deployment)
        return
      case 'activity':
        for (const listener of activityListeners) listener(message.deployments)
        return
      case 'traffic':
        for (const listener of trafficListeners) listener(message.environments)
        return
      case 'stalled':
        for (const listener of stallListeners) listener(message.stall)
        return
      case 'trouble':
        log.error({ trouble: message.message }, 'the edge met a fault, and goes on')
    }
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
      pauseMs = Math.min(pauseMs * 2, PAUSE_MS.max)
      startTime = clock.now()
      try {
        exited = (await launch(address.port)).exited
      } catch (error) {
        if (!stopping.signal.aborted) log.error({ err: error }, 'the edge could not be started')
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

  function ask<Answer extends FromEdge>(toMessage: (id: number) => ToEdge, signal?: AbortSignal): Promise<Answer> {
    const id = ++lastId
    const message = toMessage(id)
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      function settleAsking() {
        asked.delete(id)
        signal?.removeEventListener('abort', giveUp)
      }
      function giveUp() {
        settleAsking()
        reject(signal?.reason)
      }
      signal?.addEventListener('abort', giveUp, { once: true })
      asked.set(id, {
        message,
        resolve(answer) {
          settleAsking()
          resolve(answer as Answer)
        },
      })
      if (isServing) send(message)
    })
  }

  function drained(id: number) {
    draining.get(id)?.()
    draining.delete(id)
  }

  return {
    address,
    isServing: () => isServing,
    pid: () => child?.pid,
    publish(table, signal) {
      const id = ++lastId
      newest = { id, table }
      return new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason)
        const waiter = {
          id,
          resolve() {
            signal?.removeEventListener('abort', giveUp)
            resolve()
          },
        }
        function giveUp() {
          waiting.delete(waiter)
          reject(signal?.reason)
        }
        waiting.add(waiter)
        signal?.addEventListener('abort', giveUp, { once: true })
        if (isServing) send({ kind: 'table', id, table })
      })
    },
    drain(instance, graceMs) {
      // One that does not serve yet has sent nobody anywhere.
      if (!isServing) return Promise.resolve()
      const id = ++lastId
      return new Promise((resolve) => {
        draining.set(id, resolve)
        send({ kind: 'drain', id, instance, graceMs })
      })
    },
    async purge(purge, signal) {
      await ask((id) => ({ kind: 'purge', id, purge }), signal)
    },
    async inspect(environment, url, signal) {
      type Answer = Extract<FromEdge, { kind: 'inspected' }>
      return (await ask<Answer>((id) => ({ kind: 'inspect', id, environment, url }), signal)).inspection
    },
    onWake(listener) {
      wakeListeners.add(listener)
      return () => wakeListeners.delete(listener)
    },
    onActivity(listener) {
      activityListeners.add(listener)
      return () => activityListeners.delete(listener)
    },
    onTraffic(listener) {
      trafficListeners.add(listener)
      return () => trafficListeners.delete(listener)
    },
    onStall(listener) {
      stallListeners.add(listener)
      return () => stallListeners.delete(listener)
    },
    async stop(graceMs) {
      stopping.abort()
      if (child && isServing) {
        const timeout = new AbortController()
        // Not by its exit alone: what it said last may be read after that.
        child.once('disconnect', () => timeout.abort())
        send({ kind: 'stop' })
        await clock.sleep(graceMs, timeout.signal)
      }
      // Also one that was just being started: it would live on, and be waited for.
      child?.kill('SIGKILL')
      await watching
    },
  }
}
