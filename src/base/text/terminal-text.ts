/**
 * Text of others, as a terminal may be given it. A server, a project file, a backup or the name of a file can hold
 * sequences that move the cursor, rename the window, answer in the user's place, or turn a line round. What cannot be seen
 * is written as an escape that can: `\u009b`. JSON reads such an escape as the character itself, so text that is JSON
 * stays the same value.
 */

/** Of several lines: a line feed stays one, a tab is four spaces. */
export const printable = (text: string): string =>
  text
    .replaceAll(SEQUENCE, '')
    .replaceAll(/\r(?=\n|$)/g, '')
    .replaceAll('\t', '    ')
    .replaceAll(INVISIBLE, escaped)

/** Of one line: whatever breaks a line is a space, so that nothing pretends to be a line of its own. */
export const printableLine = (text: string): string => printable(text.trimEnd().replaceAll(LINE_BREAK, ' '))

/**
 * Colours and moves of the cursor, which programs write by habit, are taken out. A sequence with a text in it is not: the
 * text would be hidden, and where another text follows it, that too.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const SEQUENCE = /\x1b\[[0-9;:?]{0,32}[A-Za-z]/g

const LINE_BREAK = /[\n\v\f\r\u0085\u2028\u2029]+/g

/** Controls, marks of direction (UAX #9), separators of lines, halves of a pair, and what has no width. */
const INVISIBLE = /[[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]--[\n\p{Variation_Selector}]]/gv

/** By code units, as JSON has them. */
const escaped = (character: string): string =>
  Array.from({ length: character.length }, (_, at) => character.charCodeAt(at))
    .map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`)
    .join('')
