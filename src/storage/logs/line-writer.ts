/**
 * Writes the file of one log: rising numbers, limits, and retries on a full disk. Lines that cannot be written wait in
 * memory, up to a limit, and are written later: a full disk must end neither the build nor the service.
 */
import { type FileHandle, mkdir, open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'

/** What every line of a log has, also one that is no output of a program. */
export type NumberedLine = { number: number; time: number }
export type LogLine = { number: number; time: number; stream: LogStream; phase: string; text: string }
/** The output of a program, or a message of the service about it. */
export type LogStream = 'stdout' | 'stderr' | 'service'

export type LineWriter = ReturnType<typeof createLineWriter>

type Parts = {
  path: string
  /** The file for the older part when the log is full. */
  olderPath: string
  whenFull: 'stop' | 'rotate'
  maxBytes: number
  /** The bytes in the file, and whether it ends in the middle of a line, because of a dying process or a full disk. */
  bytes: number
  isTorn: boolean
  lastNumber: number
  /** The time of the first line in the file; undefined if there is none. */
  firstTime: number | undefined
  onWritten(): void
}

const ERRORS_REMEMBERED = 1000
const SPEAKS_OF_AN_ERROR = /\b(error|err!|failed|failure|fatal|cannot find|exception|not found)\b/i
/** How long to wait after the disk refused a line, and how many characters may wait meanwhile. */
const RETRY_MS = 1000
const MAX_UNWRITTEN_CHARACTERS = 1024 * 1024

export function createLineWriter(parts: Parts) {
  const { path, olderPath, whenFull, maxBytes, lastNumber, onWritten } = parts
  let { bytes, isTorn, firstTime } = parts
  let number = lastNumber
  let file: FileHandle | undefined
  let isFull = false
  let leftOut = 0
  let waiting = ''
  /** The time of the first line that waits. */
  let waitingTime: number | undefined
  let writing: Promise<void> | undefined
  let retry: NodeJS.Timeout | undefined
  const errors: number[] = []

  function push(stream: LogStream, phase: string, line: string) {
    enqueue({ time: Date.now(), stream, phase, text: line })
    if (stream !== 'service' && errors.length < ERRORS_REMEMBERED && SPEAKS_OF_AN_ERROR.test(line)) errors.push(number)
  }

  function enqueue(line: Omit<LogLine, 'number'> | { time: number }) {
    waiting += `${JSON.stringify({ number: ++number, ...line })}\n`
    waitingTime ??= line.time
    if (!retry) writing ??= flush()
  }

  /** A flood must not grow in memory while the disk is slow or full. */
  function isBehind(): boolean {
    const mayWait = retry ? MAX_UNWRITTEN_CHARACTERS : whenFull === 'rotate' ? maxBytes / 4 : Number.POSITIVE_INFINITY
    return waiting.length > mayWait
  }

  async function flush() {
    // Lines that arrive during a write are written together in the next one.
    await Promise.resolve()
    while (waiting) {
      const [taken, time] = [waiting, waitingTime]
      waiting = ''
      waitingTime = undefined
      try {
        await append(taken, time)
      } catch {
        waiting = taken + waiting
        waitingTime = time
        retry = setTimeout(tryAgain, RETRY_MS).unref()
        break
      }
      onWritten()
    }
    writing = undefined
  }

  function tryAgain() {
    retry = undefined
    if (waiting) writing ??= flush()
  }

  async function append(lines: string, time: number | undefined) {
    file ??= await openFile()
    if (whenFull === 'rotate' && bytes > 0 && bytes + lines.length > maxBytes / 2) file = await rotate(file)
    const whole = isTorn ? `\n${lines}` : lines
    try {
      await file.appendFile(whole)
    } catch (error) {
      // A part may have been written: all of it will be written again, and must not be there twice.
      isTorn = await file.truncate(bytes).then(
        () => isTorn,
        () => true,
      )
      throw error
    }
    isTorn = false
    bytes += Buffer.byteLength(whole)
    firstTime ??= time
  }

  async function openFile(): Promise<FileHandle> {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    return open(path, 'a', 0o600)
  }

  async function rotate(full: FileHandle): Promise<FileHandle> {
    await moveAway(full)
    return openFile()
  }

  async function moveAway(full: FileHandle | undefined) {
    file = undefined
    await full?.close()
    await rename(path, olderPath)
    bytes = 0
    isTorn = false
    firstTime = undefined
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
      if (whenFull === 'stop' && bytes + waiting.length > maxBytes) {
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
    /** If the file has a line from before this time, it becomes the older part, and what was the older part is removed. */
    async rotateBefore(time: number) {
      while (writing) await writing
      if (firstTime === undefined || firstTime >= time) return
      // Lines that arrive meanwhile wait.
      writing = moveAway(file).finally(() => {
        writing = undefined
      })
      await writing
      tryAgain()
    },
    /** No more lines are taken, except for the last ones. */
    isFull: () => isFull,
    /** Writes beyond the limit of the log: the caller must limit what it adds. */
    addLast: push,
    lastNumber: () => number,
    provingLine: (since: number): number => errors.find((line) => line >= since) ?? (number >= since ? number : 0),
    /** Lines that are not in the file while no write is in progress. */
    unwritten: (): string => waiting,
    /** Resolves when everything is in the file, or the disk has refused it. */
    async settle() {
      while (writing) await writing
    },
    /** Closes the file after a last attempt to write. */
    async close() {
      clearTimeout(retry)
      tryAgain()
      while (writing) await writing
      clearTimeout(retry)
      await file?.close()
      onWritten()
    },
  }
}
