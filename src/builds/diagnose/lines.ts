/** Reading a log that other people's programs wrote: cleaned, without its warnings, and the line that tells the most. */
import { stripVTControlCharacters } from 'node:util'
import type { Line } from './rule.ts'

const MAX_LINES = 5000
const MAX_CHARACTERS = { line: 1000, log: 1_000_000 }
const MAX_QUOTE_CHARACTERS = 200

/** The newest lines, each short and without anything that only a terminal understands. */
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

/** A piece of the log inside a sentence. */
export function quote(text: string): string {
  const short = text.replaceAll(/\s+/g, ' ').trim()
  return short.length > MAX_QUOTE_CHARACTERS ? `${short.slice(0, MAX_QUOTE_CHARACTERS)}…` : short
}

/** What happened, in the words of the log where it has some. */
export const sentence = (what: string, said: string): string =>
  said === '' ? `${what}.` : `${what}: ${said.endsWith('…') ? said : `${said.replace(/[.,:; ]{1,5}$/, '')}.`}`

const WARNING =
  /^\s{0,4}(?:npm warn\b|npm WARN\b|warning\b|WARN\b|\[warn\]|\(!\)|⚠|▲ \[WARNING\]|info There appears to be)/
const WARNINGS_BEGIN = /^\s{0,4}(?:WARNING in |⚠ Compiled with warnings|Compiled with warnings)/
const WARNINGS_END =
  /^\s{0,4}(?:ERROR in |Failed to compile|Build error|> Build|Error|error|✓|⨯|✗|✘|×|Linting|Checking|Running|Collecting|Generating|webpack )/

/** Bundlers warn in the very words in which they fail: what stands under the head of a warning is no proof. */
export function withoutWarnings(lines: readonly Line[]): Line[] {
  let isInside = false
  return lines.map((line) => {
    if (WARNINGS_BEGIN.test(line.text)) isInside = true
    else if (isInside && WARNINGS_END.test(line.text)) isInside = false
    return isInside || WARNING.test(line.text) ? { number: line.number, text: '' } : line
  })
}

/** A line that is about an error from its first word on. */
const TELLS_AN_ERROR =
  /^[^\p{L}\p{N}]{0,12}(?:npm (?:error|ERR!) +|cause\]?: |error +|Uncaught +|Unhandled +|YN0\d{3}: [│├└┌ ]{0,6})?[^\p{L}\p{N}]{0,6}(?:[A-Za-z]{0,40}(?:Error|Exception)\b|error\b|ERROR\b|ERR!|ERR_[A-Z]|fatal\b|FATAL\b|panic\b|panicked\b|Failed\b|Cannot\b|Could not\b|Couldn't\b|Can't\b|Unable to\b|Missing\b|Invalid\b)/u
/** A line with an error somewhere in it, as in `src/main.ts(1,7): error TS2322` or `[vite:css] … failed`. */
const SPEAKS_OF_AN_ERROR = /\b(?:error|Error|ERROR|fatal|failed|Failed|failure|exception|cannot find|not found)\b/
/** Says only that something failed, after what failed has been said, or before it. */
const EMPTY_WORDS =
  /A complete log of this run|Lifecycle script|npm (?:error|ERR!) (?:code|path|workspace|location|command|errno|syscall)\b|npm (?:error|ERR!)\s*$|ELIFECYCLE|error Command failed with exit code|error: script "|Failed with errors in|Build failed in|error during build:?\s*$|Build failed with \d|Failed to compile\.?\s*$|Build error occurred|Build failed because of|Emitted 'error' event|throw er|triggerUncaughtException|Error occurred prerendering|Export encountered|build worker exited|exited with code|command failed\s*$/
/** What belongs to the error above: its stack, its frame of code, the fields of its object. */
const DETAIL = /^(?:\s|$|[>|│╭╰─}\])-]|\d{1,6} ?[|│])/

/**
 * Where the line stands that shows best what went wrong: the first of the last block that is about an error. A program says
 * what is wrong before it says where, and whoever called the program says once more that it failed. -1 for an empty log.
 */
export function provingIndex(lines: readonly Line[]): number {
  const told = (index: number) => isAbout(lines[index]?.text ?? '', TELLS_AN_ERROR)
  for (let index = lines.length - 1; index >= 0; index--) if (told(index)) return topOfBlock(index, told)
  const spoken = lines.findLastIndex(({ text }) => isAbout(text, SPEAKS_OF_AN_ERROR))
  return spoken >= 0 ? spoken : lines.findLastIndex(({ text }) => text.trim() !== '')

  function topOfBlock(from: number, isTold: (index: number) => boolean): number {
    let top = from
    for (let index = from - 1; index >= 0 && (isTold(index) || DETAIL.test(lines[index]?.text ?? '')); index--) {
      if (isTold(index)) top = index
    }
    return top
  }
}

/** Whether a line is about an error from its first word on. */
export const tellsAnError = (lines: readonly Line[]): boolean => lines.some(({ text }) => isAbout(text, TELLS_AN_ERROR))

const isAbout = (text: string, what: RegExp): boolean => what.test(text) && !EMPTY_WORDS.test(text)
