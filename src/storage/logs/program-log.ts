/**
 * The log of one program. Its output arrives in pieces that are cut anywhere; they become lines, and each line is
 * cleaned before it is written. Output that comes too fast is delayed or left out before it costs anything
 * (`output-rate.ts`). The last lines are kept even if the log is full, since the error is usually there.
 */
import { StringDecoder } from 'node:string_decoder'
import { bytesInWords, type Clock } from '../../base/index.ts'
import { doing } from '../../watchdog/index.ts'
import { type Cleaner, compileCleaner, MAX_LINE_CHARACTERS } from './clean-line.ts'
import { type LogLine, type LogStream, parseLines } from './line-texts.ts'
import type { LineWriter } from './line-writer.ts'
import { createOutputRate, OUTPUT_RATES } from './output-rate.ts'

export type LineLog = {
  /** One line of the service itself. */
  say(phase: string, text: string): void
  /**
   * A piece of a program's output, cut anywhere. If it returns a promise, nothing more may be read until that resolves.
   */
  write(stream: 'stdout' | 'stderr', phase: string, chunk: Buffer): Promise<void> | undefined
  /** The number of the last line. */
  lastNumber(): number
  /**
   * The line that shows what went wrong since a given line: the first that mentions an error, else the last; 0 for
   * none.
   */
  provingLine(since: number): number
  /** The kept lines after this number. An unfinished line is one of them. */
  linesAfter(number: number): Promise<LogLine[]>
  /** A program is about to write. */
  prepare(): Promise<void>
  /** The program has ended. While none writes, the log takes almost no memory. */
  rest(): void
  /** An unfinished line is written as a line, too. Resolves when everything is in the file. */
  close(): Promise<void>
}

type Parts = {
  name: string
  clock: Clock
  writer: LineWriter
  secrets: readonly string[]
  kind: 'build' | 'app'
  readLines(after: number): Promise<LogLine[]>
  onClose(): Promise<void>
}

type Line = { stream: LogStream; phase: string; text: string }

export async function createProgramLog(parts: Parts): Promise<LineLog> {
  const { name, clock, writer, secrets, kind } = parts
  const longestSecret = secrets.reduce((max, { length }) => Math.max(max, length), 0)
  const rate = createOutputRate({ clock, kind, onLeftOut: (bytes) => say('', leftOutInWords(bytes)) })
  const partial = { stdout: startOfLine(), stderr: startOfLine() }
  const last = createLastLines()
  const crumb = `log ${name}`
  let programs = 0
  let isResting = false
  let cleaner: Cleaner | undefined = await compileCleaner(secrets)
  let compiling: Promise<void> | undefined
  let postponed: (() => void)[] = []

  /** Runs the task now, or as soon as the cleaner is compiled. */
  function whenReady(task: () => void): Promise<void> | undefined {
    if (cleaner) {
      task()
      return undefined
    }
    postponed.push(task)
    return compile()
  }

  function compile(): Promise<void> {
    compiling ??= compileCleaner(secrets).then((made) => {
      compiling = undefined
      cleaner = made
      const tasks = postponed
      postponed = []
      for (const task of tasks) task()
      if (isResting) cleaner = undefined
    })
    return compiling
  }

  const clean = (text: string): string => (cleaner as Cleaner).clean(text)

  function add(stream: LogStream, phase: string, text: string) {
    if (writer.isFull()) last.keep({ stream, phase, text })
    else writer.add(stream, phase, clean(text))
  }

  function say(phase: string, text: string) {
    whenReady(() => add('service', phase, text))
  }

  function take(stream: 'stdout' | 'stderr', phase: string, chunk: Buffer) {
    doing(crumb)
    const state = partial[stream]
    state.phase = phase
    const text = state.decoder.write(chunk)
    // Joined when the line ends: a program that writes byte by byte would otherwise cause a copy for each byte.
    if (!text.includes('\n')) state.text += text
    else {
      const pieces = (state.text + text).split('\n')
      state.text = pieces.pop() ?? ''
      // The rest of a line that was cut is left out: it may begin in the middle of a secret.
      const lines = state.isCut ? pieces.slice(1) : pieces
      state.isCut = false
      // Empty lines are left out.
      for (const line of lines) if (line.trim() !== '') add(stream, phase, line)
    }
    // An endless line must not grow in memory. A secret that begins before the cut is complete here.
    if (state.text.length > MAX_LINE_CHARACTERS + longestSecret) {
      if (!state.isCut) add(stream, phase, state.text)
      state.isCut = true
      state.text = ''
    }
  }

  /** The whole line that contains the chunk is lost. */
  function leaveOut(stream: 'stdout' | 'stderr', phase: string, chunk: Buffer) {
    partial[stream] = { ...startOfLine(), phase, isCut: chunk.at(-1) !== LINE_END }
  }

  function endLines() {
    for (const stream of ['stdout', 'stderr'] as const) {
      const { text, phase, isCut } = partial[stream]
      partial[stream] = startOfLine()
      if (text && !isCut) add(stream, phase, text)
    }
    const { lines, leftOut } = last.take()
    if (leftOut > 0) writer.addLast('service', '', `${leftOut} lines are left out here: the log is full.`)
    for (const { stream, phase, text } of lines) writer.addLast(stream, phase, clean(text))
  }

  return {
    say,
    write(stream, phase, chunk) {
      const { isKept, waitMs } = rate.judge(chunk, writer.isFull())
      const postponing = whenReady(() => (isKept ? take : leaveOut)(stream, phase, chunk))
      return postponing ?? (waitMs > 0 ? rate.wait(waitMs) : undefined)
    },
    lastNumber: () => writer.lastNumber(),
    provingLine(since) {
      whenReady(endLines)
      return writer.provingLine(since)
    },
    async linesAfter(after) {
      await whenReady(endLines)
      await writer.settle()
      const unwritten = parseLines<LogLine>(writer.unwritten()).filter(({ number }) => number > after)
      return [...(await parts.readLines(after)), ...unwritten]
    },
    async prepare() {
      programs += 1
      isResting = false
      if (!cleaner) await compile()
    },
    rest() {
      programs -= 1
      isResting = programs === 0
      if (!isResting) return
      whenReady(endLines)
      cleaner = undefined
    },
    async close() {
      rate.close()
      // A resting log has nothing to clean, unless messages of the service wait.
      if (cleaner || postponed.length > 0) await whenReady(endLines)
      await parts.onClose()
    },
  }
}

const LINE_END = 0x0a

const startOfLine = () => ({ text: '', phase: '', isCut: false, decoder: new StringDecoder('utf8') })

const leftOutInWords = (bytes: number): string => {
  const { atOnce, perSecond } = OUTPUT_RATES.app
  return `… ${bytesInWords(bytes)} of output left out: more than ${bytesInWords(atOnce)} at once, and then ${bytesInWords(perSecond)} a second. Write less, or to a file.`
}

const MAX_LAST_CHARACTERS = 128 * 1024
/** The overhead of a line beside its text. */
const LINE_CHARACTERS = 64

/** The newest lines that fit. They are cleaned when they are taken, since most never are. */
function createLastLines() {
  let lines: Line[] = []
  let characters = 0
  let leftOut = 0
  return {
    keep(line: Line) {
      lines.push(line)
      characters += line.text.length + LINE_CHARACTERS
      while (characters > MAX_LAST_CHARACTERS && lines.length > 1) {
        characters -= (lines.shift() as Line).text.length + LINE_CHARACTERS
        leftOut += 1
      }
    },
    take(): { lines: Line[]; leftOut: number } {
      const taken = { lines, leftOut }
      lines = []
      characters = 0
      leftOut = 0
      return taken
    },
  }
}
