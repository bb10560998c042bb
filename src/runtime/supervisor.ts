/**
 * Keeps the processes of live deployments running. The life of a deployment's process:
 *
 *   STARTING    started, does not answer yet
 *   RUNNING     answers
 *   RESTARTING  died by itself; started again after a pause that grows
 *   CRASH_LOOP  died again and again; still tried, rarely
 *   ASLEEP      stopped for want of visitors; the next one wakes it
 *
 * STARTING → RUNNING → RESTARTING → RUNNING …; RESTARTING → CRASH_LOOP after a few deaths in a row; RUNNING → ASLEEP →
 * STARTING; STARTING → RESTARTING when one that was live before does not come up; out of every state by `retire`. The
 * process of the state before may still be there, draining, while it is ASLEEP or already STARTING again.
 */
import type { Clock, Log } from '../base/index.ts'
import { Problem, type resources } from '../contract/index.ts'
import type { Engine, Networks } from '../engines/index.ts'
import { type Instance, type InstanceSpec, startInstance } from './instance.ts'

export type Running = { state: resources.InstanceState; restarts: number; instance: Instance | undefined }

type Entry = Running & {
  spec: InstanceSpec
  /** Deaths in a row, none of them long after its start. */
  deaths: number
  retiring: AbortController
  /** The start that is under way, or the last one. Never rejects. */
  starting: Promise<void>
  /** Those whose process has not ended: the one that answers, and one that was put to sleep and still drains. */
  instances: Set<Instance>
}

const PAUSE_MS = { first: 500, most: 60_000 }
const DEATHS_TO_A_LOOP = 5
const WELL_AFTER_MS = 60_000
const STOP_GRACE_MS = 30_000

type Drain = (instance: string) => Promise<void>

type Farewell = {
  graceMs?: number
  /** Lets requests in flight end first, for as long as the process is there. */
  drain?: Drain
}

type Parts = { engine: Engine; networks: Networks | undefined; clock: Clock; log: Log; startDeadlineMs: number }

export function createSupervisor({ engine, networks, clock, log, startDeadlineMs }: Parts) {
  const entries = new Map<string, Entry>()
  /** Retired, and not gone yet. */
  const leaving = new Map<Entry, Promise<void>>()
  let onChange: () => void = () => undefined

  function enter(spec: InstanceSpec): Entry {
    const entry: Entry = {
      spec,
      state: 'STARTING',
      restarts: 0,
      deaths: 0,
      instance: undefined,
      retiring: new AbortController(),
      starting: Promise.resolve(),
      instances: new Set(),
    }
    entries.set(spec.deployment, entry)
    return entry
  }

  function become(entry: Entry, state: resources.InstanceState) {
    entry.state = state
    onChange()
    entry.spec.onState?.()
  }

  /** Starts the process; the entry is RUNNING when this resolves. */
  async function launch(entry: Entry, signal: AbortSignal) {
    const instance = await startInstance({ engine, networks }, entry.spec, startDeadlineMs, signal)
    entry.instance = instance
    entry.instances.add(instance)
    const startTime = clock.now()
    instance.process.exited.then(({ code, signal: killedBy, excess = [] }) => {
      entry.instances.delete(instance)
      if (entry.instance !== instance || entry.retiring.signal.aborted) return
      const why = excess.length > 0 ? `it reached its limit of ${excess.join(', ')}` : (killedBy ?? `exit code ${code}`)
      entry.spec.log.say('', excess.length > 0 ? `The app was ended: ${why}.` : `The app ended by itself (${why}).`)
      if (clock.now() - startTime > WELL_AFTER_MS) entry.deaths = 0
      restart(entry)
    })
    become(entry, 'RUNNING')
  }

  /** Starts it in the background, whatever it takes: a start that fails is a death like any other. */
  function bringUp(entry: Entry, pauseMs: number) {
    const { signal } = entry.retiring
    entry.starting = clock
      .sleep(pauseMs, signal)
      .then(() => (signal.aborted ? undefined : launch(entry, signal)))
      .catch((error) => {
        if (signal.aborted) return
        const isOurs = !(error instanceof Problem)
        entry.spec.log.say('', isOurs ? 'The service could not start the app.' : error.message)
        const { deployment } = entry.spec
        log.warn({ deployment, deaths: entry.deaths + 1, ...(isOurs && { err: error }) }, 'an app does not stay up')
        restart(entry)
      })
  }

  /** Pauses, starts, and starts over until it holds. */
  function restart(entry: Entry) {
    entry.instance = undefined
    entry.deaths += 1
    entry.restarts += 1
    become(entry, entry.deaths >= DEATHS_TO_A_LOOP ? 'CRASH_LOOP' : 'RESTARTING')
    bringUp(entry, Math.min(PAUSE_MS.first * 2 ** (entry.deaths - 1), PAUSE_MS.most))
  }

  async function end(entry: Entry, { graceMs = STOP_GRACE_MS, drain }: Farewell) {
    entry.retiring.abort(new Error('the deployment is retired'))
    // A start that answers in this very moment leaves an instance, too.
    await entry.starting
    try {
      if (entry.instance && drain) await Promise.race([drain(entry.instance.id), entry.instance.process.exited])
    } finally {
      await stopInstances(entry, graceMs)
      await entry.spec.log.close()
    }
  }

  async function stopInstances({ instances }: Entry, graceMs: number) {
    await Promise.all([...instances].map(({ process }) => process.stop(graceMs)))
  }

  return {
    /**
     * Calls the listener whenever a deployment's state has changed. Its beginning and its end are not told: they are known
     * to whoever starts and retires it.
     */
    onChange(listener: () => void) {
      onChange = listener
    },

    /**
     * Starts a deployment beside whatever runs; resolves when it answers, rejects with why it does not. From here on the
     * log of the spec is the supervisor's to close.
     */
    async start(spec: InstanceSpec, signal: AbortSignal): Promise<void> {
      const { deployment } = spec
      for (let known = entries.get(deployment); known; known = entries.get(deployment)) {
        if (known.state === 'RUNNING') return await spec.log.close()
        await this.retire(deployment)
      }
      const entry = enter(spec)
      const launching = launch(entry, AbortSignal.any([signal, entry.retiring.signal]))
      entry.starting = launching.catch(() => undefined)
      try {
        await launching
      } catch (error) {
        if (entries.get(deployment) === entry) await this.retire(deployment)
        throw error
      }
    },

    /** Takes a deployment over that was live before a restart: it is started in the background, whatever it takes. */
    adopt(spec: InstanceSpec) {
      bringUp(enter(spec), 0)
    },

    /** Stops the process until somebody asks for it. `drain` lets requests in flight end first. */
    async sleep(deployment: string, drain: Drain) {
      const entry = entries.get(deployment)
      if (entry?.state !== 'RUNNING' || !entry.instance) return
      const { instance } = entry
      entry.instance = undefined
      entry.spec.log.say('', 'No visitors for a while: the app sleeps until the next one.')
      become(entry, 'ASLEEP')
      try {
        await drain(instance.id)
      } finally {
        await instance.process.stop(STOP_GRACE_MS)
      }
    },

    wake(deployment: string) {
      const entry = entries.get(deployment)
      if (entry?.state !== 'ASLEEP') return
      become(entry, 'STARTING')
      bringUp(entry, 0)
    },

    of: (deployment: string): Running | undefined => entries.get(deployment),
    all: (): string[] => [...entries.keys()],
    /** Whether a process of it is there or about to be, be it one that was retired and still drains. */
    holds: (deployment: string): boolean =>
      entries.has(deployment) || [...leaving.keys()].some(({ spec }) => spec.deployment === deployment),

    /**
     * Ends a deployment's process for good; resolves when it is gone. From the first moment on the deployment is unknown
     * here: one that is started again meanwhile gets a process of its own, beside the one that leaves.
     */
    async retire(deployment: string, farewell: Farewell = {}) {
      const entry = entries.get(deployment)
      if (entry) {
        entries.delete(deployment)
        const ended = end(entry, farewell).finally(() => leaving.delete(entry))
        leaving.set(entry, ended)
      }
      await Promise.all([...leaving].flatMap(([{ spec }, ended]) => (spec.deployment === deployment ? ended : [])))
    },

    /** Ends them all, and those that have more time to end than this in as much. */
    async stop(graceMs: number) {
      const late = [...leaving.keys()].map((entry) => stopInstances(entry, graceMs))
      const retired = [...entries.keys()].map((deployment) => this.retire(deployment, { graceMs }))
      await Promise.all([...late, ...retired, ...leaving.values()])
    },
  }
}

export type Supervisor = ReturnType<typeof createSupervisor>
