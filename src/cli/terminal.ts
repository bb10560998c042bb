/**
 * What is printed where. Data goes to stdout, and words for people to stderr, so that a pipe gets data alone. Colours,
 * bars and questions are for a terminal in front of a person.
 */
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { styleText } from 'node:util'
import { EXIT } from '../contract/index.ts'

export type Colour = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'

export type Terminal = {
  /** Whether somebody is there who sees colours and can answer questions. */
  isInteractive: boolean
  /** Whether what is printed is read by a person, and not by the next program of a pipe. */
  isShown: boolean
  columns(): number
  /** A line of data. */
  print(text: string): void
  /** A line for people. */
  say(text: string): void
  paint(colour: Colour, text: string): string
  /** One line below everything else, written over and over; undefined takes it away. Nothing where nobody looks. */
  status(text: string | undefined): void
  ask(question: string, hidden?: { isHidden: true }): Promise<string>
}

type Streams = { input: NodeJS.ReadStream; output: NodeJS.WriteStream; words: NodeJS.WriteStream }

/** `isPlain`: whatever the streams are, nobody is there. */
export function createTerminal({ input, output, words }: Streams, { isPlain }: { isPlain: boolean }): Terminal {
  // Whoever read has read enough, as `head` does: there is nobody left to tell anything.
  for (const stream of [output, words]) stream.on('error', () => process.exit(EXIT.caller))
  const isInteractive = !isPlain && input.isTTY === true && words.isTTY === true
  const isShown = !isPlain && output.isTTY === true
  const hasColour = isShown && words.isTTY === true && words.hasColors()
  const columns = () => words.columns || 80
  let shown: string | undefined

  const clear = () => {
    if (shown !== undefined) words.write('\r\x1b[K')
  }
  const draw = () => {
    if (shown !== undefined) words.write(shown)
  }
  const line = (stream: NodeJS.WriteStream, text: string) => {
    clear()
    stream.write(`${text}\n`)
    draw()
  }

  return {
    isInteractive,
    isShown,
    columns,
    print: (text) => line(output, text),
    say: (text) => line(words, text),
    paint: (colour, text) => (hasColour ? styleText(colour, text, { validateStream: false }) : text),
    status(text) {
      if (!isInteractive || text === shown) return
      clear()
      // A line that wraps could not be taken away again.
      shown = text === undefined || text.length < columns() ? text : `${text.slice(0, columns() - 2)}…`
      draw()
    },
    async ask(question, hidden) {
      if (!isInteractive) throw new Error(`Nobody is here to answer: ${question}`)
      clear()
      shown = undefined
      // What is typed is echoed by readline itself, and so is not where it has nowhere to write.
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

/** Whoever was asked would rather not. */
export class Interrupted extends Error {
  constructor() {
    super('Stopped. Nothing further was done.')
  }
}

/**
 * What other people's programs wrote, without what would move a cursor, rename a window or answer for its owner. Colours
 * stay where there is a terminal.
 */
export function harmless(text: string, keepsColours = false): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  const sequences = /\x1b\[([0-9;:]*)m|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_].*?(?:\x07|\x1b\\|$)|\x1b[ -/]*[0-~]/gs
  const kept = text.replaceAll(sequences, (found, colour) => (keepsColours && colour !== undefined ? found : ''))
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  const controls = keepsColours ? /[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f]/g : /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g
  // And without what turns a line round (Unicode, UAX #9).
  return kept.replaceAll(controls, '').replaceAll(/[\u202a-\u202e\u2066-\u2069]/g, '')
}
