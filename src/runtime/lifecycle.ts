/** The steps in the life of a deployment's process: start, restart after a crash, sleep, end. `supervisor.ts` has the states. */
import { type Clock, createTurns, type Log } from '../base/index.ts'
import { Problem, type resources, startText } from '../contract/index.ts'
import type { Engine, Excess, Networks } from '../engines/index.ts'
import { type AwakeApp, type AwakeLimits, NO_AWAKE_LIMITS, noSlot, slotFor } from './awake-slots.ts'
import { type Instance, type InstanceSpec, startInstance } from './instance.ts'
import { APP_LINES } from './log-lines.ts'

export type Running = { state: resources.InstanceState; restarts: number; instance: Instance | undefined }

export type SupervisedDeployment = Running & {
  spec: InstanceSpec
  /** Crashes in a row, none of them long after its start. */
  crashes: number
  retiring: AbortController
  /** The start that is under way, or the last one. Never rejects. */
  starting: Promise<void>
  visitTime: number
  /** It has its slot among the awake apps, and no process yet. */
  isComing: boolean
  /** What it used when that was last measured. */
  memoryBytes: number
  /** Those whose process has not ended: the one that answers, and one that was put to sleep and still drains. */
  instances: Set<Instance>
}

/** Lets requests in flight to an instance end. */
export type Drain = (instance: string) => Promise<void>

export type StopOptions = {
  graceMs?: number
  /** Lets requests in flight end first, for as long as the process is there. */
  drain?: Drain
}

export type LifecycleParts = {
  engine: Engine
  networks: Networks | undefined
  clock: Clock
  log: Log
  startDeadlineMs: number
  /** Of each account. */
  awakeLimits?: AwakeLimits
}

const PAUSE_MS = { first: 500, max: 60_000 }
const CRASHES_TO_LOOP = 5
/** A process that ran for longer than this before it crashed starts the count anew. */
const STABLE_AFTER_MS = 60_000
const STOP_GRACE_MS = 30_000
const SLOT_POLL_MS = 500

export function createLifecycle(parts: LifecycleParts, awakeOf: (account: string) => (AwakeApp & WithEntry)[]) {
  const { engine, networks, clock, log, startDeadlineMs, awakeLimits = NO_AWAKE_LIMITS } = parts
  const inTurn = createTurns()
  let onChange: (key: string) => void = () => undefined
  let drainFirst: Drain = async () => undefined

  function become(entry: SupervisedDeployment, state: resources.InstanceState) {
    entry.state = state
    onChange(keyOf(entry.spec))
    entry.spec.onState?.()
  }

  /** Resolves when there is a slot for it among the awake apps of its account. Requests for slots are served in turn. */
  async function takeSlot(entry: SupervisedDeployment, signal: AbortSignal, mayDisplace: boolean) {
    const { account } = entry.spec.owner
    await inTurn(account, async () => {
      const deadline = clock.now() + startDeadlineMs
      for (;;) {
        signal.throwIfAborted()
        const others = awakeOf(account).filter((other) => other.entry !== entry)
        const slot = slotFor(toAwakeApp(entry), others, awakeLimits)
        if (slot === 'free') {
          entry.isComing = true
          return
        }
        if (!mayDisplace || clock.now() >= deadline) throw noSlot(others, awakeLimits)
        if (slot === 'none') await clock.sleep(SLOT_POLL_MS, signal)
        else await sleep(slot.entry, APP_LINES.displaced)
      }
    })
  }

  /**
   * Starts the process; the entry is RUNNING when this resolves. Only a start that a deploy or a visitor asked for may put
   * another app to sleep.
   */
  async function launch(entry: SupervisedDeployment, signal: AbortSignal, { mayDisplace }: { mayDisplace: boolean }) {
    await takeSlot(entry, signal, mayDisplace)
    sayStart(entry.spec)
    const instance = await startInstance({ engine, networks }, entry.spec, startDeadlineMs, signal).finally(() => {
      entry.isComing = false
    })
    entry.visitTime = clock.now()
    hold(entry, instance)
    become(entry, 'RUNNING')
  }

  /** The instance answers for the entry until its process ends, which is followed by the next start. */
  function hold(entry: SupervisedDeployment, instance: Instance) {
    entry.instance = instance
    entry.instances.add(instance)
    const startTime = clock.now()
    instance.process.exited.then(({ code, signal: killedBy, excess = [] }) => {
      entry.instances.delete(instance)
      if (entry.instance !== instance || entry.retiring.signal.aborted) return
      const why = excess.length > 0 ? excess.map(limitInWords).join(', ') : (killedBy ?? `exit code ${code}`)
      entry.spec.log.say(
        'ENDED',
        excess.length > 0 ? `The app was ended: ${why}.` : `The app ended by itself (${why}).`,
      )
      if (clock.now() - startTime > STABLE_AFTER_MS) entry.crashes = 0
      restart(entry)
    })
  }

  /** Starts it in the background and retries until it runs: a start that fails counts as a crash. */
  function bringUp(entry: SupervisedDeployment, pauseMs: number, how: { mayDisplace: boolean }) {
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
        log.warn({ deployment, crashes: entry.crashes + 1, ...(isOurs && { err: error }) }, 'an app does not stay up')
        restart(entry)
      })
  }

  /** Starts the process again after a pause that grows with every crash in a row. */
  function restart(entry: SupervisedDeployment) {
    entry.instance = undefined
    entry.crashes += 1
    entry.restarts += 1
    become(entry, entry.crashes >= CRASHES_TO_LOOP ? 'CRASH_LOOP' : 'RESTARTING')
    bringUp(entry, Math.min(PAUSE_MS.first * 2 ** (entry.crashes - 1), PAUSE_MS.max), { mayDisplace: false })
  }

  async function sleep(entry: SupervisedDeployment, why: string, drain = drainFirst) {
    const { instance } = entry
    if (entry.state !== 'RUNNING' || !instance) return
    entry.instance = undefined
    entry.spec.log.say('ASLEEP', why)
    become(entry, 'ASLEEP')
    try {
      await drain(instance.id)
    } finally {
      await instance.process.stop(STOP_GRACE_MS)
      // Its slot is free only after the process has exited.
      await instance.process.exited
    }
  }

  return {
    become,
    changed: (key: string) => onChange(key),
    launch,
    hold,
    bringUp,
    sleep,
    onChange(listener: (key: string) => void) {
      onChange = listener
    },
    drainBy(drain: Drain) {
      drainFirst = drain
    },
  }
}

function sayStart({ deployment, build, ordinal, log }: InstanceSpec) {
  if (ordinal === undefined) log.say('START', startText(deployment, build))
  else log.say('SCALING', `Instance ${ordinal} starts.`)
}

const limitInWords = (limit: Excess): string =>
  limit === 'fullDisk' ? 'the disk was full, and it had written the most' : `it reached its limit of ${limit}`

/** Names an instance. That of the first is the id of its deployment. */
export const keyOf = ({ deployment, ordinal }: Pick<InstanceSpec, 'deployment' | 'ordinal'>): string =>
  ordinal === undefined ? deployment : `${deployment}.${ordinal}`

export const deploymentOf = (key: string): string => key.split('.', 1)[0] ?? key

export type WithEntry = { entry: SupervisedDeployment }

export function newEntry(spec: InstanceSpec, now: number): SupervisedDeployment {
  return {
    spec,
    state: 'STARTING',
    restarts: 0,
    crashes: 0,
    instance: undefined,
    retiring: new AbortController(),
    starting: Promise.resolve(),
    visitTime: now,
    isComing: false,
    memoryBytes: 0,
    instances: new Set(),
  }
}

/** Measures the memory of its processes, where they run. */
export function toAwakeApp(entry: SupervisedDeployment): AwakeApp & WithEntry {
  for (const { process } of entry.instances) entry.memoryBytes = process.memoryBytes?.() || entry.memoryBytes
  const { memoryBytes, state, spec } = entry
  // Where memory is short, a further instance sleeps before any app does.
  const visitTime = spec.ordinal === undefined ? entry.visitTime : 0
  return { entry, environment: spec.owner.environment, memoryBytes, visitTime, isRunning: state === 'RUNNING' }
}

/** Ends its processes for good, and closes its log. */
export async function endProcesses(entry: SupervisedDeployment, { graceMs = STOP_GRACE_MS, drain }: StopOptions) {
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

export async function stopInstances({ instances }: SupervisedDeployment, graceMs: number) {
  await Promise.all([...instances].map(({ process }) => process.stop(graceMs)))
}
