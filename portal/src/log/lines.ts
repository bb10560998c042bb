/**
 * The lines of a log received so far, in bounded memory: above the limit the oldest quarter is dropped. Line numbers
 * only rise, so lines that are sent twice, after a connection broke, are stored once.
 */

/** What a program wrote, or what the service says about it. */
export type LineStream = 'stdout' | 'stderr' | 'service'

export type Line = {
  number: number
  /** Milliseconds since 1970. */
  time: number
  stream: LineStream
  /** Of a build; empty for what a running app writes. */
  phase: string
  /** Without escape sequences and control characters: the service takes them out before it writes the line. */
  text: string
}

/** The service keeps 32 MB of a build's log. A running app can be followed for days. */
const LIMITS = { lines: 200_000, characters: 32 * 1024 * 1024 }

const TAB_COLUMNS = 8

export function createLines(max: { lines: number; characters: number } = LIMITS) {
  let kept: Line[] = []
  let characters = 0
  let last = 0
  let dropped = 0
  let generation = 0
  let longest = 0

  function dropOldest() {
    let count = 0
    while (kept.length - count > max.lines * 0.75 || characters > max.characters * 0.75) {
      characters -= kept[count]?.text.length ?? 0
      count++
    }
    kept = kept.slice(count)
    dropped += count
    generation++
  }

  return {
    append(more: readonly Line[]) {
      for (const line of more) {
        if (line.number <= last) continue
        last = line.number
        kept.push(line)
        characters += line.text.length
        const columns = line.text.includes('\t') ? line.text.length * TAB_COLUMNS : line.text.length
        if (columns > longest) longest = columns
      }
      if (kept.length > max.lines || characters > max.characters) dropOldest()
    },
    at: (index: number): Line | undefined => kept[index],
    count: (): number => kept.length,
    /** The number of the newest line: where a connection resumes. */
    last: (): number => last,
    /** How many lines were dropped. */
    dropped: (): number => dropped,
    /** Changes whenever lines are dropped: an index is valid within one generation. */
    generation: (): number => generation,
    /** Columns of the longest line so far. */
    longest: (): number => longest,
  }
}

export type Lines = ReturnType<typeof createLines>
