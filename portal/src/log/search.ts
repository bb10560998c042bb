/** Finds the lines of a log that contain a text, ignoring case. The result is extended as lines arrive. */
import { isHeading, type Rows } from './rows.ts'

const patternOf = (query: string, flags: string): RegExp =>
  new RegExp(query.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'), flags)

export function createSearch(rows: Rows, query: string) {
  const pattern = query === '' ? undefined : patternOf(query, 'i')
  let found: number[] = []
  let looked = 0
  let generation = rows.generation()

  return {
    update() {
      if (!pattern) return
      if (generation !== rows.generation()) {
        ;[found, looked, generation] = [[], 0, rows.generation()]
      }
      for (; looked < rows.count(); looked++) {
        const row = rows.at(looked)
        if (row && !isHeading(row) && pattern.test(row.text)) found.push(row.number)
      }
    },
    count: (): number => found.length,
    /** The position of this line among the matches, from 1; 0 when it is not a match. */
    placeOf: (number: number): number => found.indexOf(number) + 1,
    /** The number of the next matching line after or before this one; the search wraps around at the ends. */
    next(from: number, direction: 1 | -1): number | undefined {
      const after = found.findIndex((number) => number > from)
      if (direction === 1) return after < 0 ? found[0] : found[after]
      const before = found.findLast((number) => number < from)
      return before ?? found.at(-1)
    },
  }
}

export type Search = ReturnType<typeof createSearch>

/** A line can contain a letter a thousand times: at most this many marks are drawn in one line. */
const MAX_MARKS = 100

export type Piece = { text: string; isFound: boolean }

/** The text in pieces, in order, so that what was looked for can be marked. */
export function piecesOf(text: string, query: string): Piece[] {
  if (query === '') return [{ text, isFound: false }]
  const pieces: Piece[] = []
  let at = 0
  for (const { index, 0: found } of text.matchAll(patternOf(query, 'gi'))) {
    if (index > at) pieces.push({ text: text.slice(at, index), isFound: false })
    pieces.push({ text: found, isFound: true })
    at = index + found.length
    if (pieces.length >= MAX_MARKS * 2) break
  }
  if (at < text.length || pieces.length === 0) pieces.push({ text: text.slice(at), isFound: false })
  return pieces
}
