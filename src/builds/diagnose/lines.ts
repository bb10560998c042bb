/** Reads a log of untrusted programs: cleans it, removes its warnings, and finds the line that shows the error. */
import { stripVTControlCharacters } from 'node:util'
import type { Line } from './rule.ts'

const MAX_LINES = 5000
const MAX_CHARACTERS = { line: 1000, log: 1_000_000 }
const MAX_QUOTE_CHARACTERS = 200

/** The newest lines, shortened and without control sequences. */
export function clean(lines: readonly Line[]): Line[] {
  const cleaned: Line[] = []
  let characters = 0
  for (let index = lines.length - 1; index >= 0 && cleaned.length < MAX_LINES; index--) {
    const { number, text } = lines[index] as Line
    const short = stripVTControlCharacters(text.slice(0, 4 * MAX_CHARACTERS.line))
      .replaceAll(/\p{Cc}/gu, (character) => (character === '\t' ? '  ' : ''))
      .slice(0, MAX_CHARACTERS.line)
    characters += short.length
    if (characters > MAX_CHARACTERS.log) break
    cleaned.push({ number, text: short })
  }
  return cleaned.reverse()
}

/** A part of the log as it is quoted in a sentence. */
export function quote(text: string): string {
  const short = text.replaceAll(/\s+/g, ' ').trim()
  return short.length > MAX_QUOTE_CHARACTERS ? `${short.slice(0, MAX_QUOTE_CHARACTERS)}…` : short
}

/** What happened, with a quotation from the log where there is one. */
export const sentence = (what: string, quoted: string): string =>
  quoted === '' ? `${what}.` : `${what}: ${quoted.endsWith('…') ? quoted : `${quoted.replace(/[.,:; ]{1,5}$/, '')}.`}`

const WARNING =
  /^\s{0,4}(?:npm warn\b|npm WARN\b|warning\b|WARN\b|\[warn\]|\(!\)|⚠|▲ \[WARNING\]|info There appears to be)/
const WARNINGS_BEGIN = /^\s{0,4}(?:WARNING in |⚠ Compiled with warnings|Compiled with warnings)/
const WARNINGS_END =
  /^\s{0,4}(?:ERROR in |Failed to compile|Build error|> Build|Error|error|✓|⨯|✗|✘|×|Linting|Checking|Running|Collecting|Generating|webpack )/

/** Bundlers use the same messages for warnings and errors: lines under the header of a warning are no proof. */
export function withoutWarnings(lines: readonly Line[]): Line[] {
  let isInside = false
  return lines.map((line) => {
    if (WARNINGS_BEGIN.test(line.text)) isInside = true
    else if (isInside && WARNINGS_END.test(line.text)) isInside = false
    return isInside || WARNING.test(line.text) ? { number: line.number, text: '' } : line
  })
}

/** A line that begins with an error. */
const ERROR_LINE =
  /^[^\p{L}\p{N}]{0,12}(?:npm (?:error|ERR!) +|cause\]?: |error +|Uncaught +|Unhandled +|YN0\d{3}: [│├└┌ ]{0,6})?[^\p{L}\p{N}]{0,6}(?:[A-Za-z]{0,40}(?:Error|Exception)\b|error\b|ERROR\b|ERR!|ERR_[A-Z]|fatal\b|FATAL\b|panic\b|panicked\b|Failed\b|Cannot\b|Could not\b|Couldn't\b|Can't\b|Unable to\b|Missing\b|Invalid\b)/u
/** A line that contains an error, such as `src/main.ts(1,7): error TS2322` or `[vite:css] … failed`. */
const ERROR_WORD = /\b(?:error|Error|ERROR|fatal|failed|Failed|failure|exception|cannot find|not found)\b/
/** Lines that report a failure without its cause. */
const NO_CAUSE =
  /A complete log of this run|Lifecycle script|npm (?:error|ERR!) (?:code|path|workspace|location|command|errno|syscall)\b|npm (?:error|ERR!)\s*$|ELIFECYCLE|error Command failed with exit code|error: script "|Failed with errors in|Build failed in|error during build:?\s*$|Build failed with \d|Failed to compile\.?\s*$|Build error occurred|Build failed because of|Emitted 'error' event|throw er|triggerUncaughtException|Error occurred prerendering|Export encountered|build worker exited|exited with code|command failed\s*$/
/** Lines that belong to the error above: its stack, its code frame, the fields of its object. */
const DETAIL = /^(?:\s|$|[>|│╭╰─}\])-]|\d{1,6} ?[|│])/

/**
 * The index of the line that best shows the failure: the first of the last block of error lines. A program reports what is
 * wrong before it reports where, and its parent process reports the failure again. -1 for an empty log.
 */
export function provingIndex(lines: readonly Line[]): number {
  const isError = (index: number) => isAbout(lines[index]?.text ?? '', ERROR_LINE)
  for (let index = lines.length - 1; index >= 0; index--) if (isError(index)) return topOfBlock(index)
  const mentioned = lines.findLastIndex(({ text }) => isAbout(text, ERROR_WORD))
  return mentioned >= 0 ? mentioned : lines.findLastIndex(({ text }) => text.trim() !== '')

  function topOfBlock(from: number): number {
    let top = from
    for (let index = from - 1; index >= 0 && (isError(index) || DETAIL.test(lines[index]?.text ?? '')); index--) {
      if (isError(index)) top = index
    }
    return top
  }
}

/** Whether any line begins with an error. */
export const hasErrorLine = (lines: readonly Line[]): boolean => lines.some(({ text }) => isAbout(text, ERROR_LINE))

const isAbout = (text: string, what: RegExp): boolean => what.test(text) && !NO_CAUSE.test(text)
