/**
 * What a live view of a deploy shows, as a plain value, and how each event changes it. Times are those of the service: the
 * difference between its clock and this one is learned from the newest line of the log.
 */
import type { Build, Operation } from '../../../client/index.ts'
import { beginsChecking } from '../../../contract/index.ts'
import type { LogLine } from '../log-lines.ts'
import { waitingInWords } from '../waiting.ts'

export const STEPS = [
  'UPLOADING',
  'WAITING',
  'UNPACKING',
  'PLANNING',
  'INSTALLING',
  'BUILDING',
  'STARTING',
  'CHECKING',
  'SWITCHING',
] as const
export type StepName = (typeof STEPS)[number]

export type Step = { name: StepName; startMs: number; endMs?: number | undefined }

export type Model = {
  /** Those that have begun, in order; the last one is running unless it has an end. */
  steps: readonly Step[]
  upload?: { sentBytes: number; totalBytes: number } | undefined
  /** What the build waits for. */
  queue: string
  /** The last lines of the log. */
  tail: readonly Pick<LogLine, 'stream' | 'text'>[]
  /** The steps began again: the build is tried once more. */
  isSecondAttempt: boolean
  isConnected: boolean
  /** What is added to a time of this machine to get one of the service. */
  offsetMs: number
}

export const START: Model = {
  steps: [],
  queue: '',
  tail: [],
  isSecondAttempt: false,
  isConnected: true,
  offsetMs: 0,
}

/** A view that is higher than this would show more of the log than of the deploy. */
export const MAX_TAIL = 6

export function uploading(model: Model, sentBytes: number, totalBytes: number, nowMs: number): Model {
  // Fewer bytes than before: the upload was started again after a broken connection.
  const isNew = model.upload === undefined || sentBytes < model.upload.sentBytes
  const steps: readonly Step[] = isNew ? [{ name: 'UPLOADING', startMs: nowMs + model.offsetMs }] : model.steps
  return { ...model, steps, upload: { sentBytes, totalBytes } }
}

/** The service has the upload, or the request for a rebuild. */
export function accepted(model: Model, { metadata }: Operation, nowMs: number): Model {
  const createMs = Date.parse(metadata.createTime)
  const offsetMs = createMs - nowMs
  const passedMs = offsetMs - model.offsetMs
  const steps = model.steps.map((step) => ({ ...step, startMs: step.startMs + passedMs }))
  return { ...begun({ ...model, offsetMs, steps }, 'WAITING', createMs), queue: waitingInWords(metadata) }
}

/** The state of the operation. The log, which is ahead of it, decides where it knows more. */
export function polled(model: Model, { metadata }: Operation, nowMs: number): Model {
  const seen = { ...model, isConnected: true }
  if (metadata.phase === 'QUEUED') return { ...seen, queue: waitingInWords(metadata) }
  const isAhead = indexOf(metadata.phase as StepName) > lastIndex(model)
  if (!isStep(metadata.phase) || !isAhead || model.isSecondAttempt) return seen
  return begun(seen, metadata.phase, nowMs + model.offsetMs)
}

export function logged(model: Model, line: LogLine, nowMs: number): Model {
  const { stream, text, time } = line
  const tail = text.trim() === '' ? model.tail : [...model.tail, { stream, text }].slice(-MAX_TAIL)
  const offsetMs = Math.max(model.offsetMs, time - nowMs)
  const name = beginsChecking(line) ? 'CHECKING' : line.phase
  const seen = { ...model, tail, offsetMs, isConnected: true }
  // After its pages were checked, a new version may still write lines of its start.
  const isOfCheck = name === 'STARTING' && model.steps.at(-1)?.name === 'CHECKING'
  return isStep(name) && !isOfCheck && name !== model.steps.at(-1)?.name ? begun(seen, name, time) : seen
}

export const connection = (model: Model, isConnected: boolean): Model => ({ ...model, isConnected })

/** It is over: the last step ends, and the times are those that the service has measured. */
export function ended(model: Model, build: Build | undefined, nowMs: number): Model {
  const steps = closed(model.steps, nowMs + model.offsetMs)
  return { ...model, steps: build ? measured(steps, build) : steps }
}

function begun(model: Model, name: StepName, timeMs: number): Model {
  const isBack = indexOf(name) <= lastIndex(model)
  const kept = model.steps.filter((step) => indexOf(step.name) < indexOf(name))
  const steps = [...closed(kept, timeMs), { name, startMs: timeMs }]
  return { ...model, steps, isSecondAttempt: model.isSecondAttempt || isBack }
}

function closed(steps: readonly Step[], timeMs: number): Step[] {
  return steps.map((step) => ({ ...step, endMs: step.endMs ?? Math.max(step.startMs, timeMs) }))
}

/** The check of pages is a part of STARTING, as the service measures it. */
function measured(steps: readonly Step[], { durations, createTime, startTime }: Build): Step[] {
  const msOf = ({ startMs, endMs = startMs }: Step) => endMs - startMs
  const checking = steps.find(({ name }) => name === 'CHECKING')
  const starting = (durations as Partial<Record<string, number>>).STARTING
  const checkMs = checking ? Math.min(msOf(checking), (starting ?? 0) * 1000) : 0
  const known: Record<string, number | undefined> = { ...(durations as Record<string, number>) }
  if (startTime) known.WAITING = (Date.parse(startTime) - Date.parse(createTime)) / 1000
  if (checking) known.CHECKING = checkMs / 1000
  if (starting !== undefined) known.STARTING = starting - checkMs / 1000
  const names = STEPS.filter((name) => known[name] !== undefined || steps.some((step) => step.name === name))
  return names.map((name) => {
    const step = steps.find((one) => one.name === name) ?? { name, startMs: 0, endMs: 0 }
    const seconds = known[name]
    return seconds === undefined ? step : { ...step, endMs: step.startMs + Math.max(0, seconds) * 1000 }
  })
}

const indexOf = (name: StepName): number => STEPS.indexOf(name)
const lastIndex = ({ steps }: Model): number => indexOf(steps.at(-1)?.name as StepName)
const isStep = (name: string): name is StepName => STEPS.some((step) => step === name)
