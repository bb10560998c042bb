/**
 * Writes one log, wherever its lines are stored: rising numbers, limits, and retries on a full disk. Lines that cannot be
 * written wait in memory, up to a limit, and are written later: a full disk must end neither the build nor the service.
 */
import { firstLines, type LogLine, type LogStream, numberOf, renumbered, textOf } from './line-texts.ts'

export type LineWriter = ReturnType<typeof createLineWriter>

/** Where the lines of one log are stored. A log that rotates has a newer part, which is written to, and an older part. */
export type LinePlace = {
  /** The bytes of the part that is written to. */
  bytes(): number
  /** Resolves when lines may be written: those that come until then are written together. */
  turn(): Promise<void>
  /** Lines wait that should not wait longer. */
  hurry(): void
  /** So many characters at most are written at a time, and one line more. */
  maxCharacters: number
  /**
   * Writes whole lines, numbered one by one; or rejects, and the same lines come again, with others after them. Resolves to the
   * number that the last of them got: a higher one than it had where another process wrote to the log.
   */
  append(lines: string, of: { firstTime: number; lastNumber: number }): Promise<number>
  /** If the newer part has a line from before this time, it becomes the older part, and what was the older part is removed. */
  rotateBefore(time: number): Promise<void>
  close(): Promise<void>
}

type Parts = {
  place: LinePlace
  whenFull: 'stop' | 'rotate'
  maxBytes: number
  lastNumber: number
  onWritten(): void
}

const ERRORS_REMEMBERED = 1000
const SPEAKS_OF_AN_ERROR = /\b(error|err!|failed|failure|fatal|cannot find|exception|not found)\b/i
/** How long to wait after the disk refused a line, and how many characters may wait meanwhile. */
const RETRY_MS = 1000
const MAX_UNWRITTEN_CHARACTERS = 1024 * 1024
/** Beyond this, no more lines are collected for one write. */
const MAX_COLLECTED_CHARACTERS = 64 * 1024

export function createLineWriter({ place, whenFull, maxBytes, lastNumber, onWritten }: Parts) {
  /** Of the last line that was written, and of the last one that was added. */
  let written = lastNumber
  let number = lastNumber
  let isFull = false
  let leftOut = 0
  let waiting = ''
  /** The time of the first line that waits. */
  let waitingTime: number | undefined
  let writing: Promise<void> | undefined
  let retry: NodeJS.Timeout | undefined
  /** How many callers wait until everything is written. */
  let settling = 0
  let errors: number[] = []

  function push(stream: LogStream, phase: string, line: string) {
    enqueue({ time: Date.now(), stream, phase, text: line })
    if (stream !== 'service' && errors.length < ERRORS_REMEMBERED && SPEAKS_OF_AN_ERROR.test(line)) errors.push(number)
  }

  function enqueue(line: Omit<LogLine, 'number'> | { time: number }) {
    waiting += textOf({ number: ++number, ...line })
    waitingTime ??= line.time
    if (!retry) writing ??= flush()
    if (isUrgent()) place.hurry()
  }

  /** A flood must not grow in memory while the disk is slow or full. */
  function isBehind(): boolean {
    const mayWait = retry ? MAX_UNWRITTEN_CHARACTERS : whenFull === 'rotate' ? maxBytes / 4 : Number.POSITIVE_INFINITY
    return waiting.length > mayWait
  }

  async function flush() {
    while (waiting) {
      // Lines that arrive during a write are written together in the next one.
      const turn = place.turn()
      if (isUrgent()) place.hurry()
      await turn
      const taken = firstLines(waiting, place.maxCharacters)
      const rest = waiting.slice(taken.length)
      const firstTime = waitingTime ?? Date.now()
      const last = rest === '' ? number : numberOf(rest) - 1
      waiting = rest
      waitingTime = rest === '' ? undefined : firstTime
      try {
        moveNumbers(await place.append(taken, { firstTime, lastNumber: last }), last)
      } catch {
        waiting = taken + waiting
        waitingTime = firstTime
        retry = setTimeout(tryAgain, RETRY_MS).unref()
        break
      }
      onWritten()
    }
    writing = undefined
  }

  /** Another process has written lines before these: what follows them gets higher numbers, too. */
  function moveNumbers(given: number, expected: number) {
    const by = given - expected
    if (by > 0) {
      errors = errors.map((line) => (line > written ? line + by : line))
      if (waiting) waiting = renumbered(waiting, given + 1)
      number += by
    }
    written = given
  }

  function tryAgain() {
    retry = undefined
    if (waiting) writing ??= flush()
  }

  const isUrgent = (): boolean => settling > 0 || waiting.length > MAX_COLLECTED_CHARACTERS

  async function settle() {
    settling += 1
    if (writing) place.hurry()
    while (writing) await writing
    settling -= 1
  }

  return {
    users: 0,
    add(stream: LogStream, phase: string, line: string) {
      if (isFull) return
      if (isBehind()) {
        leftOut += 1
        return
      }
      if (leftOut > 0) push('service', phase, `${leftOut} lines came too fast for the disk and were left out.`)
      leftOut = 0
      if (whenFull === 'stop' && place.bytes() + waiting.length > maxBytes) {
        isFull = true
        return push(
          'service',
          phase,
          `The log is full (${maxBytes} bytes): of what follows, only the last lines are kept.`,
        )
      }
      push(stream, phase, line)
    },
    /** A line that is no output of a program. False: lines come too fast for the disk, and it is left out. */
    addRecord(record: { time: number }): boolean {
      if (isBehind()) return false
      enqueue(record)
      return true
    },
    /** As the place does it. Lines that arrive meanwhile wait. */
    async rotateBefore(time: number) {
      await settle()
      writing = place.rotateBefore(time).finally(() => {
        writing = undefined
      })
      await writing.finally(tryAgain)
    },
    /** No more lines are taken, except for the last ones. */
    isFull: () => isFull,
    /** Writes beyond the limit of the log: the caller must limit what it adds. */
    addLast: push,
    lastNumber: () => number,
    provingLine: (since: number): number => errors.find((line) => line >= since) ?? (number >= since ? number : 0),
    /** Lines that are not stored while no write is in progress. */
    unwritten: (): string => waiting,
    /** Resolves when everything is stored, or was refused. */
    settle,
    /** After a last attempt to write. */
    async close() {
      clearTimeout(retry)
      tryAgain()
      await settle()
      clearTimeout(retry)
      await place.close()
      onWritten()
    },
  }
}
