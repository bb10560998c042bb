/**
 * A small terminal: what is on its screen after a program wrote to it, with the control sequences that the command line uses and
 * those of readline. Any other one is a failure of the program.
 */
import assert from 'node:assert/strict'
import { widthOf } from '../../../src/contract/index.ts'

const SEQUENCE = '\x1b\\[([0-9;?]*)([A-Za-z])'
const WHOLE = new RegExp(`^${SEQUENCE}$`)
const PIECES = new RegExp(`(${SEQUENCE.replaceAll(/[()]/g, '')}|[\r\n\x07\b])`)
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is the beginning of a sequence
const UNFINISHED = /\x1b(?:\[[0-9;?]*)?$/
const BLANK = ' '
/** The second column of a wide character. */
const CONTINUED = ''

export function createTerminalModel(columns: number, rows: number) {
  let cells: string[][] = [[]]
  let [row, column] = [0, 0]
  const modes = { wraps: true, showsCursor: true, isUpdating: false, isAlternate: false }
  let main: { cells: string[][]; row: number; column: number } | undefined
  let rest = ''
  const characters = new Intl.Segmenter()

  const lineAt = (at: number): string[] => (cells[at] ??= [])
  /** The first line that is on the screen; those before it have scrolled away. */
  const top = () => Math.max(0, cells.length - rows)

  function put(character: string) {
    const width = widthOf(character)
    if (column + width > columns) {
      if (modes.wraps) {
        row += 1
        column = 0
      } else column = columns - width
    }
    const line = lineAt(row)
    while (line.length < column) line.push(BLANK)
    line[column] = character
    if (width === 2) line[column + 1] = CONTINUED
    column = modes.wraps ? column + width : Math.min(column + width, columns)
  }

  function eraseBelow() {
    lineAt(row).splice(column)
    for (let at = row + 1; at < cells.length; at += 1) lineAt(at).length = 0
  }

  function setMode(mode: string, isOn: boolean) {
    if (mode === '?7') modes.wraps = isOn
    else if (mode === '?25') modes.showsCursor = isOn
    else if (mode === '?2026') modes.isUpdating = isOn
    else if (mode === '?1049') toAlternate(isOn)
    else assert.ok(mode === '?2004', `an unknown mode ${mode}`)
  }

  function toAlternate(isOn: boolean) {
    modes.isAlternate = isOn
    if (isOn) main = { cells, row, column }
    if (isOn) [cells, row, column] = [[[]], 0, 0]
    else if (main) ({ cells, row, column } = main)
  }

  function control(parameters: string, final: string) {
    const count = Number(parameters) || 1
    if (final === 'A') row = Math.max(top(), row - count)
    else if (final === 'B') row += count
    else if (final === 'C') column += count
    else if (final === 'D') column = Math.max(0, column - count)
    else if (final === 'G') column = count - 1
    else if (final === 'H') [row, column] = [top(), 0]
    else if (final === 'J') eraseBelow()
    else if (final === 'K') lineAt(row).splice(parameters === '2' ? 0 : column)
    else if (final === 'h' || final === 'l') setMode(parameters, final === 'h')
    else assert.equal(final, 'm', `an unknown sequence ${JSON.stringify(parameters + final)}`)
  }

  function write(text: string) {
    const all = rest + text
    // A sequence or a character may be cut in two.
    const end = UNFINISHED.exec(all)?.index ?? all.length
    rest = all.slice(end)
    for (const piece of all.slice(0, end).split(PIECES)) {
      const [, parameters = '', final = ''] = WHOLE.exec(piece) ?? []
      if (final) control(parameters, final)
      else if (piece === '\r') column = 0
      else if (piece === '\n') {
        row += 1
        lineAt(row)
      } else if (piece === '\x08') column = Math.max(0, column - 1)
      else if (piece !== '\x07') {
        assert.doesNotMatch(piece, /\p{Cc}/u, `a control character in ${JSON.stringify(piece)}`)
        for (const { segment } of characters.segment(piece)) put(segment)
      }
    }
  }

  return {
    write,
    modes,
    /** The lines of the screen and those that have scrolled away, without blanks at their ends. */
    lines: (): string[] => cells.map((line) => line.join('').trimEnd()),
    text: (): string =>
      cells
        .map((line) => line.join('').trimEnd())
        .join('\n')
        .trimEnd(),
    cursor: () => ({ row, column }),
  }
}
