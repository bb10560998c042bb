/**
 * What a log shows: those of its lines that are wanted, with a heading wherever a new group begins (a phase of a build, a
 * day). Made once and carried on as lines come; begun anew only when the oldest lines have gone.
 */
import type { Line, Lines } from './lines.ts'

/** A heading has the number of the line that follows it. */
export type Heading = { group: string; number: number }
export type Row = Line | Heading

export const isHeading = (row: Row): row is Heading => 'group' in row

type Options = {
  isWanted?: ((line: Line) => boolean) | undefined
  /** Lines of the same group stand under one heading; those of the group '' under none. */
  groupOf(line: Line): string
}

export function createRows(lines: Lines, { isWanted, groupOf }: Options) {
  let rows: Row[] = []
  let taken = 0
  let generation = lines.generation()
  let group = ''

  return {
    /** Carries on from where the lines were; does nothing when nothing is new. */
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
    /** Where the line of this number stands, or the next that is shown after it; undefined after the last. */
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
