/**
 * The state of an environment, a build or an operation in a few words. A live site whose build failed is still live, so
 * its words say both.
 */
import { isNoBuild } from '../names.ts'
import { operationProblem, type Problem } from '../problem.ts'
import type { Build, Deployment, Environment, Operation, Phase, Trigger } from '../types.ts'

export type Tone = 'good' | 'busy' | 'bad' | 'warn' | 'idle'
export type Shown = { tone: Tone; word: string; detail?: string }

/**
 * The operation, out of the newest ones, that determines the state of an environment: the running one, or the last that
 * succeeded or failed. Purges and cancelled or superseded operations do not count.
 */
export const decisiveOperation = (newest: readonly Operation[] | undefined): Operation | undefined =>
  newest?.find((operation) => {
    const outcome = outcomeOf(operation)
    return (
      outcome === 'running' || (operation.metadata.trigger !== 'PURGE_CACHE' && /^(well|failed|held)$/.test(outcome))
    )
  })

/** By the operation that the environment names as decisive. `deployment` is the live one, where it is known. */
export function environmentState(environment: Environment, deployment?: Deployment): Shown {
  const { latestOperation: latest } = environment
  if (environment.state === 'DELETING') return { tone: 'busy', word: 'Deleting' }
  if (latest && !latest.done) return { tone: 'busy', word: workingWord(latest) }
  if (environment.reconciling) return { tone: 'busy', word: 'Working' }
  const failed = latest?.reason !== undefined
  if (environment.state === 'EMPTY')
    return failed ? { tone: 'bad', word: 'Build failed' } : { tone: 'idle', word: 'Nothing deployed' }
  if (deployment?.instance?.state === 'CRASH_LOOP')
    return { tone: 'bad', word: 'Keeps crashing', detail: 'The app crashes repeatedly; its log says why.' }
  if (deployment?.instance?.state === 'RESTARTING') return { tone: 'warn', word: 'Restarting' }
  if (latest?.reason === 'SUSPICIOUS_OUTPUT' || latest?.reason === 'CHECK_FAILED')
    return { tone: 'warn', word: 'Live, last build held', detail: 'Visitors get the deployment before it.' }
  if (failed) {
    const [word, detail] = !isNoBuild(latest.build)
      ? ['Live, last build failed', 'Visitors get the deployment before it.']
      : ['Live, last change failed', 'What visitors get was not changed.']
    return { tone: 'warn', word, detail }
  }
  if (deployment?.instance?.state === 'ASLEEP')
    return { tone: 'good', word: 'Live, asleep', detail: 'The next visitor wakes it up.' }
  return { tone: 'good', word: 'Live' }
}

/** A queued operation is shown as waiting, not by its trigger. */
const workingWord = ({ trigger, phase }: { trigger: Trigger; phase: Phase }): string =>
  phase === 'QUEUED' && phasesOf(trigger).length > 0 ? PHASE_WORDS.QUEUED : WORKING[trigger]

/** What a queued operation or build waits for changes without an event, so it is polled at this interval. */
export const waitingRefreshMs = (waiting: Operation['metadata']['waiting']): number | false => (waiting ? 2000 : false)

const WORKING: Record<Trigger, string> = {
  CREATE: 'Being created',
  UPDATE: 'Being changed',
  DELETE: 'Deleting',
  UPLOAD: 'Building',
  REBUILD: 'Rebuilding',
  CLEAN_REBUILD: 'Rebuilding',
  ACTIVATE: 'Switching',
  PROMOTE: 'Being promoted',
  PURGE_CACHE: 'Purging',
}

export const TRIGGER_WORDS: Record<Trigger, string> = {
  CREATE: 'Create',
  UPDATE: 'Change',
  DELETE: 'Delete',
  UPLOAD: 'Upload',
  REBUILD: 'Rebuild',
  CLEAN_REBUILD: 'Clean Rebuild',
  ACTIVATE: 'Activate',
  PROMOTE: 'Promote',
  PURGE_CACHE: 'Purge cache',
}

/** Reasons that are not failures: it was cancelled or superseded, or its output waits for a review. */
const ENDED_ON_PURPOSE = {
  OPERATION_CANCELLED: 'cancelled',
  SUPERSEDED: 'superseded',
  SUSPICIOUS_OUTPUT: 'held',
  CHECK_FAILED: 'held',
} as const

export type Outcome = 'running' | 'well' | 'failed' | 'cancelled' | 'superseded' | 'held'

export function outcomeOf(operation: Operation): Outcome {
  if (!operation.done) return 'running'
  const problem = problemOfOperation(operation)
  if (!problem) return 'well'
  return ENDED_ON_PURPOSE[problem.reason as keyof typeof ENDED_ON_PURPOSE] ?? 'failed'
}

export const problemOfOperation = ({ error }: Operation): Problem | undefined => error && operationProblem(error)

/** Whether an operation builds something: only those have a log and a build. */
export const isOfBuild = ({ metadata }: Operation): boolean => !isNoBuild(metadata.build)

export function operationState(operation: Operation): Shown {
  const { unchanged } = operation.metadata
  switch (outcomeOf(operation)) {
    case 'running':
      return { tone: 'busy', word: workingWord(operation.metadata) }
    case 'well':
      return unchanged ? { tone: 'good', word: 'Done, nothing changed' } : { tone: 'good', word: 'Done' }
    case 'failed':
      return { tone: 'bad', word: 'Failed' }
    case 'cancelled':
      return { tone: 'idle', word: 'Cancelled' }
    case 'superseded':
      return { tone: 'idle', word: 'Superseded' }
    case 'held':
      return { tone: 'warn', word: 'Held' }
  }
}

export function buildState({ state, phase, unchanged, held }: Build): Shown {
  switch (state) {
    case 'QUEUED':
      return { tone: 'busy', word: 'Waiting' }
    case 'RUNNING':
      return { tone: 'busy', word: PHASE_WORDS[phase] }
    case 'SUCCEEDED':
      if (held) return { tone: 'warn', word: 'Held' }
      return { tone: 'good', word: unchanged ? 'Unchanged' : 'Succeeded' }
    case 'FAILED':
      return { tone: 'bad', word: 'Failed' }
    case 'CANCELLED':
      return { tone: 'idle', word: 'Cancelled' }
  }
}

export const PHASE_WORDS: Record<Phase, string> = {
  QUEUED: 'Waiting',
  UNPACKING: 'Unpacking',
  PLANNING: 'Planning',
  INSTALLING: 'Installing',
  BUILDING: 'Building',
  STARTING: 'Starting',
  SWITCHING: 'Switching',
  DONE: 'Done',
}

const BUILD_PHASES: readonly Phase[] = [
  'QUEUED',
  'UNPACKING',
  'PLANNING',
  'INSTALLING',
  'BUILDING',
  'STARTING',
  'SWITCHING',
]
const RESTART_PHASES: readonly Phase[] = ['QUEUED', 'STARTING', 'SWITCHING']

/** The phases that an operation of this kind goes through, in order; empty for one without steps. */
export function phasesOf(trigger: Trigger): readonly Phase[] {
  if (trigger === 'UPLOAD' || trigger === 'REBUILD' || trigger === 'CLEAN_REBUILD') return BUILD_PHASES
  return trigger === 'ACTIVATE' || trigger === 'PROMOTE' || trigger === 'UPDATE' ? RESTART_PHASES : []
}

export type Step = { phase: Phase; state: 'done' | 'now' | 'ahead' | 'failed' | 'skipped'; seconds?: number }

/**
 * Steps for the progress bar. `phase` is the current one, or, after a failure, the one where it stopped; `durations`
 * say which phases a finished build went through.
 */
export function stepsOf(
  trigger: Trigger,
  phase: Phase,
  end: 'running' | 'well' | 'stopped',
  durations?: Readonly<Record<string, unknown>>,
): Step[] {
  const phases = phasesOf(trigger)
  // Where it stopped is not known yet: no step is marked as failed.
  if (end === 'stopped' && phase === 'DONE' && !durations)
    return phases.map((each) => ({ phase: each, state: 'skipped' }))
  const at = phase === 'DONE' ? lastReached(phases, durations ?? {}) : phases.indexOf(phase)
  return phases.map((each, index) => {
    const seconds = durations?.[each]
    const time = typeof seconds === 'number' ? { seconds } : {}
    if (end === 'well') return { phase: each, state: 'done', ...time }
    if (index < at) return { phase: each, state: 'done', ...time }
    if (index > at) return { phase: each, state: end === 'running' ? 'ahead' : 'skipped', ...time }
    return { phase: each, state: end === 'running' ? 'now' : 'failed', ...time }
  })
}

const lastReached = (phases: readonly Phase[], durations: Readonly<Record<string, unknown>>): number =>
  Math.max(
    0,
    phases.findLastIndex((phase) => durations[phase] !== undefined),
  )
