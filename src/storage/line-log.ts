/**
 * Logs of other people's programs: numbered lines in a file, one JSON object each. A line is cleaned before it is written:
 * no secret, no terminal escape, no endless length. A log is bounded; of a log that keeps its tail, the oldest part goes
 * first and the numbers go on.
 */
import { EventEmitter } from 'node:events'
import { type FileHandle, mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { StringDecoder } from 'node:string_decoder'
import { stripVTControlCharacters } from 'node:util'

export type LogLine = { number: number; time: number; stream: LogStream; phase: string; text: string }
/** What a program wrote, or what the service says about it. */
export type LogStream = 'stdout' | 'stderr' | 'service'

export type LineLogOptions = {
  /** Values that must never be written. */
  secrets: readonly string[]
  /** `stop`: what does not fit is not written, and that is said. `rotate`: the oldest half goes. */
  whenFull: 'stop' | 'rotate'
  bytesMost: number
}

export type LineLog = {
  /** One line of the service itself. */
  say(phase: string, text: string): void
  /** A piece of a program's output, cut anywhere. */
  write(stream: 'stdout' | 'stderr', phase: string, chunk: Buffer): void
  /** The number of the last line. */
  lastNumber(): number
  /** The line that shows what went wrong since a line: the first that speaks of an error, else the last; 0 for none. */
  provingLine(since: number): number
  /** The lines after this number that are kept. What a program wrote without a line end is one of them. */
  linesAfter(number: number): Promise<LogLine[]>
  /** What a program wrote without a line end is a line too. Resolves when all is in the file. */
  close(): Promise<void>
}

const LINE_CHARACTERS_MOST = 8192
const ERRORS_REMEMBERED = 1000
const SPEAKS_OF_AN_ERROR = /\b(error|err!|failed|failure|fatal|cannot find|exception|not found)\b/i
const SECRET_LENGTH_LEAST = 4
/** How often a follower looks for lines that another process wrote. */
const FOLLOW_POLL_MS = 500

export function createLineLogs(folder: string) {
  const changes = new EventEmitter().setMaxListeners(0)
  const pathOf = (name: string) => join(folder, `${name}.log`)
  const olderOf = (name: string) => join(folder, `${name}.older.log`)

  const writers = new Map<string, Promise<Writer>>()

  /** Whoever writes to the same log in this process shares its file and its numbers. */
  async function create(name: string, { secrets, whenFull, bytesMost }: LineLogOptions): Promise<LineLog> {
    const opening = writers.get(name) ?? openWriter(name, whenFull, bytesMost)
    writers.set(name, opening)
    const writer = await opening
    writer.users += 1
    const clean = createCleaner(secrets)
    const partial = { stdout: startOfLine(), stderr: startOfLine() }
    const add = (stream: LogStream, phase: string, text: string) => writer.add(stream, phase, clean(text))

    function endLines() {
      for (const stream of ['stdout', 'stderr'] as const) {
        const { text, phase } = partial[stream]
        partial[stream] = startOfLine()
        if (text) add(stream, phase, text)
      }
    }

    return {
      say: (phase, text) => add('service', phase, text),
      write(stream, phase, chunk) {
        const state = partial[stream]
        const pieces = (state.text + state.decoder.write(chunk)).split('\n')
        state.text = pieces.pop() ?? ''
        // Space between paragraphs is for terminals.
        for (const piece of pieces) if (piece.trim() !== '') add(stream, phase, piece)
        // A line without an end must not grow in memory.
        if (state.text.length > LINE_CHARACTERS_MOST) {
          if (!state.isCut) add(stream, phase, state.text)
          state.isCut = true
          state.text = ''
        } else if (pieces.length > 0) state.isCut = false
        state.phase = phase
      },
      lastNumber: () => writer.lastNumber(),
      provingLine: (since) => writer.provingLine(since),
      async linesAfter(after) {
        endLines()
        await writer.settle()
        return readLines(name, after)
      },
      async close() {
        endLines()
        writer.users -= 1
        if (writer.users === 0) writers.delete(name)
        await writer.settle()
        if (writer.users === 0) await writer.close()
      },
    }
  }

  type Writer = Awaited<ReturnType<typeof openWriter>>

  async function openWriter(name: string, whenFull: LineLogOptions['whenFull'], bytesMost: number) {
    await mkdir(dirname(pathOf(name)), { recursive: true, mode: 0o700 })
    let number = (await readLines(name, 0)).at(-1)?.number ?? 0
    let file = await open(pathOf(name), 'a', 0o600)
    let bytes = (await file.stat()).size
    let isFull = false
    let leftOut = 0
    let waiting = ''
    let writing: Promise<void> | undefined
    const errors: number[] = []

    function push(stream: LogStream, phase: string, text: string) {
      waiting += `${JSON.stringify({ number: ++number, time: Date.now(), stream, phase, text })}\n`
      if (stream !== 'service' && errors.length < ERRORS_REMEMBERED && SPEAKS_OF_AN_ERROR.test(text))
        errors.push(number)
      writing ??= flush().catch(giveUp)
    }

    async function flush() {
      // Whatever comes while one write is under way goes with the next.
      await Promise.resolve()
      while (waiting) {
        const text = waiting
        waiting = ''
        if (whenFull === 'rotate' && bytes > 0 && bytes + text.length > bytesMost / 2) await rotate()
        await file.appendFile(text)
        bytes += Buffer.byteLength(text)
        changes.emit(name)
      }
      writing = undefined
    }

    /** A log that cannot be written (a full disk, say) ends here: it must not end the build, and the service even less. */
    function giveUp() {
      isFull = true
      waiting = ''
      writing = undefined
    }

    async function rotate() {
      await file.close()
      await rename(pathOf(name), olderOf(name))
      file = await open(pathOf(name), 'a', 0o600)
      bytes = 0
    }

    return {
      users: 0,
      add(stream: LogStream, phase: string, text: string) {
        if (isFull) return
        // A flood must not grow in memory while the disk is busy.
        if (whenFull === 'rotate' && waiting.length > bytesMost / 4) {
          leftOut += 1
          return
        }
        if (leftOut > 0) push('service', phase, `${leftOut} lines came too fast and were left out.`)
        leftOut = 0
        if (whenFull === 'stop' && bytes + waiting.length > bytesMost) {
          isFull = true
          return push('service', phase, `The log is full (${bytesMost} bytes): what follows is not kept.`)
        }
        push(stream, phase, text)
      },
      lastNumber: () => number,
      provingLine: (since: number): number => errors.find((line) => line >= since) ?? (number >= since ? number : 0),
      async settle() {
        while (writing) await writing
      },
      async close() {
        await file.close()
        changes.emit(name)
      },
    }
  }

  async function readLines(name: string, after: number): Promise<LogLine[]> {
    const texts = await Promise.all([readOrEmpty(olderOf(name)), readOrEmpty(pathOf(name))])
    return texts.flatMap(parseLines).filter(({ number }) => number > after)
  }

  return {
    create,
    /** The lines after this number. */
    read: readLines,

    /** The lines after this number, and then each as it comes, until `isOver` says so and none is left. */
    async *follow(
      name: string,
      after: number,
      isOver: () => Promise<boolean>,
      signal: AbortSignal,
    ): AsyncGenerator<LogLine> {
      let last = after
      let tail = await openTail(pathOf(name))
      try {
        for (const line of await readLines(name, last)) {
          last = line.number
          yield line
        }
        while (!signal.aborted) {
          const wasOver = await isOver()
          tail ??= await openTail(pathOf(name))
          const fresh = tail ? await tail.read() : []
          for (const line of fresh) {
            if (line.number <= last) continue
            last = line.number
            yield line
          }
          if (tail && (await tail.isReplaced())) {
            await tail.close()
            tail = undefined
          } else if (fresh.length === 0) {
            if (wasOver) return
            await changed(changes, name, signal)
          }
        }
      } finally {
        await tail?.close()
      }
    },

    async remove(name: string) {
      await rm(pathOf(name), { force: true })
      await rm(olderOf(name), { force: true })
    },
  }
}

export type LineLogs = ReturnType<typeof createLineLogs>

const startOfLine = () => ({ text: '', phase: '', isCut: false, decoder: new StringDecoder('utf8') })

/** Secrets first, then everything that would move a terminal's cursor or hide text from a reader. */
function createCleaner(secrets: readonly string[]): (text: string) => string {
  const hidden = [...new Set(secrets.flatMap((secret) => [secret, ...secret.split('\n')]))]
    .filter((secret) => secret.trim().length >= SECRET_LENGTH_LEAST)
    .toSorted((a, b) => b.length - a.length)
  return (text) => {
    let cleaned = stripVTControlCharacters(text)
    for (const secret of hidden) cleaned = cleaned.replaceAll(secret, '[secret]')
    // A carriage return draws over the line: what was drawn last is what a person would have seen.
    cleaned = cleaned.replace(/\r+$/, '')
    cleaned = cleaned.slice(cleaned.lastIndexOf('\r') + 1)
    cleaned = cleaned.replaceAll(/[\p{Cc}\p{Cs}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, (c) => (c === '\t' ? c : ''))
    return cleaned.length > LINE_CHARACTERS_MOST ? `${cleaned.slice(0, LINE_CHARACTERS_MOST)}… (cut)` : cleaned
  }
}

/** Lines as they are appended to a file, by position and not from the start each time. */
async function openTail(path: string) {
  const file: FileHandle | undefined = await open(path).catch(absent)
  if (!file) return undefined
  const { ino } = await file.stat()
  let position = 0
  let rest = ''
  const decoder = new StringDecoder('utf8')
  return {
    async read(): Promise<LogLine[]> {
      const { size } = await file.stat()
      if (size <= position) return []
      const buffer = Buffer.alloc(Math.min(size - position, 1024 * 1024))
      const { bytesRead } = await file.read(buffer, 0, buffer.length, position)
      position += bytesRead
      const text = rest + decoder.write(buffer.subarray(0, bytesRead))
      const end = text.lastIndexOf('\n') + 1
      rest = text.slice(end)
      return parseLines(text.slice(0, end))
    },
    async isReplaced(): Promise<boolean> {
      const now = await stat(path).catch(absent)
      return now?.ino !== ino
    },
    close: () => file.close(),
  }
}

/** A line that a dying process wrote by half is left out. */
function parseLines(text: string): LogLine[] {
  return text
    .split('\n')
    .slice(0, -1)
    .flatMap((line) => {
      try {
        return [JSON.parse(line) as LogLine]
      } catch (error) {
        if (error instanceof SyntaxError) return []
        throw error
      }
    })
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

async function readOrEmpty(path: string): Promise<string> {
  return (await readFile(path, 'utf8').catch(absent)) ?? ''
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}
