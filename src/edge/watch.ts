/**
 * Supervises the edge process for the control plane: starts it, restarts it when it dies, sends it route tables and
 * waits until they are in use.
 *
 *   starting   it does not listen yet; messages wait
 *   serving    it listens, and has been sent the newest table
 *   (died)     → starting, after a pause that grows while it keeps dying
 *   stopping   final
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
   * Resolves when no request of this instance is in flight; after the time, the remaining ones are aborted. Call it
   * when a table without the instance is in use, because until then it gets new requests.
   */
  drain(instance: string, graceMs: number): Promise<void>
  /** Resolves when no later request is answered with what is purged. */
  purge(purge: Purge, signal?: AbortSignal): Promise<void>
  /** What is stored for a URL of the environment. */
  inspect(environment: string, url: string, signal?: AbortSignal): Promise<Inspection>
  /**
   * A visitor waits for this deployment, which sleeps. Each of these functions returns one that removes the listener.
   */
  onWake(listener: (deployment: string) => void): () => void
  /** Every few seconds, if there were any: requests by deployment. A long one counts in each report while it lasts. */
  onActivity(listener: (deployments: Record<string, number>) => void): () => void
  /** Every few seconds, if there was any: the traffic since the last report, by environment. */
  onTraffic(listener: (environments: Record<string, Counts>) => void): () => void
  /** The event loop of the edge was blocked. */
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
  /** Whether to count the requests of each path. */
  countsPaths?: boolean
}

/** Beside this file: TypeScript in a checkout, compiled in a package. */
const PROGRAM = new URL(`./process${extname(import.meta.url)}`, import.meta.url)
const PAUSE_MS = { first: 100, max: 5000 }
/** After serving this long, the next death starts with the first pause again. */
const WELL_AFTER_MS = 30_000

export async function startEdge(parts: Parts): Promise<Edge> {
  const { clock, log, host, port, tableFile, cache, trustedProxies = [], countsPaths = false } = parts
  const stopping = new AbortController()
  const waiting = new Set<{ id: number; resolve(): void }>()
  const draining = new Map<number, () => void>()
  /** Requests to the edge that were not answered: when the process dies, they are sent to the next one. */
  const unanswered = new Map<number, { message: ToEdge; resolve(reply: FromEdge): void }>()
  const listeners = {
    wake: createListeners<string>(),
    activity: createListeners<Record<string, number>>(),
    stall: createListeners<Stall>(),
    traffic: createListeners<Record<string, Counts>>(),
  }
  let newest: { id: number; table: RouteTable } | undefined
  let child: ChildProcess | undefined
  let isServing = false
  let lastId = 0

  const first = await launch(port)
  const address = { host, port: first.port }
  const restart = () => launch(address.port)
  const watching = keepRunning({ clock, log, signal: stopping.signal, exited: first.exited, restart })

  /** Starts a process; resolves once it listens. */
  async function launch(onPort: number): Promise<{ port: number; exited: Promise<void> }> {
    const started = forkEdge()
    child = started
    const exited = new Promise<void>((resolve) => {
      started.once('exit', () => {
        isServing = false
        // All requests that the process had in flight ended with it.
        for (const id of [...draining.keys()]) drained(id)
        resolve()
      })
    })
    const listening = new Promise<number>((resolve, reject) => {
      started.on('message', (message: FromEdge) => {
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
    for (const { message } of unanswered.values()) send(message)
    return { port: boundPort, exited }
  }

  function onMessage(message: Exclude<FromEdge, { kind: 'listening' | 'failed' }>) {
    switch (message.kind) {
      case 'using':
        return tableInUse(message.id)
      case 'drained':
        return drained(message.id)
      case 'purged':
      case 'inspected':
        return unanswered.get(message.id)?.resolve(message)
      case 'wake':
        return listeners.wake.notify(message.deployment)
      case 'activity':
        return listeners.activity.notify(message.deployments)
      case 'traffic':
        return listeners.traffic.notify(message.environments)
      case 'stalled':
        return listeners.stall.notify(message.stall)
      case 'trouble':
        log.error({ trouble: message.message }, 'the edge met a fault, and goes on')
    }
  }

  function send(message: ToEdge) {
    // An error means that the channel is closing: the exit of the process follows, and is handled.
    child?.send(message, (error) => error && log.debug({ err: error }, 'a message did not reach the edge'))
  }

  function tableInUse(id: number) {
    for (const waiter of [...waiting]) if (waiter.id <= id) waiter.resolve()
  }

  function ask<Reply extends FromEdge>(toMessage: (id: number) => ToEdge, signal?: AbortSignal): Promise<Reply> {
    const id = ++lastId
    const message = toMessage(id)
    return abortable(signal, (resolve) => {
      unanswered.set(id, { message, resolve: (reply) => resolve(reply as Reply) })
      if (isServing) send(message)
      return () => unanswered.delete(id)
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
      return abortable(signal, (resolve: () => void) => {
        const waiter = { id, resolve }
        waiting.add(waiter)
        if (isServing) send({ kind: 'table', id, table })
        return () => waiting.delete(waiter)
      })
    },
    drain(instance, graceMs) {
      // A process that does not serve yet has sent no request to an instance.
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
      type Reply = Extract<FromEdge, { kind: 'inspected' }>
      return (await ask<Reply>((id) => ({ kind: 'inspect', id, environment, url }), signal)).inspection
    },
    onWake: listeners.wake.add,
    onActivity: listeners.activity.add,
    onTraffic: listeners.traffic.add,
    onStall: listeners.stall.add,
    async stop(graceMs) {
      stopping.abort()
      if (child && isServing) {
        const timeout = new AbortController()
        // Not by its exit alone: its last messages may arrive after that.
        child.once('disconnect', () => timeout.abort())
        send({ kind: 'stop' })
        await clock.sleep(graceMs, timeout.signal)
      }
      // Also a process that is just being started: `watching` would wait for it.
      child?.kill('SIGKILL')
      await watching
    },
  }
}

function forkEdge(): ChildProcess {
  const cacheFolder = getCompileCacheDir()
  return fork(PROGRAM, [], {
    // Only the folder of compiled code, without which the process would load a compiler first.
    env: cacheFolder === undefined ? {} : { NODE_COMPILE_CACHE: cacheFolder },
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
}

type Running = {
  clock: Clock
  log: Log
  signal: AbortSignal
  exited: Promise<void>
  /** Resolves once the new process listens. */
  restart(): Promise<{ exited: Promise<void> }>
}

async function keepRunning({ clock, log, signal, exited: firstExited, restart }: Running) {
  let exited = firstExited
  let pauseMs = PAUSE_MS.first
  let startTime = clock.now()
  for (;;) {
    await exited
    if (signal.aborted) return
    if (clock.now() - startTime > WELL_AFTER_MS) pauseMs = PAUSE_MS.first
    log.error({ pauseMs }, 'the edge process ended by itself; starting it again')
    await clock.sleep(pauseMs, signal)
    if (signal.aborted) return
    pauseMs = Math.min(pauseMs * 2, PAUSE_MS.max)
    startTime = clock.now()
    try {
      exited = (await restart()).exited
    } catch (error) {
      if (!signal.aborted) log.error({ err: error }, 'the edge could not be started')
    }
  }
}

function createListeners<Event>() {
  const listeners = new Set<(event: Event) => void>()
  return {
    add(listener: (event: Event) => void): () => void {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    notify(event: Event) {
      for (const listener of listeners) listener(event)
    },
  }
}

/** A promise that the signal rejects. `begin` registers for the result and returns the function that unregisters. */
function abortable<Result>(
  signal: AbortSignal | undefined,
  begin: (resolve: (result: Result) => void) => () => unknown,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const unregister = begin((result) => {
      end()
      resolve(result)
    })
    function end() {
      unregister()
      signal?.removeEventListener('abort', giveUp)
    }
    function giveUp() {
      end()
      reject(signal?.reason)
    }
    signal?.addEventListener('abort', giveUp, { once: true })
  })
}
