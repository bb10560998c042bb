/**
 * Moves the logs of builds that are over, and closed parts of the logs of apps, to the object store. It looks for them every few
 * seconds: so what could not be moved while the store was away is moved when it is back, and after a start.
 */
import { type Clock, type Log, type Repetition, repeat, settlesWithin } from '../base/index.ts'
import type { Builds } from '../builds/index.ts'
import type { LogMoving } from '../storage/index.ts'

type Parts = {
  clock: Clock
  log: Log
  builds: Pick<Builds, 'isOver'>
  moving: Pick<LogMoving, 'list' | 'moveWhole' | 'moveClosed'>
}

export const MOVE_MS = 5000

export function createLogMoves({ clock, log, builds, moving }: Parts) {
  let isFailing = false
  let isStopping = false
  let repetition: Repetition | undefined

  async function moveAll() {
    for (const name of await moving.list('builds')) {
      if (isStopping) return
      if (await builds.isOver(name.slice('builds/'.length))) await moving.moveWhole(name)
    }
    for (const name of await moving.list('runtime', { isClosed: true })) {
      if (isStopping) return
      await moving.moveClosed(name)
    }
  }

  /** The first fault ends it: the others would fail in the same way. It is reported once. */
  async function attempt() {
    try {
      await moveAll()
      if (isFailing) log.info('logs are moved to the object store again')
      isFailing = false
    } catch (error) {
      if (!isFailing) log.warn({ err: error }, 'logs stay where they are until the object store takes them')
      isFailing = true
    }
  }

  return {
    start() {
      repetition = repeat(clock, MOVE_MS, attempt, { isImmediate: true })
    },
    /** A move may be cut off at any line. */
    async stop(graceMs: number) {
      isStopping = true
      if (repetition) await settlesWithin(clock, repetition.stop(), graceMs)
    },
  }
}

export type LogMoves = ReturnType<typeof createLogMoves>
