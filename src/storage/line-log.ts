/**
 * Logs of other people's programs: numbered lines in a file, one JSON object each. A line is cleaned before it is written:
 * no secret, no terminal escape, no endless length. A log is bounded; of a log that keeps its tail, the oldest part goes
 * first and the numbers go on.
 */
import { EventEmitter } from 'node:events'
import { type FileHandle, open, readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { StringDecoder } from 'node:string_decoder'
import { stripVTControlCharacters } from 'node:util'
import { createLineWriter, type LineWriter, type LogLine, type LogStream } from './line-writer.ts'

export type { LogLine, LogStream }

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
const SECRET_LENGTH_LEAST = 4
/** How often a follower looks for lines that another process wrote. */
const FOLLOW_POLL_MS = 500

/** A name, or one on a shelf. */
const NAME = /^[A-Za-z0-9_-]+(\/[A-Za-z0-9_-]+)?$/

/** A name holds an id of a stored record: it becomes a path only after this. */
function checked(name: string): string {
  if (!NAME.test(name)) throw new Error(`not the name of a log: ${JSON.stringify(name.slice(0, 80))}`)
  return name
}

export function createLineLogs(folder: string) {
  const changes = new EventEmitter().setMaxListeners(0)
  const pathOf = (name: string) => join(folder, `${checked(name)}.log`)
  const olderOf = (name: string) => join(folder, `${checked(name)}.older.log`)

  const writers = new Map<string, Promise<LineWriter>>()

  /** Whoever writes to the same log in this process shares its file and its numbers. */
  async function create(name: string, { secrets, whenFull, bytesMost }: LineLogOptions): Promise<LineLog> {
    const opening = writers.get(name) ?? openWriter(name, whenFull, bytesMost)
    writers.set(name, opening)
    const writer = await opening.catch((error) => {
      // The next one tries anew.
      writers.delete(name)
      throw error
    })
    writer.users += 1
    const clean = createCleaner(secrets)
    const partial = { stdout: startOfLine(), stderr: startOfLine() }
    const longestSecret = Math.max(0, ...secrets.map(({ length }) => length))
    const add = (stream: LogStream, phase: string, text: string) => writer.add(stream, phase, clean(text))

    function endLines() {
      for (const stream of ['stdout', 'stderr'] as const) {
        const { text, phase, isCut } = partial[stream]
        partial[stream] = startOfLine()
        if (text && !isCut) add(stream, phase, text)
      }
    }

    return {
      say: (phase, text) => add('service', phase, text),
      write(stream, phase, chunk) {
        const state = partial[stream]
        const pieces = (state.text + state.decoder.write(chunk)).split('\n')
        state.text = pieces.pop() ?? ''
        // The rest of a line that was cut is not told: it may begin in the middle of a secret.
        const lines = state.isCut ? pieces.slice(1) : pieces
        if (pieces.length > 0) state.isCut = false
        // Space between paragraphs is for terminals.
        for (const line of lines) if (line.trim() !== '') add(stream, phase, line)
        // A line without an end must not grow in memory. A secret that begins before the cut is here as a whole.
        if (state.text.length > LINE_CHARACTERS_MOST + longestSecret) {
          if (!state.isCut) add(stream, phase, state.text)
          state.isCut = true
          state.text = ''
        }
        state.phase = phase
      },
      lastNumber: () => writer.lastNumber(),
      provingLine: (since) => writer.provingLine(since),
      async linesAfter(after) {
        endLines()
        await writer.settle()
        const unwritten = parseLines(writer.unwritten()).filter(({ number }) => number > after)
        return [...(await readLines(name, after)), ...unwritten]
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

  /** A log that cannot be opened now, because the disk is full, is opened when there is something to write. */
  async function openWriter(
    name: string,
    whenFull: LineLogOptions['whenFull'],
    bytesMost: number,
  ): Promise<LineWriter> {
    const path = pathOf(name)
    const [older, text] = await Promise.all([readOrEmpty(olderOf(name)), readOrEmpty(path)])
    const lastNumber = [...parseLines(older), ...parseLines(text)].at(-1)?.number ?? 0
    const onWritten = () => changes.emit(name)
    return createLineWriter({ path, olderPath: olderOf(name), whenFull, bytesMost, text, lastNumber, onWritten })
  }

  /** A piece at a time: a log may be as large as the memory of a small machine, and others are waiting. */
  async function* pieces(name: string, after: number): AsyncGenerator<LogLine[]> {
    let last = after
    for (const path of [olderOf(name), pathOf(name)]) {
      for await (const lines of piecesOf(path)) {
        const fresh = lines.filter(({ number }) => number > last)
        last = fresh.at(-1)?.number ?? last
        if (fresh.length > 0) yield fresh
      }
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
    /** The same, some at a time. */
    pieces,
    /** The number of the last line; 0 while there is none. */
    async lastNumber(name: string): Promise<number> {
      return (await lastLineOf(pathOf(name)))?.number ?? (await lastLineOf(olderOf(name)))?.number ?? 0
    },

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
        for await (const lines of pieces(name, last)) {
          for (const line of lines) {
            last = line.number
            yield line
          }
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

    /** The names of all logs that begin with `shelf/`. */
    async list(shelf: string): Promise<string[]> {
      const files = (await readdir(join(folder, shelf)).catch(absent)) ?? []
      const names = files.flatMap((file) => /^(.+?)(?:\.older)?\.log$/.exec(file)?.[1] ?? [])
      return [...new Set(names)].map((name) => `${shelf}/${name}`).filter((name) => NAME.test(name))
    },
    async bytesOf(name: string): Promise<number> {
      const found = await Promise.all([stat(pathOf(name)).catch(absent), stat(olderOf(name)).catch(absent)])
      return found.reduce((sum, file) => sum + (file?.size ?? 0), 0)
    },
  }
}

export type LineLogs = ReturnType<typeof createLineLogs>

const startOfLine = () => ({ text: '', phase: '', isCut: false, decoder: new StringDecoder('utf8') })

/**
 * Secrets first, then everything that would move a terminal's cursor or hide text from a reader; and secrets once more, as
 * what was taken away may have stood in the middle of one.
 */
function createCleaner(secrets: readonly string[]): (text: string) => string {
  const hidden = [...new Set(secrets.flatMap((secret) => [secret, ...secret.split('\n')]))]
    .filter((secret) => secret.trim().length >= SECRET_LENGTH_LEAST)
    .toSorted((a, b) => b.length - a.length)
  const strike = (text: string) => hidden.reduce((struck, secret) => struck.replaceAll(secret, '[secret]'), text)
  return (text) => {
    let cleaned = strike(stripVTControlCharacters(text))
    // A carriage return draws over the line: what was drawn last is what a person would have seen.
    cleaned = cleaned.replace(/\r+$/, '')
    cleaned = cleaned.slice(cleaned.lastIndexOf('\r') + 1)
    cleaned = cleaned.replaceAll(/[\p{Cc}\p{Cs}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, (c) => (c === '\t' ? c : ''))
    cleaned = strike(cleaned)
    return cleaned.length > LINE_CHARACTERS_MOST ? `${cleaned.slice(0, LINE_CHARACTERS_MOST)}… (cut)` : cleaned
  }
}

const PIECE_BYTES = 256 * 1024

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
      const buffer = Buffer.alloc(Math.min(size - position, PIECE_BYTES))
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

async function* piecesOf(path: string): AsyncGenerator<LogLine[]> {
  const tail = await openTail(path)
  if (!tail) return
  try {
    for (let lines = await tail.read(); lines.length > 0; lines = await tail.read()) yield lines
  } finally {
    await tail.close()
  }
}

/** No line is longer than this, however it is written. */
const LINE_BYTES_MOST = 128 * 1024

async function lastLineOf(path: string): Promise<LogLine | undefined> {
  const file: FileHandle | undefined = await open(path).catch(absent)
  if (!file) return undefined
  try {
    const { size } = await file.stat()
    const buffer = Buffer.alloc(Math.min(size, LINE_BYTES_MOST))
    await file.read(buffer, 0, buffer.length, size - buffer.length)
    return parseLines(buffer.toString('utf8')).at(-1)
  } finally {
    await file.close()
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
