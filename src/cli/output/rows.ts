/**
 * Prints the result of a command: as columns for people, or as the API's JSON with `--json`. A list of the API is printed as one
 * array, whatever number of pages it had.
 */
import { printableLine } from '../../base/index.ts'
import { table, widthOf } from '../../contract/index.ts'
import type { ClientCall } from '../command.ts'
import type { Terminal } from './terminal.ts'

export { bytesInWords as sizeOf } from '../../base/index.ts'

export type Row = Record<string, string>

type ListForm<T> = {
  row: (item: T) => Row
  empty: string
  narrow?: Narrow
}

/** For a terminal that is too narrow: the columns that can be shortened, and those that are left out, each in this order. */
export type Narrow = { shortened: readonly string[]; leftOut: readonly string[] }

const WIDE: Narrow = { shortened: [], leftOut: [] }

/** The rows under their headings; where there are none, a hint for people on what to do next. */
export function printList<T>(
  { terminal, options }: Pick<ClientCall, 'terminal' | 'options'>,
  items: readonly T[],
  { row, empty, narrow = WIDE }: ListForm<T>,
) {
  if (options.json) return terminal.print(JSON.stringify(items))
  if (items.length === 0) return terminal.say(empty)
  terminal.print(tableFor(terminal, items.map(row), narrow))
}

/** A program gets every column as it is. A person gets no empty columns, and lines that do not wrap. */
export function tableFor(
  terminal: Pick<Terminal, 'isShown' | 'columns'>,
  rows: readonly Row[],
  narrow: Narrow = WIDE,
): string {
  const all = rows.map(cells)
  if (!terminal.isShown) return table(all)
  const names = Object.keys(all[0] ?? {}).filter((name) => all.some((row) => row[name] !== ''))
  return table(
    fitted(
      all.map((row) => pick(row, names)),
      terminal.columns(),
      narrow,
    ),
  )
}

const GAP = 2
/** A narrower column would be useless. */
const SHORTEST = 12

function fitted(rows: readonly Row[], columns: number, { shortened: short, leftOut }: Narrow): Row[] {
  let shown: Row[] = [...rows]
  const excess = (min = Number.POSITIVE_INFINITY) =>
    widthsOf(shown).reduce(
      (sum, [name, width]) => sum + GAP + (short.includes(name) ? Math.min(width, min) : width),
      -GAP,
    ) - columns
  for (const name of leftOut) {
    if (excess(SHORTEST) > 0) shown = shown.map(({ [name]: _, ...row }) => row)
  }
  for (const name of short) {
    const width = new Map(widthsOf(shown)).get(name) ?? 0
    const next = Math.max(SHORTEST, width - Math.max(0, excess()))
    if (next < width) shown = shown.map((row) => ({ ...row, [name]: shortened(row[name] ?? '', next) }))
  }
  return shown
}

const widthsOf = (rows: readonly Row[]): [name: string, width: number][] =>
  Object.keys(rows[0] ?? {}).map((name) => [
    name,
    Math.max(name.length, ...rows.map((row) => widthOf(row[name] ?? ''))),
  ])

const pick = (row: Row, names: readonly string[]): Row =>
  Object.fromEntries(names.map((name) => [name, row[name] ?? '']))

function shortened(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text
  let [kept, width] = ['', 0]
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    width += widthOf(segment)
    if (width > columns - 1) break
    kept += segment
  }
  return `${kept.trimEnd()}…`
}

/** The API's response with `--json`, and otherwise one line for people. */
export function printResult(
  { terminal, options }: Pick<ClientCall, 'terminal' | 'options'>,
  answer: unknown,
  words: string,
) {
  if (options.json) terminal.print(JSON.stringify(answer))
  else terminal.say(printableLine(words))
}

/** One thing, a fact to a line; what is not known is left out. */
export function factsOf(facts: Record<string, string | undefined>): string {
  const known = Object.entries(facts).flatMap(([name, fact]) => (fact ? [[name, fact] as const] : []))
  const width = Math.max(0, ...known.map(([name]) => name.length))
  return known.map(([name, fact]) => `${name.padEnd(width)}  ${printableLine(fact).trim()}`).join('\n')
}

/** One printable line, whatever text of others it contains. */
export const oneLine = (text: string): string => printableLine(text.replaceAll(/\s+/g, ' ').trim())

const cells = (row: Row): Row => Object.fromEntries(Object.entries(row).map(([name, text]) => [name, oneLine(text)]))

/** For people how long ago it was, and for programs the time itself. */
export function when(terminal: Pick<Terminal, 'isShown'>, time: string | undefined, now = Date.now()): string {
  if (!time || !terminal.isShown) return time ?? ''
  const seconds = Math.round((now - Date.parse(time)) / 1000)
  // The clocks of two machines differ a little.
  if (seconds < 5) return 'just now'
  if (seconds < 90) return `${seconds} s ago`
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min ago`
  if (seconds < 36 * 3600) return `${Math.round(seconds / 3600)} h ago`
  if (seconds < 60 * 86_400) return `${Math.round(seconds / 86_400)} days ago`
  return time.slice(0, 10)
}
