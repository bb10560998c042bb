/**
 * The rows that a log shows: the lines that pass the filter, with a heading where a new group begins (a phase of a
 * build, a day). Rows are appended as lines arrive, and built anew only when the oldest lines were dropped.
 */
import type { Line, Lines } from './lines.ts'

/** A heading has the number of the line that follows it. */
export type Heading = { group: string; number: number }
export type Row = Line | Heading

export const isHeading = (row: Row): row is Heading => 'group' in row

type Options = {
  isWanted?: ((line: Line) => boolean) | undefined
  /** Lines of the same group share one heading; the group '' has none. */
  groupOf(line: Line): string
}

export function createRows(lines: Lines, { isWanted, groupOf }: Options) {
  let rows: Row[] = []
  let taken = 0
  let generation = lines.generation()
  let group = ''

  return {
    /** Appends rows for lines that are new; does nothing when there are none. */
    update() {
      if (generation !== lines.generation()) {
        generation = lines.generation()
        rows = []
        taken = 0
        group = ''
      }
      for (; taken < lines.count(); taken++) {
        const line = lines.at(taken)
        if (!line || (isWanted && !isWanted(line))) continue
        const its = groupOf(line)
        if (its !== group && its !== '') rows.push({ group: its, number: line.number })
        group = its
        rows.push(line)
      }
    },
    at: (index: number): Row | undefined => rows[index],
    count: (): number => rows.length,
    generation: (): number => generation,
    /** The row of the line with this number, or of the next line shown after it; undefined after the last. */
    indexOf(number: number): number | undefined {
      let [from, to] = [0, rows.length]
      while (from < to) {
        const middle = (from + to) >> 1
        const row = rows[middle] as Row
        if (row.number < number || (row.number === number && isHeading(row))) from = middle + 1
        else to = middle
      }
      return from < rows.length ? from : undefined
    },
    has(number: number): boolean {
      const index = this.indexOf(number)
      return index !== undefined && rows[index]?.number === number
    },
  }
}

export type Rows = ReturnType<typeof createRows>
