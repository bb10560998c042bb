/**
 * Makes text from other sources safe for a terminal. A server, a project file, a backup or the name of a file can
 * contain sequences that move the cursor, rename the window, type in the user's place, or reverse a line. Invisible
 * characters are written as escapes: `\u009b`. JSON reads such an escape as the character itself, so text that is JSON
 * keeps its value.
 */

/** For text of several lines: a line feed stays, a tab becomes four spaces. */
export const printable = (text: string): string =>
  text
    .replaceAll(SEQUENCE, '')
    .replaceAll(/\r(?=\n|$)/g, '')
    .replaceAll('\t', '    ')
    .replaceAll(INVISIBLE, escaped)

/** For one line: every line break becomes a space, so that no part looks like a line of its own. */
export const printableLine = (text: string): string => printable(text.trimEnd().replaceAll(LINE_BREAK, ' '))

/**
 * Colours and cursor moves, which many programs write, are removed. A sequence that contains text is escaped instead:
 * removing it would hide that text, and possibly the text after it.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const SEQUENCE = /\x1b\[[0-9;:?]{0,32}[A-Za-z]/g

const LINE_BREAK = /[\n\v\f\r\u0085\u2028\u2029]+/g

/** Control characters, bidirectional marks (UAX #9), line separators, lone surrogates, and characters without width. */
const INVISIBLE = /[[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]--[\n\p{Variation_Selector}]]/gv

/** By code units, as in JSON. */
const escaped = (character: string): string =>
  Array.from({ length: character.length }, (_, at) => character.charCodeAt(at))
    .map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`)
    .join('')
