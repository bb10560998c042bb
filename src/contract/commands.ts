/** The form of commands, their exit codes, and tables, as the command line shows them. */

/** 0 done; 1 the caller's or the app's fault; 2 wrong usage; 3 the service's fault or unreachable, worth a retry. */
export const EXIT = { done: 0, caller: 1, usage: 2, service: 3 } as const

export type OptionForm = {
  type: 'string' | 'boolean'
  short?: string
  multiple?: boolean
  /** The placeholder of the value in the help: `URL`. The option's name in capitals unless given. */
  value?: string
  /** It may stand alone; its text is empty then. A word after it that is no option is its value. */
  isValueOptional?: boolean
  /** All possible values; shells complete them. */
  oneOf?: readonly string[]
  describe: string
}

export type CommandForm = {
  /** As it is typed: one or two words. */
  name: string
  /** What follows the name: `NAME`, `[DIR]` if optional, `[PATH…]` for any number. */
  positionals: readonly string[]
  summary: string
  options: Record<string, OptionForm>
  /** Further notes, a line each. */
  notes?: readonly string[]
}

export type OptionValues = Record<string, string | boolean | (string | boolean)[] | undefined>

export const JSON_OPTION = { json: { type: 'boolean', describe: 'Print JSON.' } } as const

/** The command line is not valid; nothing was done. */
export class UsageError extends Error {}

/** The command cannot be carried out now, and the user can change that; nothing was done. */
export class Refused extends Error {}

/** The text of an option, or undefined if it was not given. */
export function optionText(options: OptionValues, name: string): string | undefined {
  const value = options[name]
  if (value === '') throw new UsageError(`--${name} is empty`)
  return typeof value === 'string' ? value : undefined
}

/** The text of a required option. */
export function requiredOption(options: OptionValues, name: string): string {
  const value = optionText(options, name)
  if (value === undefined) throw new UsageError(`--${name} is required`)
  return value
}

/** Rows as aligned columns, under the names of their fields. Line breaks in a cell become blanks. */
export function table(rows: readonly Record<string, string>[]): string {
  const headings = Object.keys(rows[0] ?? {})
  const lines = [
    headings.map((heading) => heading.toUpperCase()),
    ...rows.map((row) => headings.map((h) => (row[h] ?? '').replaceAll(/[\n\v\f\r\u0085\u2028\u2029]+/g, ' '))),
  ]
  const widths = headings.map((_, column) => Math.max(...lines.map((line) => widthOf(line[column] ?? ''))))
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell + ' '.repeat(Math.max(0, (widths[column] ?? 0) - widthOf(cell))))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

const NARROW = /^[\x20-\x7e]*$/
const WIDE =
  /[[\p{Emoji_Presentation}\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Bopomofo}\p{sc=Yi}\u3000-\u303e\u3200-\u33ff\uff01-\uff60\uffe0-\uffe6]--[\p{Regional_Indicator}\uff61-\uffdc]]/v
/** Marks that are drawn over the character before them; vowels and final consonants of Hangul, which complete a syllable. */
const NO_WIDTH = /[\p{M}\p{Cf}\u1160-\u11ff]/v
/** Asks for the coloured picture of a character such as `❤`, which is two columns wide. */
const AS_EMOJI = '\ufe0f'

/** How many columns of a terminal a text takes (UAX #11, as far as terminals agree). */
export function widthOf(text: string): number {
  if (NARROW.test(text)) return text.length
  let [width, last] = [0, 0]
  for (const character of text) {
    if (character === AS_EMOJI && last === 1) width += 1
    last = NO_WIDTH.test(character) ? 0 : WIDE.test(character) ? 2 : 1
    width += last
  }
  return width
}
