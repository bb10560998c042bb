/**
 * Draws lines below everything else that a command prints, and draws them again when they change. Each change is one write, as a
 * synchronized update, so a terminal never shows half of it. Only lines that differ are written. While they are drawn, lines do
 * not wrap and the cursor is hidden: a character that is wider than was counted spoils the end of its line and nothing else.
 */

export type DrawnLine = { text: string; width: number }

type Out = Pick<NodeJS.WriteStream, 'write' | 'columns'>

const ESC = '\x1b['
const [SYNC, SYNC_END] = [`${ESC}?2026h`, `${ESC}?2026l`]
const [WRAP, NO_WRAP] = [`${ESC}?7h`, `${ESC}?7l`]
const [SHOW_CURSOR, HIDE_CURSOR] = [`${ESC}?25h`, `${ESC}?25l`]
const ERASE_BELOW = `${ESC}J`
const ERASE_LINE = `${ESC}2K`

export type Screen = ReturnType<typeof createScreen>

export function createScreen(out: Out) {
  let drawn: readonly DrawnLine[] = []
  let columns = out.columns
  let isHidden = false

  const update = (text: string) => {
    if (text) out.write(`${SYNC}${text}${SYNC_END}`)
  }

  function hideCursor(): string {
    if (isHidden) return ''
    isHidden = true
    process.on('exit', remove).on('SIGTSTP', suspend)
    return HIDE_CURSOR
  }

  function showCursor(): string {
    if (!isHidden) return ''
    isHidden = false
    process.off('exit', remove).off('SIGTSTP', suspend)
    return SHOW_CURSOR
  }

  /** Ctrl-Z: the shell gets a clean screen, and the lines come back with the process. */
  function suspend() {
    const lines = drawn
    remove()
    process.once('SIGCONT', () => {
      if (drawn.length === 0) update(whole(lines))
    })
    process.kill(process.pid, 'SIGTSTP')
  }

  /** Erases the lines, and shows the cursor. */
  function remove() {
    const erased = erase()
    drawn = []
    update(`${erased}${showCursor()}`)
  }

  /** The cursor is at the end of the last line. A terminal that became narrower has wrapped those that are too long now. */
  function toTop(): string {
    const rows = drawn.reduce((sum, { width }) => sum + Math.max(1, Math.ceil(width / (out.columns || 80))), 0)
    const up = (columns === out.columns ? drawn.length : rows) - 1
    return `\r${up > 0 ? `${ESC}${up}A` : ''}`
  }

  const erase = (): string => (drawn.length > 0 ? `${toTop()}${ERASE_BELOW}` : '')

  function whole(lines: readonly DrawnLine[]): string {
    const text = `${hideCursor()}${erase()}${NO_WRAP}${lines.map(({ text }) => text).join('\r\n')}${WRAP}`
    drawn = lines
    columns = out.columns
    return text
  }

  function differences(lines: readonly DrawnLine[]): string {
    if (lines.length === drawn.length && lines.every(({ text }, at) => text === drawn[at]?.text)) return ''
    const changed = lines.map(({ text }, at) => (text === drawn[at]?.text ? '' : `${ERASE_LINE}${text}`))
    const rest = drawn.length > lines.length ? `\r\n${ERASE_BELOW}${ESC}A` : ''
    const text = `${toTop()}${NO_WRAP}${changed.join('\r\n')}${WRAP}${rest}`
    drawn = lines
    return text
  }

  return {
    show(lines: readonly DrawnLine[]) {
      update(drawn.length === 0 || columns !== out.columns ? whole(lines) : differences(lines))
    },

    /** Text above the lines, which stays. It ends with a line feed. */
    above(text: string) {
      if (drawn.length === 0) return void out.write(text)
      const lines = drawn
      const erased = erase()
      drawn = []
      update(`${erased}${text}${whole(lines)}`)
    },

    remove,
  }
}
