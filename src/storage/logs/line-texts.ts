/** The text of numbered lines, one JSON object each, as it is in files, in rows and in the object store. */

/** What every line of a log has, also one that is no output of a program. */
export type NumberedLine = { number: number; time: number }
export type LogLine = { number: number; time: number; stream: LogStream; phase: string; text: string }
/** The output of a program, or a message of the service about it. */
export type LogStream = 'stdout' | 'stderr' | 'service'

/** No row of the database has more lines than this, however many bytes their characters take. */
export const MAX_CHUNK_BYTES = 2 * 1024 * 1024

export const textOf = (line: NumberedLine): string => `${JSON.stringify(line)}\n`

/** A line that is incomplete because its process died is left out. */
export function parseLines<Line extends NumberedLine>(text: string): Line[] {
  return text
    .split('\n')
    .slice(0, -1)
    .flatMap((line) => {
      try {
        return [JSON.parse(line) as Line]
      } catch (error) {
        if (error instanceof SyntaxError) return []
        throw error
      }
    })
}

/** Every line begins with its number. */
const NUMBER = /^\{"number":(\d+)/

/** The number of the first line. */
export const numberOf = (text: string): number => Number(NUMBER.exec(text)?.[1])

/** The same lines, the first of which has this number, and each the next one. */
export function renumbered(text: string, first: number): string {
  let next = first
  return text
    .split('\n')
    .map((line) => line.replace(NUMBER, () => `{"number":${next++}`))
    .join('\n')
}

/** The lines that fit, and at least one. */
export function firstLines(text: string, maxCharacters: number): string {
  if (text.length <= maxCharacters) return text
  const end = text.lastIndexOf('\n', maxCharacters) + 1
  return text.slice(0, end > 0 ? end : text.indexOf('\n') + 1)
}
