/** The steps in the life of a deployment's process: start, restart after a crash, sleep, end. `supervisor.ts` has the states. */
import { type Clock, createTurns, type Log } from '../base/index.ts'
import { Problem, type resources, startText } from '../contract/index.ts'
import type { Engine, Excess, Networks } from '../engines/index.ts'
import { type AwakeApp, type AwakeLimits, NO_AWAKE_LIMITS, noSlot, slotFor } from './awake-slots.ts'
import { type Drain, endInstance, keyOf, type SupervisedDeployment, toAwakeApp, type WithEntry } from './entries.ts'
import { createFreezing } from './freezing.ts'
import { type FrozenLimits, NO_FROZEN_APPS } from './frozen-apps.ts'
import { type Instance, type InstanceSpec, startInstance } from './instance.ts'
import { APP_LINES } from './log-lines.ts'

export type LifecycleParts = {
  engine: Engine
  networks: Networks | undefined
  clock: Clock
  log: Log
  startDeadlineMs: number
  /** Of each account. */
  awakeLimits?: AwakeLimits
  /** Of the machine. */
  frozenLimits?: FrozenLimits
}

const PAUSE_MS = { first: 500, max: 60_000 }
const CRASHES_TO_LOOP = 5
/** A process that ran for longer than this before it crashed starts the count anew. */
const STABLE_AFTER_MS = 60_000
const SLOT_POLL_MS = 500

export function createLifecycle(parts: LifecycleParts, awakeOf: (account: string) => (AwakeApp & WithEntry)[]) {
  const { engine, networks, clock, log, startDeadlineMs, awakeLimits = NO_AWAKE_LIMITS } = parts
  const freezing = createFreezing({ clock, limits: parts.frozenLimits ?? NO_FROZEN_APPS })
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
        if (slot !== 'none' && slot.isFrozen) await freezing.release(slot.entry)
        else if (!mayDisplace || clock.now() >= deadline) throw noSlot(others, awakeLimits)
        else if (slot === 'none') await clock.sleep(SLOT_POLL_MS, signal)
        else await sleep(slot.entry, APP_LINES.displaced)
      }
    })
  }

  /**
   * Starts the process, or lets one that is frozen go on; the entry is RUNNING when this resolves. Only a start that a deploy
   * or a visitor asked for may put another app to sleep.
   */
  async function launch(entry: SupervisedDeployment, signal: AbortSignal, { mayDisplace }: { mayDisplace: boolean }) {
    await takeSlot(entry, signal, mayDisplace)
    try {
      const thawed = await freezing.thaw(entry, signal)
      // It may have ended in this moment.
      if (thawed && entry.instances.has(thawed)) {
        entry.spec.log.say('AWAKE', APP_LINES.thawed)
        entry.instance = thawed
      } else {
        sayStart(entry.spec)
        hold(entry, await startInstance({ engine, networks }, entry.spec, startDeadlineMs, signal))
      }
    } finally {
      entry.isComing = false
    }
    entry.visitTime = clock.now()
    become(entry, 'RUNNING')
  }

  /** The instance answers for the entry until its process ends, which is followed by the next start. */
  function hold(entry: SupervisedDeployment, instance: Instance) {
    entry.instance = instance
    entry.instances.add(instance)
    const startTime = clock.now()
    instance.process.exited.then(({ code, signal: killedBy, excess = [] }) => {
      entry.instances.delete(instance)
      if (entry.frozen === instance) entry.frozen = undefined
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

  /** Its process is frozen if it may be, and else it ends. */
  async function sleep(entry: SupervisedDeployment, why: string, { drain = drainFirst, mayFreeze = true } = {}) {
    const { instance } = entry
    if (entry.state !== 'RUNNING' || !instance) return
    entry.instance = undefined
    entry.spec.log.say('ASLEEP', why)
    become(entry, 'ASLEEP')
    let isFrozen = false
    try {
      await drain(instance.id)
      isFrozen = mayFreeze && freezing.freeze(entry, instance)
    } finally {
      if (!isFrozen) await endInstance(instance)
    }
  }

  return {
    become,
    changed: (key: string) => onChange(key),
    launch,
    hold,
    bringUp,
    sleep,
    release: freezing.release,
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
