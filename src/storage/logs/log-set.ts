/**
 * The logs of a service, wherever their lines are stored: who writes one, and who follows it. Most lines are the output of
 * untrusted programs. A log is limited; if it keeps its tail, the oldest part is removed first and the numbers continue.
 */

import { EventEmitter } from 'node:events'
import type { Clock } from '../../base/index.ts'
import type { LogLine, LogStream, NumberedLine } from './line-texts.ts'
import { createLineWriter, type LinePlace, type LineWriter } from './line-writer.ts'
import { createProgramLog, type LineLog } from './program-log.ts'

export type { LineLog, LogLine, LogStream, NumberedLine }

/** A log whose lines are records of the service. */
export type RecordLog = {
  /** False: records come too fast for the disk, and it is left out. */
  add(record: { time: number }): boolean
  /** Resolves when everything is in the file. */
  close(): Promise<void>
}

export type LineLogOptions = {
  /** Values that must never be written. */
  secrets: readonly string[]
  /**
   * `stop`, for a build: lines that do not fit are left out, except for the last ones, and a line says so; a build that
   * writes too fast waits. `rotate`, for an app: the oldest half is removed; output that comes too fast is left out.
   */
  whenFull: 'stop' | 'rotate'
  maxBytes: number
  /** Of a log without a file. Lines with lower numbers may be in the object store. */
  firstNumber?: number
}

export type WriterOptions = Pick<LineLogOptions, 'whenFull' | 'maxBytes'> & { firstNumber: number }

/** The last lines of a log, as they are written. */
export type LogTail = {
  /** Lines that were not read yet, among them perhaps some up to this number, and whether there may be more at once. */
  read<Line extends NumberedLine>(after: number): Promise<{ lines: Line[]; isMore: boolean }>
  close(): Promise<void>
}

type LogReads = {
  /** The lines after this number, in pieces. */
  pieces<Line extends NumberedLine = LogLine>(name: string, after: number): AsyncGenerator<Line[]>
  /** The lines before this number, the last one first, one piece at a time. */
  backwards<Line extends NumberedLine>(name: string, before: number): AsyncGenerator<Line[]>
  /** The number of the last line; 0 while there is none. */
  lastNumber(name: string): Promise<number>
  /** The first number that no line in the object store has. */
  nextNumber(name: string): Promise<number>
  /** Rejects if lines after this number are in an object store that is away. */
  fetch(name: string, after: number): Promise<void>
  bytesOf(name: string): Promise<number>
  remove(name: string): Promise<void>
  /** The names of all logs in a folder, as `folder/name`. */
  list(parent: string): Promise<string[]>
}

/** Where lines are stored. */
export type LogStore = LogReads & {
  open(name: string, options: WriterOptions): Promise<{ place: LinePlace; lastNumber: number }>
  tail(name: string): Promise<LogTail>
  /** Removes the older part of a log if it has a line from before this time. */
  removeOlder(name: string, time: number): Promise<void>
}

export type LineLogs = LogReads & {
  create(name: string, options: LineLogOptions): Promise<LineLog>
  /** For records of the service: when the log is full, the oldest half is removed. */
  openRecords(name: string, maxBytes: number): Promise<RecordLog>
  /**
   * Removes lines that are older than this, in halves: at least those of the last half of this time stay, and none that is
   * older. `maxBytes` is that of `openRecords`.
   */
  removeOld(name: string, maxAgeMs: number, maxBytes: number): Promise<void>
  /** The lines after this number. */
  read(name: string, after: number): Promise<LogLine[]>
  /** The lines after this number, and then each new one, until `isOver` resolves to true and none is left. */
  follow<Line extends NumberedLine = LogLine>(
    name: string,
    after: number,
    isOver: () => Promise<boolean>,
    signal: AbortSignal,
  ): AsyncGenerator<Line>
}

/**
 * All records of a log may be removed because of their age, and numbers must rise nevertheless: a reader resumes by them. There
 * is never more than one record in a millisecond, on average.
 */
const forRecords = (maxBytes: number): WriterOptions => ({ whenFull: 'rotate', maxBytes, firstNumber: Date.now() })

/** How often a follower looks for lines that another process wrote. */
const FOLLOW_POLL_MS = 500

export function createLogSet(store: LogStore, clock: Clock): LineLogs {
  const changes = new EventEmitter().setMaxListeners(0)
  const { pieces, backwards, lastNumber, nextNumber, fetch, bytesOf, remove, list } = store

  const writers = new Map<string, Promise<LineWriter>>()
  /** Of writers that write their last lines. The next one of the same log needs their number. */
  const closings = new Map<string, Promise<void>>()

  /** Writers of the same log in this process share its place and its numbers. */
  async function enter(name: string, options: WriterOptions): Promise<LineWriter> {
    const opening = writers.get(name) ?? Promise.resolve(closings.get(name)).then(() => openWriter(name, options))
    writers.set(name, opening)
    const writer = await opening.catch((error) => {
      // The next writer tries again.
      writers.delete(name)
      throw error
    })
    writer.users += 1
    return writer
  }

  async function leave(name: string, writer: LineWriter) {
    writer.users -= 1
    if (writer.users > 0) return writer.settle()
    const closing = writer.settle().then(writer.close)
    // An error is for the caller; the next writer opens the log anew.
    const closed = closing.catch(() => undefined)
    writers.delete(name)
    closings.set(name, closed)
    await closed
    if (closings.get(name) === closed) closings.delete(name)
    await closing
  }

  async function openWriter(name: string, options: WriterOptions): Promise<LineWriter> {
    const { whenFull, maxBytes } = options
    return createLineWriter({
      ...(await store.open(name, options)),
      whenFull,
      maxBytes,
      onWritten: () => changes.emit(name),
    })
  }

  async function read(name: string, after: number): Promise<LogLine[]> {
    const lines: LogLine[] = []
    for await (const piece of pieces(name, after)) for (const line of piece) lines.push(line)
    return lines
  }

  return {
    ...{ pieces, backwards, lastNumber, nextNumber, fetch, bytesOf, remove, list, read },

    async create(name, { secrets, whenFull, maxBytes, firstNumber = 1 }) {
      const writer = await enter(name, { whenFull, maxBytes, firstNumber })
      return createProgramLog({
        name,
        clock,
        writer,
        secrets,
        kind: whenFull === 'stop' ? 'build' : 'app',
        readLines: (after) => read(name, after),
        onClose: () => leave(name, writer),
      })
    },

    async openRecords(name, maxBytes) {
      const writer = await enter(name, forRecords(maxBytes))
      return { add: writer.addRecord, close: () => leave(name, writer) }
    },

    async removeOld(name, maxAgeMs, maxBytes) {
      const now = Date.now()
      const writer = await enter(name, forRecords(maxBytes))
      try {
        await writer.rotateBefore(now - maxAgeMs / 2)
        await store.removeOlder(name, now - maxAgeMs)
      } finally {
        await leave(name, writer)
      }
    },

    async *follow<Line extends NumberedLine>(
      name: string,
      after: number,
      isOver: () => Promise<boolean>,
      signal: AbortSignal,
    ) {
      let last = after
      const tail = await store.tail(name)
      try {
        for await (const lines of pieces<Line>(name, last)) {
          for (const line of lines) {
            last = line.number
            yield line
          }
        }
        while (!signal.aborted) {
          const wasOver = await isOver()
          const { lines, isMore } = await tail.read<Line>(last)
          for (const line of lines) {
            if (line.number <= last) continue
            last = line.number
            yield line
          }
          if (isMore) continue
          if (wasOver) return
          await changed(changes, name, signal)
        }
      } finally {
        await tail.close()
      }
    },
  }
}

function changed(changes: EventEmitter, name: string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, FOLLOW_POLL_MS)
    function done() {
      clearTimeout(timer)
      changes.off(name, done)
      signal.removeEventListener('abort', done)
      resolve()
    }
    changes.once(name, done)
    signal.addEventListener('abort', done)
  })
}
