/**
 * Lines of a live view: text in colours, as plain values. What is made of a text from others is printable before it is measured,
 * so it takes as many columns as were counted.
 */
import { printableLine } from '../../../base/index.ts'
import { widthOf } from '../../../contract/index.ts'

export type Colour = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'

export type Span = { text: string; colour?: Colour | undefined }
export type Line = readonly Span[]

/** One printable span, whatever text it is made of. */
export const span = (text: string, colour?: Colour): Span => ({
  text: printableLine(text),
  ...(colour ? { colour } : {}),
})

/** Of fixed text of this program, whose spaces at the ends count. */
export const fixed = (text: string, colour?: Colour): Span => ({ text, ...(colour ? { colour } : {}) })

export const EMPTY: Line = []

export const textOf = (line: Line): string => line.map(({ text }) => text).join('')

export const lineWidth = (line: Line): number => widthOf(textOf(line))

/** The beginning of a line that fits; a cut one ends in `…`. No character is cut in two, and none is left without its marks. */
export function cut(line: Line, columns: number): Line {
  if (lineWidth(line) <= columns) return line
  if (columns < 1) return EMPTY
  const kept: Span[] = []
  let left = columns - 1
  for (const one of line) {
    const text = beginningOf(one.text, left)
    left -= widthOf(text)
    kept.push({ ...one, text })
    if (text !== one.text) break
  }
  const last = kept.at(-1)
  return last ? [...kept.slice(0, -1), { ...last, text: `${last.text}…` }] : [{ text: '…' }]
}

const characters = new Intl.Segmenter()

function beginningOf(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text
  let [kept, width] = ['', 0]
  for (const { segment } of characters.segment(text)) {
    width += widthOf(segment)
    if (width > columns) break
    kept += segment
  }
  return kept
}

/** A text in a column of this width. */
export function padded(text: string, columns: number, side: 'left' | 'right' = 'left'): string {
  const blanks = ' '.repeat(Math.max(0, columns - widthOf(text)))
  return side === 'left' ? text + blanks : blanks + text
}
