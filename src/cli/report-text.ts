/**
 * A deploy in words. What is for people goes to stderr; the address of the site, which is what a script wants, is the one
 * line on stdout.
 */
import { printable, printableLine } from '../base/index.ts'
import type { resources } from '../contract/index.ts'
import { countInWords, secondsInWords } from './figures.ts'
import type { LogLine } from './log-lines.ts'
import { uploadInWords } from './progress.ts'
import { type Failed, idOf, type Report, type Success, timesInWords, warningsIn } from './report.ts'
import { oneLine, sizeOf } from './rows.ts'
import type { Terminal } from './terminal.ts'

/** How often the bar of an upload is drawn. */
const DRAWN_MS = 100

export function createTextReport(terminal: Terminal): Report {
  const { say, paint, status } = terminal
  const heading = createHeadings(terminal)
  let drawnMs = 0
  let startedMs: number | undefined
  let lastBytes = 0
  let stood = 0
  let phaseSinceMs = performance.now()

  return {
    note: (text) => say(`${paint('yellow', 'note')}  ${indented(text)}`),
    created: (what, name) => say(`Created the ${what} ${oneLine(name)}.`),
    archive: ({ files, bytes, digest }) =>
      say(`${countInWords(files, 'file')}, ${sizeOf(bytes)} packed  ${paint('dim', digest.slice(0, 19))}`),
    uploading(sentBytes, totalBytes) {
      // Less than before: a broken connection was opened anew.
      if (startedMs === undefined || sentBytes < lastBytes) startedMs = performance.now()
      lastBytes = sentBytes
      if (performance.now() - drawnMs < DRAWN_MS && sentBytes < totalBytes) return
      drawnMs = performance.now()
      status(uploadInWords(sentBytes, totalBytes, (performance.now() - startedMs) / 1000, terminal.columns()))
    },
    accepted({ metadata }) {
      status(undefined)
      say(`Build ${oneLine(idOf(metadata.build))}`)
    },
    state(operation) {
      const standing = standingOf(operation, (performance.now() - phaseSinceMs) / 1000)
      status(standing)
      // Where no line can be written over, a place in the queue is told when it is another one.
      const { phase, queuePosition } = operation.metadata
      if (terminal.isInteractive || phase !== 'QUEUED' || !queuePosition || queuePosition === stood) return
      stood = queuePosition
      say(standing)
    },
    line(line) {
      if (heading(line)) {
        phaseSinceMs = performance.now()
        status(`${phaseInWords(line.phase)} …`)
      }
      say(`  ${lineInWords(terminal, line)}`)
    },
    connection: (isThere) => {
      status(undefined)
      say(paint('yellow', isThere ? 'The service is there again.' : 'The connection is lost; waiting for the service.'))
    },
    succeeded({ url, build }: Success) {
      status(undefined)
      const { parts, total } = timesInWords(build)
      const what = build.unchanged ? 'Unchanged: visitors get this output already.' : paint('green', 'Live.')
      say('')
      say(`${what} ${total} in all: ${parts.join(', ')}.`)
      for (const warning of warningsIn(build)) say(`${paint('yellow', 'warning')}  ${indented(warning)}`)
      terminal.print(oneLine(url))
    },
    failed(failed) {
      status(undefined)
      say('')
      for (const line of failureInWords(terminal, failed)) say(line)
    },
    cancelled(_build, reason, message) {
      status(undefined)
      say('')
      say(`${paint('yellow', oneLine(reason))}: ${oneLine(message)}`)
      say('What visitors get is as it was.')
    },
    detached({ name, metadata }) {
      say(`To follow it: headland logs --build ${oneLine(idOf(metadata.build))} -f`)
      terminal.print(oneLine(name))
    },
    left({ metadata }) {
      status(undefined)
      say(`The build goes on. To follow it: headland logs --build ${oneLine(idOf(metadata.build))} -f`)
    },
  }
}

/** Says the name of a phase before its first line, and how far into the log that is; true where it did. */
export function createHeadings({ say, paint }: Terminal): (line: LogLine) => boolean {
  let phase = ''
  let beganAt: number | undefined
  return (line) => {
    beganAt ??= line.time
    if (line.phase === phase) return false
    phase = line.phase
    const seconds = (line.time - beganAt) / 1000
    const after = seconds < 0.05 ? '' : paint('dim', `  +${secondsInWords(seconds)}`)
    say(`${paint('bold', phaseInWords(phase))}${after}`)
    return true
  }
}

export const lineInWords = ({ paint }: Pick<Terminal, 'paint'>, { stream, text }: LogLine): string =>
  stream === 'service' ? paint('cyan', printableLine(text)) : printableLine(text)

/** `BUILDING` is `Building`. */
const phaseInWords = (phase: string): string => oneLine(phase.charAt(0) + phase.slice(1).toLowerCase())

/** The first line stands at the margin, as ours do, and no other one: none of them looks like one of ours. */
const indented = (text: string): string => printable(text).replaceAll('\n', '\n  ')

function standingOf({ metadata }: resources.Operation, seconds: number): string {
  const { phase, queuePosition, settlesUntil } = metadata
  if (phase !== 'QUEUED') return `${phaseInWords(phase)} … ${seconds < 2 ? '' : secondsInWords(seconds)}`.trim()
  if (settlesUntil !== undefined) return `Waiting until ${oneLine(settlesUntil)}, should further webhooks be called`
  const before = (queuePosition ?? 1) - 1
  return before > 0 ? `Waiting: ${countInWords(before, 'build')} before this one` : 'Waiting: it is the next'
}

function failureInWords({ paint }: Terminal, { failure, lines, isLive }: Failed): string[] {
  const number = (line: LogLine) =>
    line.number === failure.logLine ? paint('red', `> ${line.number}`) : paint('dim', `  ${line.number}`)
  const section = (title: string, texts: readonly string[]) =>
    texts.length > 0 ? ['', title, ...texts.map((text) => `  ${oneLine(text)}`)] : []
  return [
    paint('red', `Failed: ${oneLine(failure.reason)}`),
    indented(failure.message),
    ...(lines.length > 0 ? ['', ...lines.map((line) => `${number(line)}  ${printableLine(line.text)}`)] : []),
    ...section('Since the last build that went well:', failure.changes),
    ...section('What to do:', [failure.todo, `More: ${failure.page}`]),
    '',
    isLive ? 'Visitors get what they got before.' : 'Nothing is live yet.',
  ]
}
