/**
 * The file of one log, as its writer sees it: numbers that rise, a bound, and patience with a disk that is full. What cannot
 * be written waits in memory, up to a bound of its own, and is written when it can be: it must not end a build, and the
 * service even less.
 */
import { type FileHandle, mkdir, open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'

export type LogLine = { number: number; time: number; stream: LogStream; phase: string; text: string }
/** What a program wrote, or what the service says about it. */
export type LogStream = 'stdout' | 'stderr' | 'service'

export type LineWriter = ReturnType<typeof createLineWriter>

type Parts = {
  path: string
  /** Where the oldest part goes when the log is full. */
  olderPath: string
  whenFull: 'stop' | 'rotate'
  maxBytes: number
  /** What is in the file already, and whether it ends in the middle of a line, which a dying process or a full disk left. */
  bytes: number
  isTorn: boolean
  lastNumber: number
  onWritten(): void
}

const ERRORS_REMEMBERED = 1000
const SPEAKS_OF_AN_ERROR = /\b(error|err!|failed|failure|fatal|cannot find|exception|not found)\b/i
/** How long to leave a disk alone that refused a line, and how much waits for it. */
const RETRY_MS = 1000
const MAX_UNWRITTEN_CHARACTERS = 1024 * 1024

export function createLineWriter(parts: Parts) {
  const { path, olderPath, whenFull, maxBytes, lastNumber, onWritten } = parts
  let { bytes, isTorn } = parts
  let number = lastNumber
  let file: FileHandle | undefined
  let isFull = false
  let leftOut = 0
  let waiting = ''
  let writing: Promise<void> | undefined
  let retry: NodeJS.Timeout | undefined
  const errors: number[] = []

  function push(stream: LogStream, phase: string, line: string) {
    waiting += `${JSON.stringify({ number: ++number, time: Date.now(), stream, phase, text: line })}\n`
    if (stream !== 'service' && errors.length < ERRORS_REMEMBERED && SPEAKS_OF_AN_ERROR.test(line)) errors.push(number)
    if (!retry) writing ??= flush()
  }

  async function flush() {
    // Whatever comes while one write is under way goes with the next.
    await Promise.resolve()
    while (waiting) {
      const taken = waiting
      waiting = ''
      try {
        await append(taken)
      } catch {
        waiting = taken + waiting
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

  async function append(lines: string) {
    file ??= await openFile()
    if (whenFull === 'rotate' && bytes > 0 && bytes + lines.length > maxBytes / 2) file = await rotate(file)
    const whole = isTorn ? `\n${lines}` : lines
    try {
      await file.appendFile(whole)
    } catch (error) {
      // Some of it may be there: it will be written once more, and must not stand there twice.
      isTorn = await file.truncate(bytes).then(
        () => isTorn,
        () => true,
      )
      throw error
    }
    isTorn = false
    bytes += Buffer.byteLength(whole)
  }

  async function openFile(): Promise<FileHandle> {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    return open(path, 'a', 0o600)
  }

  async function rotate(full: FileHandle): Promise<FileHandle> {
    file = undefined
    await full.close()
    await rename(path, olderPath)
    bytes = 0
    isTorn = false
    return openFile()
  }

  return {
    users: 0,
    add(stream: LogStream, phase: string, line: string) {
      if (isFull) return
      // A flood must not grow in memory while the disk is busy, or refuses.
      const mayWait = retry ? MAX_UNWRITTEN_CHARACTERS : whenFull === 'rotate' ? maxBytes / 4 : Number.POSITIVE_INFINITY
      if (waiting.length > mayWait) {
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
    /** Nothing more is taken, except for last lines. */
    isFull: () => isFull,
    /** Beyond what the log may hold: whoever adds has to know a bound. */
    addLast: push,
    lastNumber: () => number,
    provingLine: (since: number): number => errors.find((line) => line >= since) ?? (number >= since ? number : 0),
    /** What is not in the file, though nobody is writing it. */
    unwritten: (): string => waiting,
    /** Resolves when all is in the file, or the disk has refused it. */
    async settle() {
      while (writing) await writing
    },
    /** After a last attempt. */
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
