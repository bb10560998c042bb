import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import fc from 'fast-check'
import { holds } from '../../../test/support/fuzz.ts'
import { span } from './live/lines.ts'
import { createTerminal } from './terminal.ts'

/** A terminal in front of a person, and all that was written to it. */
function atTerminal() {
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => undefined })
  const output = Object.assign(new PassThrough(), { isTTY: true, columns: 80, hasColors: () => true })
  const streams = { input, output, words: output } as unknown as Parameters<typeof createTerminal>[0]
  let written = ''
  output.setEncoding('utf8').on('data', (text: string) => {
    written += text
  })
  return { terminal: createTerminal(streams, { isPlain: false }), input, written: () => written }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const OURS = /\x1b\[(?:(?:0|1|2|22|3[1-6]|39)m|\?(?:7|25|2026)[hl]|2K|1?[AJ])|\r/g

const hostile = fc
  .array(
    fc.constantFrom('\x1b[31m', '\x1b]0;', '\x07', '\u009b', '\u202e', '\r', '\n', '\x1b[2J', '<31>', 'text', '\x1b'),
  )
  .map((pieces) => pieces.join(''))

test('colours are ours alone, and nothing else than colours reaches a terminal', () =>
  holds(
    fc.asyncProperty(hostile, hostile, async (one, other) => {
      const { terminal, written } = atTerminal()
      terminal.print(one)
      terminal.say(`${terminal.paint('red', one)} ${terminal.paint('bold', other)}`)
      terminal.status(one)
      terminal.say(other)
      terminal.draw([[span(one), span(other, 'dim')], [span(other)]])
      terminal.draw([[span(other)], [span(one)]])
      terminal.draw(undefined)
      await new Promise(setImmediate)
      assert.equal(written().split('\x1b[31m').length - 1, 1, 'what we paint is painted, and what others paint is not')
      assert.doesNotMatch(written().replaceAll(OURS, ''), /[[\p{Cc}\p{Cf}]--\n]/v)
    }),
    100,
  ))

test('data goes to a pipe as it is, and to a terminal as what can be shown of it, cut anywhere', async () => {
  const bytes = Buffer.from('a\x1b]0;x\x07 \u202e é\n')
  const { terminal, written } = atTerminal()
  for (const byte of bytes) await terminal.write(Buffer.of(byte))
  assert.equal(written(), 'a\\u001b]0;x\\u0007 \\u202e é\n')

  const output = new PassThrough()
  const streams = { input: new PassThrough(), output, words: new PassThrough() }
  const piped = createTerminal(streams as unknown as Parameters<typeof createTerminal>[0], { isPlain: true })
  await piped.write(bytes)
  assert.deepEqual(output.read(), bytes)
})

test('a question asks in plain text, whatever stands in it', async () => {
  const { terminal, input, written } = atTerminal()
  const asked = terminal.ask('Type \x1b]0;x\x07\u202eshop to go on: ')
  input.write('shop\r')
  assert.equal(await asked, 'shop')
  assert.match(written(), /Type \\u001b\]0;x\\u0007\\u202eshop to go on: /)
  assert.ok(!written().includes('\x07') && !written().includes('\u202e'))
})

test('colours that are forced are for messages alone where there is no terminal', () => {
  const [output, words] = [new PassThrough(), new PassThrough()]
  const streams = { input: new PassThrough(), output, words } as unknown as Parameters<typeof createTerminal>[0]
  const read = (colour: boolean | undefined) => {
    const terminal = createTerminal(streams, { isPlain: true, colour })
    terminal.print(terminal.paint('red', 'data'))
    terminal.say(terminal.paint('red', 'message'))
    return [output.read(), words.read()].map(String)
  }
  assert.deepEqual(read(true), ['data\n', '\x1b[31mmessage\x1b[39m\n'])
  assert.deepEqual(read(undefined), ['data\n', 'message\n'])
})
