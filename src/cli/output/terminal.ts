/**
 * Output and questions. Data goes to stdout, and text for people to stderr, so that a pipe gets data alone. Colours, live views
 * and questions need a terminal. Every text goes out through `printable`, so no control character reaches a terminal but those
 * that are written here and in `live/screen.ts`.
 */
import { randomUUID } from 'node:crypto'
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { inspect } from 'node:util'
import { printable } from '../../base/index.ts'
import { EXIT } from '../../contract/index.ts'
import { type Colour, cut, type Line, lineWidth, span } from './live/lines.ts'
import { createScreen } from './live/screen.ts'

export type Terminal = {
  /** Whether a user at a terminal can answer questions. */
  isInteractive: boolean
  /** Whether stdout is a terminal, and not a pipe to another program. */
  isShown: boolean
  /** Whether stderr is a terminal on which lines can be drawn again. */
  isDrawn: boolean
  columns(): number
  rows(): number
  /** A line of data. */
  print(text: string): void
  /** Data as it is for a pipe; on a terminal only what is printable. */
  write(data: Uint8Array): Promise<void>
  /** A line for people. */
  say(text: string): void
  paint(colour: Colour, text: string): string
  /** Lines below everything else, drawn anew each time; undefined removes them. Does nothing without a terminal. */
  draw(lines: readonly Line[] | undefined): void
  /** The same of one line. */
  status(text: string | undefined): void
  /** Each key that is typed, without showing it, until the returned function is called. */
  listen(onKey: (key: string) => void): () => void
  ask(question: string, hidden?: { isHidden: true }): Promise<string>
}

type Streams = { input: NodeJS.ReadStream; output: NodeJS.WriteStream; words: NodeJS.WriteStream }

type Kind = {
  /** The streams are not treated as a terminal, even if they are one. */
  isPlain: boolean
  /** It cannot move its cursor. */
  isDumb?: boolean
  /** What the user wants, whatever the terminal can do. */
  colour?: boolean | undefined
}

const MIN_ROWS = 4

export function createTerminal({ input, output, words }: Streams, kind: Kind): Terminal {
  const { isPlain, isDumb = false } = kind
  // The reader of a pipe has closed it, as `head` does: there is nothing left to do.
  for (const stream of [output, words]) stream.on('error', () => process.exit(EXIT.caller))
  const isInteractive = !isPlain && input.isTTY === true && words.isTTY === true
  const isShown = !isPlain && output.isTTY === true
  const isDrawn = !isPlain && !isDumb && words.isTTY === true
  const canColour = kind.colour ?? (words.isTTY === true && words.hasColors())
  // Data in a pipe is never coloured. Words are where a user insists on it, as in the log of a CI.
  const inColour = {
    output: isShown && words.isTTY === true && canColour,
    words: kind.colour === true || (!isPlain && words.isTTY === true && canColour),
  }
  const columns = () => words.columns || 80
  const rows = () => Math.max(MIN_ROWS, words.rows || 24)
  const decoder = new TextDecoder()
  const screen = createScreen(words)
  let lines: readonly Line[] | undefined
  let isAsking = false

  const paint = (colour: Colour, text: string) =>
    inColour.words || inColour.output ? `${markOf(colour, 0)}${text}${markOf(colour, 1)}` : text

  function redraw() {
    if (!lines || lines.length === 0 || isAsking) return screen.remove()
    // A line that wraps could not be removed again, and the first of too many could not be reached.
    const fitting = lines.slice(0, rows() - 1).map((line) => cut(line, columns() - 1))
    const drawn = fitting.map((line) => {
      const painted = line.map(({ text, colour }) => (colour ? paint(colour, text) : text)).join('')
      return { text: shownAs(painted, inColour.words), width: lineWidth(line) }
    })
    screen.show(drawn)
  }

  function draw(next: readonly Line[] | undefined) {
    if (!isDrawn) return
    lines = next
    redraw()
  }

  return {
    isInteractive,
    isShown,
    isDrawn,
    columns,
    rows,
    print(text) {
      screen.remove()
      output.write(`${shownAs(text, inColour.output)}\n`)
      redraw()
    },
    write(data) {
      screen.remove()
      const shownData = isShown ? printable(decoder.decode(data, { stream: true })) : data
      return new Promise((resolve) => output.write(shownData, () => resolve()))
    },
    say: (text) => screen.above(`${shownAs(text, inColour.words)}\n`),
    paint,
    draw,
    status(text) {
      if (isInteractive) draw(text === undefined ? undefined : [[span(text)]])
    },
    listen(onKey) {
      if (!isInteractive) return () => undefined
      const onData = (typed: Buffer) => {
        for (const key of typed.toString('utf8')) onKey(key)
      }
      input.setRawMode(true)
      input.on('data', onData).resume()
      return () => {
        input.off('data', onData).pause()
        input.setRawMode(false)
      }
    },
    async ask(asked, hidden) {
      const question = shownAs(asked, inColour.words)
      if (!isInteractive) throw new Error(`There is no terminal to answer: ${question}`)
      isAsking = true
      redraw()
      // Readline itself echoes what is typed; with an output that discards everything there is no echo.
      const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
      const typed = createInterface({ input, output: hidden ? nowhere : words, terminal: true })
      const isGone = Promise.withResolvers<never>()
      // Ctrl-C and Ctrl-D end the question, and with it the command.
      const onGone = () => {
        if (!hidden) words.write('\n')
        isGone.reject(new Interrupted())
      }
      typed.once('SIGINT', onGone)
      typed.once('close', onGone)
      try {
        if (hidden) words.write(question)
        return (await Promise.race([typed.question(hidden ? '' : question), isGone.promise])).trim()
      } finally {
        isGone.promise.catch(() => undefined)
        typed.off('SIGINT', onGone).off('close', onGone)
        typed.close()
        isAsking = false
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
const shownAs = (text: string, isColoured: boolean): string =>
  text
    .split(MARKS)
    .map((piece, index) => (index % 2 === 0 ? printable(piece) : isColoured ? `\x1b[${piece}m` : ''))
    .join('')

/** The user declined, or interrupted the command. */
export class Interrupted extends Error {
  constructor() {
    super('Stopped. Nothing further was done.')
  }
}
