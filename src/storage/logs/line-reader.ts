/** Reads the lines of a log wherever they are: in its files, and in the parts of it that are in an object store. */

import { stat } from 'node:fs/promises'
import { absent } from '../../base/index.ts'
import { endOf, openTail, piecesBackwards, type Tail } from './line-files.ts'
import type { LogLine, NumberedLine } from './line-texts.ts'
import type { LogPlaces } from './log-places.ts'
import type { StoredPart, StoredParts } from './stored-parts.ts'

/** `first`: the number of its first line. */
type OpenFile<Line extends NumberedLine> = { tail: Tail<Line>; first: number }

export function createLineReader(places: LogPlaces, stored: Pick<StoredParts, 'of' | 'fetch' | 'pieces'> | undefined) {
  const { pathOf, olderOf } = places

  const closedOf = async (name: string): Promise<string[]> => (stored ? places.closedOf(name) : [])
  const storedOf = async (name: string): Promise<StoredPart[]> => (await stored?.of(name)) ?? []

  /**
   * The files of a log, opened. The newest is opened first, since lines only move to older files and from there to the store:
   * none can be missed. Those that are read twice have the same numbers.
   */
  async function openFiles<Line extends NumberedLine>(name: string): Promise<OpenFile<Line>[]> {
    const opened: OpenFile<Line>[] = []
    async function open(path: string) {
      const tail = await openTail<Line>(path)
      if (!tail) return
      const file = { tail, first: Number.POSITIVE_INFINITY }
      opened.push(file)
      file.first = (await tail.firstNumber()) ?? file.first
    }
    try {
      for (const path of [pathOf(name), olderOf(name)]) await open(path)
      for (const path of await closedOf(name)) await open(path)
    } catch (error) {
      await closeAll(opened)
      throw error
    }
    return opened.toSorted((a, b) => a.first - b.first)
  }

  /** Parts of which not all lines after this number are in the files. */
  const missingIn = (files: readonly { first: number }[], parts: readonly StoredPart[], after: number): StoredPart[] =>
    parts.filter(({ firstNumber, lastNumber }) => lastNumber > after && firstNumber < (files[0]?.first ?? Infinity))

  /** One piece at a time: a log may be as large as the memory of a small machine, and other requests wait. */
  async function* pieces<Line extends NumberedLine = LogLine>(name: string, after: number): AsyncGenerator<Line[]> {
    let last = after
    const files = await openFiles<Line>(name)
    function fresh(lines: Line[]): Line[] {
      const found = lines.filter(({ number }) => number > last)
      last = found.at(-1)?.number ?? last
      return found
    }
    try {
      for (const part of missingIn(files, await storedOf(name), after)) {
        for await (const lines of stored?.pieces<Line>(part) ?? []) yield* nonEmpty(fresh(lines))
      }
      for (const { tail } of files) {
        for (let lines = await tail.read(); lines.length > 0; lines = await tail.read()) yield* nonEmpty(fresh(lines))
      }
    } finally {
      await closeAll(files)
    }
  }

  /** The lines before this number, the last one first, one piece at a time. */
  async function* backwards<Line extends NumberedLine>(name: string, before: number): AsyncGenerator<Line[]> {
    let last = before
    for (const path of [pathOf(name), olderOf(name)]) {
      for await (const lines of piecesBackwards<Line>(path)) {
        const earlier = lines.filter(({ number }) => number < last)
        last = earlier.at(-1)?.number ?? last
        if (earlier.length > 0) yield earlier
      }
    }
  }

  return {
    pieces,
    backwards,
    closedOf,

    /** The number of the last line; 0 while there is none. */
    async lastNumber(name: string): Promise<number> {
      const inFiles = (await endOf(pathOf(name))).lastNumber ?? (await endOf(olderOf(name))).lastNumber
      return inFiles ?? (await storedOf(name)).at(-1)?.lastNumber ?? 0
    },
    /** The first number that no line in the object store has. */
    async nextNumber(name: string): Promise<number> {
      return ((await storedOf(name)).at(-1)?.lastNumber ?? 0) + 1
    },
    /** Rejects if lines after this number are in an object store that is away. */
    async fetch(name: string, after: number) {
      const parts = await storedOf(name)
      if (parts.length === 0) return
      const files = await openFiles(name)
      await closeAll(files)
      for (const part of missingIn(files, parts, after)) await stored?.fetch(part)
    },

    async bytesOf(name: string): Promise<number> {
      const paths = [pathOf(name), olderOf(name), ...(await closedOf(name))]
      const files = await Promise.all(paths.map(async (path) => (await stat(path).catch(absent))?.size ?? 0))
      const inStore = (await storedOf(name)).map(({ bytes }) => bytes)
      return [...files, ...inStore].reduce((sum, bytes) => sum + bytes, 0)
    },
  }
}

async function closeAll(files: readonly { tail: { close(): Promise<void> } }[]) {
  for (const { tail } of files) await tail.close()
}

function* nonEmpty<Line>(lines: Line[]): Generator<Line[]> {
  if (lines.length > 0) yield lines
}
