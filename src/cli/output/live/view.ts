/**
 * The live view of a deploy as lines: the steps with their times, and below them the last lines of the log. Pure: the same model,
 * size and time make the same lines. Where the terminal is low, the log goes first, then the steps that have not begun, then the
 * oldest.
 */
import { secondsInWords } from '../figures.ts'
import { sizeOf } from '../rows.ts'
import { type Colour, cut, EMPTY, fixed, type Line, padded, type Span, span } from './lines.ts'
import { MAX_TAIL, type Model, STEPS, type Step } from './model.ts'

export type Size = { columns: number; rows: number }

export function viewOf(model: Model, { columns, rows }: Size, nowMs: number): Line[] {
  const now = nowMs + model.offsetMs
  const steps = fittingSteps([...begunSteps(model, now), ...laterSteps(model)], rows - (model.isConnected ? 0 : 1))
  const trouble = model.isConnected
    ? []
    : [[fixed('  '), fixed('! The connection is lost; waiting for the service.', 'yellow')]]
  const free = Math.min(MAX_TAIL, rows - steps.length - trouble.length - 1)
  const tail = free > 0 ? model.tail.slice(-free).map(logLine) : []
  const log = tail.length > 0 ? [EMPTY, ...tail] : []
  return [...steps.map(({ line }) => line), ...trouble, ...log].map((line) => cut(line, columns))
}

/** What stays when it is over: the steps that there were. */
export function summaryOf(model: Model, { isFailed }: { isFailed: boolean }): Line[] {
  const steps = model.steps.filter(
    ({ name, startMs, endMs = 0 }) => name !== 'WAITING' || endMs - startMs >= NO_WAIT_MS,
  )
  return steps.map((step, at) => {
    const isWrong = isFailed && at === steps.length - 1
    return endedLine(model, step, isWrong ? fixed(MARKS.failed, 'red') : fixed(MARKS.done, 'green'))
  })
}

const MARKS = { done: '✓', failed: '✗', later: '·' }
const SPINNER = [...'⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏']
const FRAME_MS = 100
/** Shown as `0.0 s`. */
const NO_WAIT_MS = 50

const NAME_COLUMNS = 11
/** `12 min 34 s` */
const TIME_COLUMNS = 11

type Shown = { line: Line; state: 'done' | 'running' | 'later' }

function begunSteps(model: Model, now: number): Shown[] {
  return model.steps.map((step) => {
    if (step.endMs !== undefined) return { state: 'done', line: endedLine(model, step, fixed(MARKS.done, 'green')) }
    const passedMs = Math.max(0, now - step.startMs)
    const mark = fixed(SPINNER[Math.floor(now / FRAME_MS) % SPINNER.length] ?? '', 'cyan')
    // Tenths of a second that change all the time are of no use.
    const time = passedMs < 1000 ? '' : secondsInWords(Math.floor(passedMs / 1000)).replace('.0 s', ' s')
    const row = { mark, name: fixed(padded(wordOf(step.name), NAME_COLUMNS), 'bold'), time: fixed(time) }
    return { state: 'running', line: stepLine({ ...row, detail: detailOf(model, step, passedMs) }) }
  })
}

function endedLine({ upload }: Model, { name, startMs, endMs = startMs }: Step, mark: Span): Line {
  const detail = name === 'UPLOADING' && upload ? sizeOf(upload.totalBytes) : ''
  const time = fixed(secondsInWords((endMs - startMs) / 1000), 'dim')
  return stepLine({ mark, name: fixed(padded(wordOf(name), NAME_COLUMNS)), time, detail })
}

function stepLine({ mark, name, time, detail }: { mark: Span; name: Span; time: Span; detail: string }): Line {
  const aligned = { ...time, text: padded(time.text, TIME_COLUMNS, 'right') }
  const more = detail ? [fixed('  '), span(detail, 'dim')] : []
  return [fixed('  '), mark, fixed(' '), name, aligned, ...more]
}

/** They are shown before they begin, so that the end is in sight. A check of pages is not part of every deploy. */
function laterSteps({ steps }: Model): Shown[] {
  const last = Math.max(STEPS.indexOf(steps.at(-1)?.name ?? 'UPLOADING'), STEPS.indexOf('WAITING') - 1)
  return STEPS.slice(last + 1)
    .filter((name) => name !== 'CHECKING')
    .map((name) => ({ state: 'later', line: [fixed(`  ${MARKS.later} ${wordOf(name)}`, 'dim')] }))
}

function fittingSteps(all: readonly Shown[], rows: number): Shown[] {
  const excess = Math.max(0, all.length - Math.max(1, rows))
  const later = all.filter(({ state }) => state === 'later')
  const kept = later.slice(0, Math.max(0, later.length - excess))
  const begun = all.filter(({ state }) => state !== 'later')
  return [...begun.slice(Math.max(0, excess - later.length)), ...kept]
}

function detailOf({ upload, queue, isSecondAttempt }: Model, { name }: Step, passedMs: number): string {
  if (name === 'UPLOADING' && upload) return uploadDetail(upload, passedMs / 1000)
  if (name === 'WAITING') return queue
  return isSecondAttempt ? 'second attempt, without caches' : ''
}

const BAR = 20

function uploadDetail({ sentBytes, totalBytes }: NonNullable<Model['upload']>, seconds: number): string {
  if (sentBytes >= totalBytes) return `${sizeOf(totalBytes)}, which the service checks`
  const full = Math.round((sentBytes / totalBytes) * BAR)
  const bar = `${'█'.repeat(full)}${'░'.repeat(BAR - full)}`
  const rate = seconds > 0.5 ? sentBytes / seconds : 0
  const left = rate > 0 ? [`${sizeOf(rate)}/s`, `${secondsInWords((totalBytes - sentBytes) / rate)} left`] : []
  return [bar, `${sizeOf(sentBytes)} of ${sizeOf(totalBytes)}`, ...left].join('  ')
}

/** The mark at the margin is of this program: no line of a log can look like a step. */
function logLine({ stream, text }: Model['tail'][number]): Line {
  const colour: Colour = stream === 'service' ? 'cyan' : 'dim'
  return [fixed('  │ ', 'dim'), span(text, colour)]
}

const wordOf = (name: string): string => name.charAt(0) + name.slice(1).toLowerCase()
