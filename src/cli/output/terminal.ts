/**
 * Output and questions. Data goes to stdout, and text for people to stderr, so that a pipe gets data alone. Colours, progress
 * bars and questions need a terminal. Every text goes out through `printable`, so no control character reaches a terminal but
 * those that are written here.
 */
import { randomUUID } from 'node:crypto'
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { inspect } from 'node:util'
import { printable, printableLine } from '../../base/index.ts'
import { EXIT } from '../../contract/index.ts'

export type Colour = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'

export type Terminal = {
  /** Whether a user at a terminal can answer questions. */
  isInteractive: boolean
  /** Whether stdout is a terminal, and not a pipe to another program. */
  isShown: boolean
  columns(): number
  /** A line of data. */
  print(text: string): void
  /** Data as it is for a pipe; on a terminal only what is printable. */
  write(data: Uint8Array): Promise<void>
  /** A line for people. */
  say(text: string): void
  paint(colour: Colour, text: string): string
  /** A status line below everything else, overwritten each time; undefined removes it. Does nothing without a terminal. */
  status(text: string | undefined): void
  ask(question: string, hidden?: { isHidden: true }): Promise<string>
}

type Streams = { input: NodeJS.ReadStream; output: NodeJS.WriteStream; words: NodeJS.WriteStream }

/** `isPlain`: the streams are not treated as a terminal, even if they are one. */
export function createTerminal({ input, output, words }: Streams, { isPlain }: { isPlain: boolean }): Terminal {
  // The reader of a pipe has closed it, as `head` does: there is nothing left to do.
  for (const stream of [output, words]) stream.on('error', () => process.exit(EXIT.caller))
  const isInteractive = !isPlain && input.isTTY === true && words.isTTY === true
  const isShown = !isPlain && output.isTTY === true
  const hasColour = isShown && words.isTTY === true && words.hasColors()
  const columns = () => words.columns || 80
  const decoder = new TextDecoder()
  let shown: string | undefined

  const clear = () => {
    if (shown !== undefined) words.write('\r\x1b[K')
  }
  const draw = () => {
    if (shown !== undefined) words.write(shown)
  }
  const line = (stream: NodeJS.WriteStream, text: string) => {
    clear()
    stream.write(`${shownAs(text)}\n`)
    draw()
  }

  return {
    isInteractive,
    isShown,
    columns,
    print: (text) => line(output, text),
    write(data) {
      clear()
      const shownData = isShown ? printable(decoder.decode(data, { stream: true })) : data
      return new Promise((resolve) => output.write(shownData, () => resolve()))
    },
    say: (text) => line(words, text),
    paint: (colour, text) => (hasColour ? `${markOf(colour, 0)}${text}${markOf(colour, 1)}` : text),
    status(text) {
      if (!isInteractive) return
      const line = text === undefined ? undefined : printableLine(text)
      // A line that wraps could not be removed again.
      const next = line === undefined || line.length < columns() ? line : `${line.slice(0, columns() - 2)}…`
      if (next === shown) return
      clear()
      shown = next
      draw()
    },
    async ask(asked, hidden) {
      const question = shownAs(asked)
      if (!isInteractive) throw new Error(`There is no terminal to answer: ${question}`)
      clear()
      shown = undefined
      // Readline itself echoes what is typed; with an output that discards everything there is no echo.
      const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
      const lines = createInterface({ input, output: hidden ? nowhere : words, terminal: true })
      const isGone = Promise.withResolvers<never>()
      // Ctrl-C and Ctrl-D end the question, and with it the command.
      const onGone = () => {
        if (!hidden) words.write('\n')
        isGone.reject(new Interrupted())
      }
      lines.once('SIGINT', onGone)
      lines.once('close', onGone)
      try {
        if (hidden) words.write(question)
        return (await Promise.race([lines.question(hidden ? '' : question), isGone.promise])).trim()
      } finally {
        isGone.promise.catch(() => undefined)
        lines.off('SIGINT', onGone).off('close', onGone)
        lines.close()
        if (hidden) words.write('\n')
      }
    },
  }
}

/** Marks the start and the end of a colour until the text is written. It is random, so that no other text can contain it. */
const MARK = randomUUID()
const MARKS = new RegExp(`${MARK}<(\\d+)>`)

const markOf = (colour: Colour, side: 0 | 1): string => `${MARK}<${inspect.colors[colour]?.[side]}>`

/** Splitting by a pattern with one group alternates text and the numbers of the marks. */
const shownAs = (text: string): string =>
  text
    .split(MARKS)
    .map((piece, index) => (index % 2 === 0 ? printable(piece) : `\x1b[${piece}m`))
    .join('')

/** The user declined, or interrupted the command. */
export class Interrupted extends Error {
  constructor() {
    super('Stopped. Nothing further was done.')
  }
}
