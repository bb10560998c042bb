/**
 * Keeps the processes of live deployments running. The life of a deployment's process:
 *
 *   STARTING    started, does not answer yet
 *   RUNNING     answers
 *   RESTARTING  died by itself; started again after a pause that grows
 *   CRASH_LOOP  died again and again; still tried, rarely
 *   ASLEEP      stopped for want of visitors, or of a place among the awake apps of its account; the next visitor wakes it
 *
 * STARTING → RUNNING → RESTARTING → RUNNING …; RESTARTING → CRASH_LOOP after a few deaths in a row; RUNNING → ASLEEP →
 * STARTING; STARTING → RESTARTING when one that was live before does not come up; STARTING or RESTARTING → ASLEEP when there is
 * no place for it; out of every state by `retire`. The process of the state before may still be there, draining, while it is
 * ASLEEP or already STARTING again.
 */
import { type Clock, createTurns, type Log } from '../base/index.ts'
import { aboveCeiling, Problem, type resources, shortId, startText } from '../contract/index.ts'
import type { Engine, Networks } from '../engines/index.ts'
import { carryOn } from './carry.ts'
import { writeExpiries } from './hooks.ts'
import { type Instance, type InstanceSpec, startInstance } from './instance.ts'
import { type Awake, type AwakeLimits, countOf, NO_AWAKE_LIMITS, placeFor, sumOf, tooMany } from './places.ts'

export type Running = { state: resources.InstanceState; restarts: number; instance: Instance | undefined }

type Entry = Running & {
  spec: InstanceSpec
  /** Deaths in a row, none of them long after its start. */
  deaths: number
  retiring: AbortController
  /** The start that is under way, or the last one. Never rejects. */
  starting: Promise<void>
  visitTime: number
  /** It has its place among the awake ones, and no process yet. */
  isComing: boolean
  /** What it used when it was last looked at. */
  memoryBytes: number
  /** Those whose process has not ended: the one that answers, and one that was put to sleep and still drains. */
  instances: Set<Instance>
}

const PAUSE_MS = { first: 500, max: 60_000 }
const DEATHS_TO_A_LOOP = 5
const WELL_AFTER_MS = 60_000
const STOP_GRACE_MS = 30_000
const PLACE_POLL_MS = 500

type Drain = (instance: string) => Promise<void>

type StopOptions = {
  graceMs?: number
  /** Lets requests in flight end first, for as long as the process is there. */
  drain?: Drain
}

type Parts = {
  engine: Engine
  networks: Networks | undefined
  clock: Clock
  log: Log
  startDeadlineMs: number
  /** Of each account. */
  awakeLimits?: AwakeLimits
}

export function createSupervisor(parts: Parts) {
  const { engine, networks, clock, log, startDeadlineMs, awakeLimits = NO_AWAKE_LIMITS } = parts
  const entries = new Map<string, Entry>()
  /** Retired, and not gone yet. */
  const leaving = new Map<Entry, Promise<void>>()
  const inTurn = createTurns()
  let onChange: () => void = () => undefined
  let drainFirst: Drain = async () => undefined

  function enter(spec: InstanceSpec): Entry {
    const entry: Entry = {
      spec,
      state: 'STARTING',
      restarts: 0,
      deaths: 0,
      instance: undefined,
      retiring: new AbortController(),
      starting: Promise.resolve(),
      visitTime: clock.now(),
      isComing: false,
      memoryBytes: 0,
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

  const toAwake = (entry: Entry): Awake & { entry: Entry } => {
    for (const { process } of entry.instances) entry.memoryBytes = process.memoryBytes?.() || entry.memoryBytes
    const { memoryBytes, visitTime, state, spec } = entry
    return { entry, environment: spec.owner.environment, memoryBytes, visitTime, isRunning: state === 'RUNNING' }
  }

  /** Those of an account that have a process, be it one that still drains, or are about to have one. */
  const awakeOf = (account: string) =>
    [...entries.values()]
      .filter(({ spec, isComing, instances }) => spec.owner.account === account && (isComing || instances.size > 0))
      .map(toAwake)

  /** Resolves when there is a place for it among the awake ones of its account. Those who want one are served in turn. */
  async function takePlace(entry: Entry, signal: AbortSignal, mayDisplace: boolean) {
    const { account } = entry.spec.owner
    await inTurn(account, async () => {
      const deadline = clock.now() + startDeadlineMs
      for (;;) {
        signal.throwIfAborted()
        const others = awakeOf(account).filter((other) => other.entry !== entry)
        const place = placeFor(toAwake(entry), others, awakeLimits)
        if (place === 'free') {
          entry.isComing = true
          return
        }
        if (!mayDisplace || clock.now() >= deadline) throw noPlace(others)
        if (place === 'none') await clock.sleep(PLACE_POLL_MS, signal)
        else
          await putToSleep(place.entry, 'Another app of the account took its place: it sleeps until the next visitor.')
      }
    })
  }

  function noPlace(others: readonly Awake[]): Problem {
    const { apps, memoryBytes } = awakeLimits
    const isFull = apps > 0 && countOf(others) >= apps
    return isFull ? aboveCeiling('AWAKE_APPS', apps) : aboveCeiling('APP_MEMORY', memoryBytes)
  }

  /** Starts the process; the entry is RUNNING when this resolves. One that is not asked for by anybody displaces nobody. */
  async function launch(entry: Entry, signal: AbortSignal, { mayDisplace }: { mayDisplace: boolean }) {
    await takePlace(entry, signal, mayDisplace)
    entry.spec.log.say('START', startText(entry.spec.deployment, entry.spec.build))
    const instance = await startInstance({ engine, networks }, entry.spec, startDeadlineMs, signal).finally(() => {
      entry.isComing = false
    })
    entry.instance = instance
    entry.instances.add(instance)
    const startTime = clock.now()
    entry.visitTime = startTime
    instance.process.exited.then(({ code, signal: killedBy, excess = [] }) => {
      entry.instances.delete(instance)
      if (entry.instance !== instance || entry.retiring.signal.aborted) return
      const why = excess.length > 0 ? `it reached its limit of ${excess.join(', ')}` : (killedBy ?? `exit code ${code}`)
      entry.spec.log.say(
        'ENDED',
        excess.length > 0 ? `The app was ended: ${why}.` : `The app ended by itself (${why}).`,
      )
      if (clock.now() - startTime > WELL_AFTER_MS) entry.deaths = 0
      restart(entry)
    })
    become(entry, 'RUNNING')
  }

  /** Starts it in the background, whatever it takes: a start that fails is a death like any other. */
  function bringUp(entry: Entry, pauseMs: number, how: { mayDisplace: boolean }) {
    const { signal } = entry.retiring
    entry.starting = clock
      .sleep(pauseMs, signal)
      .then(() => (signal.aborted ? undefined : launch(entry, signal, how)))
      .catch((error) => {
        if (signal.aborted) return
        const isOurs = !(error instanceof Problem)
        entry.spec.log.say('ENDED', isOurs ? 'The service could not start the app.' : error.message)
        if (!isOurs && error.reason === 'ACCOUNT_LIMIT') return become(entry, 'ASLEEP')
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
    bringUp(entry, Math.min(PAUSE_MS.first * 2 ** (entry.deaths - 1), PAUSE_MS.max), { mayDisplace: false })
  }

  async function end(entry: Entry, { graceMs = STOP_GRACE_MS, drain }: StopOptions) {
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

  async function putToSleep(entry: Entry, why: string, drain = drainFirst) {
    const { instance } = entry
    if (entry.state !== 'RUNNING' || !instance) return
    entry.instance = undefined
    entry.spec.log.say('ASLEEP', why)
    become(entry, 'ASLEEP')
    try {
      await drain(instance.id)
    } finally {
      await instance.process.stop(STOP_GRACE_MS)
      // Only then is its place free.
      await instance.process.exited
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
      const launching = launch(entry, AbortSignal.any([signal, entry.retiring.signal]), { mayDisplace: true })
      entry.starting = launching.catch(() => undefined)
      try {
        await launching
      } catch (error) {
        if (entries.get(deployment) === entry) {
          spec.log.say('ENDED', `Deployment ${shortId(deployment)} did not come up.`)
          await this.retire(deployment)
        }
        throw error
      }
    },

    /**
     * Gives a deployment what another one of the same build has written while it ran, before it is started. False where that
     * was not possible.
     */
    carry: (from: { runFolder: string }, spec: InstanceSpec, signal: AbortSignal): Promise<boolean> =>
      engine.isIsolating ? carryOn(engine, from.runFolder, spec, signal) : Promise.resolve(true),

    /** Every process of an environment knows, when this resolves, what was revalidated there. */
    async refreshExpiries(environment: string) {
      const specs = [...entries.values(), ...leaving.keys()].map(({ spec }) => spec)
      const ours = specs.filter(({ owner }) => owner.environment === environment)
      await Promise.all(
        ours.map(({ runFolder, expiries }) => (expiries ? writeExpiries(runFolder, expiries) : undefined)),
      )
    },

    /** Takes a deployment over that was live before a restart: it is started in the background, whatever it takes. */
    adopt(spec: InstanceSpec) {
      bringUp(enter(spec), 0, { mayDisplace: false })
    },

    /** How requests in flight are let end before an app sleeps. */
    drainBy(drain: Drain) {
      drainFirst = drain
    },

    /** Stops the process until somebody asks for it, when requests in flight have ended. */
    async sleep(deployment: string, drain?: Drain) {
      const entry = entries.get(deployment)
      if (entry) await putToSleep(entry, 'No visitors for a while: the app sleeps until the next one.', drain)
    },

    /** Somebody was there. Of apps that were never visited, the time counts from when they came up. */
    visited(deployment: string) {
      const entry = entries.get(deployment)
      if (entry) entry.visitTime = clock.now()
    },
    /** How long nobody was there. */
    unvisitedMs: (deployment: string): number => clock.now() - (entries.get(deployment)?.visitTime ?? clock.now()),

    /** Apps of accounts whose awake ones use more than they may together, that have to sleep. */
    excess(): string[] {
      const accounts = new Set([...entries.values()].map(({ spec }) => spec.owner.account))
      return [...accounts].flatMap((account) =>
        tooMany(awakeOf(account), awakeLimits).map(({ entry }) => entry.spec.deployment),
      )
    },

    /** How many apps of an account are awake, and what they use together. */
    awake(account: string): { apps: number; memoryBytes: number } {
      const awake = awakeOf(account)
      return { apps: countOf(awake), memoryBytes: sumOf(awake) }
    },

    wake(deployment: string) {
      const entry = entries.get(deployment)
      if (entry?.state !== 'ASLEEP') return
      entry.visitTime = clock.now()
      become(entry, 'STARTING')
      bringUp(entry, 0, { mayDisplace: true })
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
    async retire(deployment: string, farewell: StopOptions = {}) {
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
