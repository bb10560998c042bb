/**
 * The progress of a deploy as text. It goes to stderr; the address of the site, which is what a script needs, is the one line
 * on stdout.
 */

import { printable, printableLine } from '../../base/index.ts'
import type { Build, Operation } from '../../client/index.ts'
import { shortId } from '../../contract/index.ts'
import { countInWords, secondsInWords } from './figures.ts'
import type { LogLine } from './log-lines.ts'
import { commitInWords } from './people.ts'
import { uploadInWords } from './progress.ts'
import { type Failed, type Report, type Success, timesInWords, warningsIn } from './report.ts'
import { oneLine, sizeOf } from './rows.ts'
import type { Terminal } from './terminal.ts'

/** How often the bar of an upload is drawn. */
const DRAWN_MS = 100
/** The number of last lines that are compared with a failure's message, which the log may already end with. */
const MAX_LINES = 50

export function createTextReport(terminal: Terminal): Report {
  const { say, paint, status } = terminal
  const heading = createHeadings(terminal)
  let drawnMs = 0
  let startedMs: number | undefined
  let lastBytes = 0
  let lastStatus = ''
  let phaseSinceMs = performance.now()
  /** The last lines of the service that were shown. */
  const shown: string[] = []

  return {
    note: (text) => say(`${paint('yellow', 'note')}  ${indented(text)}`),
    created: (what, name) => say(`Created the ${what} ${oneLine(name)}.`),
    preview: ({ displayName, url }) => say(`Preview ${oneLine(displayName)}, at ${oneLine(url)}`),
    variablesSet: (keys) => say(`Set ${keys.map(oneLine).join(', ')}.`),
    archive: ({ files, bytes, digest }) =>
      say(`${countInWords(files, 'file')}, ${sizeOf(bytes)} packed  ${paint('dim', digest.slice(0, 19))}`),
    described({ message, commit }) {
      const words = oneLine(message || (commit?.subject ?? ''))
      if (commit) say(`Commit ${oneLine(commitInWords(commit))}${words && `  ${paint('dim', words)}`}`)
      else if (words) say(paint('dim', words))
    },
    uploading(sentBytes, totalBytes) {
      // Fewer bytes than before: the upload was started again after a broken connection.
      if (startedMs === undefined || sentBytes < lastBytes) startedMs = performance.now()
      lastBytes = sentBytes
      if (performance.now() - drawnMs < DRAWN_MS && sentBytes < totalBytes) return
      drawnMs = performance.now()
      status(uploadInWords(sentBytes, totalBytes, (performance.now() - startedMs) / 1000, terminal.columns()))
    },
    accepted({ metadata }) {
      status(undefined)
      phaseSinceMs = performance.now()
      say(`Build ${oneLine(shortId(metadata.build))}`)
    },
    state(operation) {
      const seconds = (performance.now() - phaseSinceMs) / 1000
      const current = statusOf(operation)
      status(`${current} … ${seconds < 2 ? '' : secondsInWords(seconds)}`.trim())
      // Without a terminal no line can be overwritten, so it is printed only when it changes.
      if (terminal.isInteractive || !isReasonKnown(operation) || current === lastStatus) return
      lastStatus = current
      say(current)
    },
    line(line) {
      if (heading(line)) {
        phaseSinceMs = performance.now()
        status(`${phaseInWords(line.phase)} …`)
      }
      say(`  ${lineInWords(terminal, line)}`)
      if (line.stream === 'service' && shown.push(line.text) > MAX_LINES) shown.shift()
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
      sayWarnings(terminal, build)
      terminal.print(oneLine(url))
    },
    failed(failed) {
      status(undefined)
      say('')
      for (const line of failureInWords(terminal, failed, shown)) say(line)
    },
    held(_build, { reason, page }, message) {
      status(undefined)
      say('')
      say(paint('yellow', `Held: ${oneLine(reason)}`))
      say(indented(message))
      say(`More: ${oneLine(page)}`)
    },
    cancelled(_build, reason, message) {
      status(undefined)
      say('')
      say(`${paint('yellow', oneLine(reason))}: ${oneLine(message)}`)
      say('Visitors get the same version as before.')
    },
    detached({ name, metadata }) {
      say(`To follow it: headland logs --build ${oneLine(shortId(metadata.build))} -f`)
      terminal.print(oneLine(name))
    },
    left({ metadata }) {
      status(undefined)
      say(`The build goes on. To follow it: headland logs --build ${oneLine(shortId(metadata.build))} -f`)
    },
    close: () => status(undefined),
  }
}

export function sayWarnings({ say, paint }: Pick<Terminal, 'say' | 'paint'>, build: Build) {
  for (const warning of warningsIn(build)) say(`${paint('yellow', 'warning')}  ${indented(warning)}`)
}

/** Prints the name of a phase before its first line, with the time since the first line of the log; returns whether it did. */
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

/** Only the first line begins at the left margin, so that no other line of the text looks like output of the client. */
const indented = (text: string): string => printable(text).replaceAll('\n', '\n  ')

function statusOf({ metadata }: Operation): string {
  const { phase, queuePosition, settlesUntil, waiting } = metadata
  if (phase !== 'QUEUED') return phaseInWords(phase)
  if (settlesUntil !== undefined) return `Waiting until ${oneLine(settlesUntil)}, should further webhooks be called`
  if (waiting !== undefined) return oneLine(waiting.message).replace(/\.$/, '')
  const before = (queuePosition ?? 1) - 1
  return before > 0 ? `Waiting: ${countInWords(before, 'build')} before this one` : 'Waiting: it is the next'
}

/** Whether it is known what it waits for, which is not so just after it was accepted. */
const isReasonKnown = ({ metadata: { phase, queuePosition, waiting } }: Operation): boolean =>
  phase === 'QUEUED' && (waiting !== undefined || Boolean(queuePosition))

/** Text that the log has shown already is not repeated. */
function failureInWords({ paint }: Terminal, { failure, lines, isLive }: Failed, shown: readonly string[]): string[] {
  const isNew = (text: string) => !shown.includes(text)
  const number = (line: LogLine) =>
    line.number === failure.logLine ? paint('red', `> ${line.number}`) : paint('dim', `  ${line.number}`)
  const section = (title: string, texts: readonly string[]) =>
    texts.length > 0 ? ['', title, ...texts.map((text) => `  ${oneLine(text)}`)] : []
  return [
    paint('red', `Failed: ${oneLine(failure.reason)}`),
    ...(isNew(failure.message) ? [indented(failure.message)] : []),
    ...(failure.cause ? [oneLine(failure.cause)] : []),
    ...(lines.length > 0 ? ['', ...lines.map((line) => `${number(line)}  ${printableLine(line.text)}`)] : []),
    ...section('Since the last build that went well:', failure.changes.filter(isNew)),
    ...section('What to do:', [...(failure.todo ? [failure.todo] : []), `More: ${failure.page}`]),
    '',
    isLive ? 'Visitors get what they got before.' : 'Nothing is live yet.',
  ]
}
