/**
 * The position of each row of a log, counted in lines of text, without rendering more than a screenful. A row is one
 * line high, or, where lines wrap, as high as its text needs at this width. This is an estimate; where the browser
 * measures another height, for wide characters, it is corrected. Sums are kept for blocks of rows, so that a position
 * in 100,000 rows is found in a few hundred steps and a row can be added or corrected in two.
 */
import { isHeading, type Rows } from './rows.ts'

const BLOCK = 256
const TAB_COLUMNS = 8
/** Tabs, and characters that may be wider or narrower than a column. */
const UNEVEN = /[^ -\u02ff]/
/** Scripts of East Asia and emoji, roughly (Unicode, annex 11). */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\u{1f000}-\u{3fffd}]/u

/** How many lines a text takes that may be broken anywhere. */
export function linesOf(text: string, columns: number): number {
  if (columns <= 0) return 1
  const width = UNEVEN.test(text) ? unevenWidth(text) : text.length
  return Math.max(1, Math.ceil(width / columns))
}

function unevenWidth(text: string): number {
  let width = 0
  for (const character of text) {
    if (character === '\t') width += TAB_COLUMNS - (width % TAB_COLUMNS)
    else width += WIDE.test(character) ? 2 : 1
  }
  return width
}

export function createLayout(rows: Rows) {
  let heights: number[] = []
  let blocks: number[] = []
  let total = 0
  let generation = rows.generation()
  let width = 0

  function add(height: number) {
    const block = Math.floor(heights.length / BLOCK)
    blocks[block] = (blocks[block] ?? 0) + height
    heights.push(height)
    total += height
  }

  return {
    /** Adds new rows; `columns` is 0 where lines do not wrap. Returns true when all rows were laid out anew. */
    update(columns: number): boolean {
      rows.update()
      const isAnew = columns !== width || generation !== rows.generation()
      if (isAnew) {
        ;[heights, blocks, total, width, generation] = [[], [], 0, columns, rows.generation()]
      }
      for (let index = heights.length; index < rows.count(); index++) {
        const row = rows.at(index)
        add(!row || isHeading(row) ? 1 : linesOf(row.text, columns))
      }
      return isAnew
    },
    /** Returns true when the height differs from the known one. */
    correct(index: number, height: number): boolean {
      const before = heights[index]
      if (before === undefined || before === height) return false
      const block = Math.floor(index / BLOCK)
      blocks[block] = (blocks[block] ?? 0) + height - before
      heights[index] = height
      total += height - before
      return true
    },
    total: (): number => total,
    topOf(index: number): number {
      const block = Math.floor(index / BLOCK)
      let top = 0
      for (let each = 0; each < block; each++) top += blocks[each] ?? 0
      for (let each = block * BLOCK; each < index; each++) top += heights[each] ?? 0
      return top
    },
    /** The row at this position; the last row for any position below the end. */
    at(place: number): number {
      let [top, block] = [0, 0]
      while (block < blocks.length - 1 && top + (blocks[block] ?? 0) <= place) top += blocks[block++] ?? 0
      let index = block * BLOCK
      while (index < heights.length - 1 && top + (heights[index] ?? 0) <= place) top += heights[index++] ?? 0
      return index
    },
  }
}

export type Layout = ReturnType<typeof createLayout>
