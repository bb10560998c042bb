/**
 * Logs: numbered lines in a file, one JSON object each. Most are the output of untrusted programs. A log is limited; if it
 * keeps its tail, the oldest part is removed first and the numbers continue.
 */
import { EventEmitter } from 'node:events'
import { rm } from 'node:fs/promises'
import { type Clock, systemClock } from '../../base/index.ts'
import { endOf, firstTimeOf, openTail } from './line-files.ts'
import { createLineReader } from './line-reader.ts'
import { createLineWriter, type LineWriter, type LogLine, type LogStream, type NumberedLine } from './line-writer.ts'
import { logPlacesIn } from './log-places.ts'
import { createProgramLog, type LineLog } from './program-log.ts'
import type { StoredParts } from './stored-parts.ts'

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

type WriterOptions = Pick<LineLogOptions, 'whenFull' | 'maxBytes'> & { firstNumber: number }

/**
 * All records of a log may be removed because of their age, and numbers must rise nevertheless: a reader resumes by them. There
 * is never more than one record in a millisecond, on average.
 */
const forRecords = (maxBytes: number): WriterOptions => ({ whenFull: 'rotate', maxBytes, firstNumber: Date.now() })

/** How often a follower looks for lines that another process wrote. */
const FOLLOW_POLL_MS = 500

type Options = {
  clock?: Clock
  /** Closed parts in an object store; without it, all lines are in files. */
  stored?: Pick<StoredParts, 'of' | 'fetch' | 'pieces' | 'forget' | 'list'> | undefined
}

export function createLineLogs(folder: string, { clock = systemClock, stored }: Options = {}) {
  const changes = new EventEmitter().setMaxListeners(0)
  const places = logPlacesIn(folder)
  const { pathOf, olderOf } = places
  const reader = createLineReader(places, stored)
  const { pieces, backwards } = reader

  const writers = new Map<string, Promise<LineWriter>>()
  /** Of writers that write their last lines. The next one of the same log needs their number. */
  const closings = new Map<string, Promise<void>>()

  async function create(name: string, options: LineLogOptions): Promise<LineLog> {
    const { secrets, whenFull, maxBytes, firstNumber = 1 } = options
    const writer = await enter(name, { whenFull, maxBytes, firstNumber })
    return createProgramLog({
      name,
      clock,
      writer,
      secrets,
      kind: whenFull === 'stop' ? 'build' : 'app',
      readLines: (after) => readLines(name, after),
      onClose: () => leave(name, writer),
    })
  }

  /** Writers of the same log in this process share its file and its numbers. */
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
    // An error is for the caller; the next writer opens the file anew.
    const closed = closing.catch(() => undefined)
    writers.delete(name)
    closings.set(name, closed)
    await closed
    if (closings.get(name) === closed) closings.delete(name)
    await closing
  }

  /** A log that cannot be opened now, because the disk is full, is opened when there is something to write. */
  async function openWriter(name: string, { whenFull, maxBytes, firstNumber }: WriterOptions): Promise<LineWriter> {
    const [path, olderPath] = [pathOf(name), olderOf(name)]
    const [older, newer, firstTime] = await Promise.all([endOf(olderPath), endOf(path), firstTimeOf(path)])
    return createLineWriter({
      path,
      olderPath,
      whenFull,
      maxBytes,
      ...newer,
      lastNumber: newer.lastNumber ?? older.lastNumber ?? firstNumber - 1,
      firstTime,
      onWritten: () => changes.emit(name),
    })
  }

  async function readLines(name: string, after: number): Promise<LogLine[]> {
    const lines: LogLine[] = []
    for await (const piece of pieces(name, after)) for (const line of piece) lines.push(line)
    return lines
  }

  return {
    create,

    /** For records of the service: when the log is full, the oldest half is removed. */
    async openRecords(name: string, maxBytes: number): Promise<RecordLog> {
      const writer = await enter(name, forRecords(maxBytes))
      return { add: writer.addRecord, close: () => leave(name, writer) }
    },

    /**
     * Removes lines that are older than this, in halves: at least those of the last half of this time stay, and none that is
     * older. `maxBytes` is that of `openRecords`.
     */
    async removeOld(name: string, maxAgeMs: number, maxBytes: number) {
      const now = Date.now()
      const writer = await enter(name, forRecords(maxBytes))
      try {
        await writer.rotateBefore(now - maxAgeMs / 2)
        const older = await firstTimeOf(olderOf(name))
        if (older !== undefined && older < now - maxAgeMs) await rm(olderOf(name), { force: true })
      } finally {
        await leave(name, writer)
      }
    },

    /** The lines after this number. */
    read: readLines,
    /** The same, in pieces. */
    pieces,
    backwards,
    lastNumber: reader.lastNumber,
    nextNumber: reader.nextNumber,
    fetch: reader.fetch,

    /** The lines after this number, and then each new one, until `isOver` resolves to true and none is left. */
    async *follow<Line extends NumberedLine = LogLine>(
      name: string,
      after: number,
      isOver: () => Promise<boolean>,
      signal: AbortSignal,
    ): AsyncGenerator<Line> {
      let last = after
      let tail = await openTail<Line>(pathOf(name))
      try {
        for await (const lines of pieces<Line>(name, last)) {
          for (const line of lines) {
            last = line.number
            yield line
          }
        }
        while (!signal.aborted) {
          const wasOver = await isOver()
          tail ??= await openTail<Line>(pathOf(name))
          // Asked before the last lines are read: nothing is written to a file that was replaced.
          const isReplaced = await tail?.isReplaced()
          const fresh = tail ? await tail.read() : []
          for (const line of fresh) {
            if (line.number <= last) continue
            last = line.number
            yield line
          }
          if (fresh.length > 0) continue
          if (isReplaced) {
            await tail?.close()
            tail = undefined
          } else {
            if (wasOver) return
            await changed(changes, name, signal)
          }
        }
      } finally {
        await tail?.close()
      }
    },

    async remove(name: string) {
      await stored?.forget(name)
      for (const path of [pathOf(name), olderOf(name), ...(await reader.closedOf(name))])
        await rm(path, { force: true })
    },

    /** The names of all logs in a folder, as `folder/name`. */
    async list(parent: string): Promise<string[]> {
      return [...new Set([...(await places.list(parent)), ...((await stored?.list(parent)) ?? [])])]
    },
    bytesOf: reader.bytesOf,
  }
}

export type LineLogs = ReturnType<typeof createLineLogs>

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
