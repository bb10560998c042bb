import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { logText } from './log-text.ts'

const TIME = '2026-03-01T14:03:07.512Z'
/** In local time. */
const CLOCK = `${new Date(TIME).toTimeString().slice(0, 8)}.512`

const textOf = (entry: Record<string, unknown>, isColoured = false): string =>
  logText(`${JSON.stringify({ level: 'info', time: TIME, ...entry })}\n`, isColoured)

/** The form that the logger gives to an error. */
function loggedError(err: Error, msg: string): Record<string, unknown> {
  const lines: string[] = []
  pino({ base: null }, { write: (line) => lines.push(line) }).error({ err }, msg)
  return { ...JSON.parse(lines.join('')), level: 'error', time: TIME }
}

test('a line has time, level, message and fields, in this order', () => {
  assert.equal(
    textOf({ edgePid: 4711, port: 8081, msg: 'the edge listens' }),
    `${CLOCK} INFO  the edge listens  edgePid=4711 port=8081\n`,
  )
})

test('level words are padded, so that messages begin in one column', () => {
  const columns = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'].map((level) =>
    textOf({ level, msg: 'here' }).indexOf('here'),
  )
  assert.deepEqual(new Set(columns), new Set([CLOCK.length + 7]))
})

test('words stand as they are, other values as JSON has them', () => {
  const fields = { path: '/v1/apps', text: 'two words', empty: '', list: [1, 'a b'], none: null, isIt: true }
  assert.equal(
    textOf({ ...fields, msg: 'so' }),
    `${CLOCK} INFO  so  path=/v1/apps text="two words" empty="" list=[1,"a b"] none=null isIt=true\n`,
  )
})

test('the stack of an error follows indented, with its causes, and what else it says stands with the fields', () => {
  const error = Object.assign(new Error('no such file', { cause: new Error('unplugged') }), { code: 'ENOENT' })
  const [head, first, ...rest] = textOf(loggedError(error, 'a handler failed')).split('\n')
  assert.equal(head, `${CLOCK} ERROR a handler failed  err.code=ENOENT`)
  assert.equal(first, '    Error: no such file')
  assert.ok(rest.some((line) => line === '    caused by: Error: unplugged'))
  assert.ok(rest.slice(0, -1).every((line) => line.startsWith('    ')))
  assert.equal(rest.at(-1), '')
})

test('each error of several has its stack', () => {
  const text = textOf(loggedError(new AggregateError([new Error('one'), new Error('two')], 'both'), 'failed'))
  const errors = text.split('\n').filter((line) => /^ {4}\w*Error/.test(line))
  assert.deepEqual(errors, ['    AggregateError: both', '    Error: one', '    Error: two'])
})

test('a field of several lines follows under its name', () => {
  assert.equal(
    textOf({ trouble: 'Error: x\n    at y\n', pid: 7, msg: 'met' }),
    `${CLOCK} INFO  met  pid=7\n    trouble:\n        Error: x\n            at y\n`,
  )
})

/** A whole log line, and sequences that a terminal obeys. */
const FORGED = [
  '\n14:03:07.512 FATAL all is lost',
  '\r14:03:07.512 FATAL all is lost',
  '\u2028FATAL',
  '\u0085FATAL',
  '\v\f',
  '\u001b[2J\u001b[H',
  '\u001b]0;title\u0007',
  '\u009b2J',
  '\u001bc',
  '\b\b\b\b',
  '\u202e',
  '\u0000',
  '\u007f',
].join('x')

/** Everything except line feeds and visible characters. */
const UNSEEN = /[^\n\P{C}]|[\u2028\u2029]/u

test('no text of others moves the cursor or begins a line of the log, wherever it stands', () => {
  const cause = Object.assign(new Error(FORGED, { cause: new Error(FORGED) }), { [FORGED]: FORGED, code: FORGED })
  const entries: Record<string, unknown>[] = [
    { msg: FORGED },
    { msg: 'answered', path: FORGED },
    { msg: 'answered', [FORGED]: 1 },
    { msg: 'answered', deep: { [FORGED]: [FORGED] } },
    { msg: 'answered', level: FORGED },
    { msg: 'answered', time: FORGED },
    loggedError(cause, FORGED),
    { msg: 'failed', err: { stack: FORGED, message: FORGED, aggregateErrors: [{ stack: FORGED }, FORGED] } },
  ]
  for (const entry of entries) {
    const text = textOf(entry)
    assert.ok(!UNSEEN.test(text), JSON.stringify(text))
    const [, ...below] = text.split('\n').slice(0, -1)
    assert.ok(
      below.every((line) => line.startsWith('    ')),
      text,
    )
  }
  assert.ok(!UNSEEN.test(logText(`${FORGED}\n`, false)))
})

test('colours are the formatter’s own: without them the text is the same', () => {
  const entry = { level: 'warn', msg: 'slow', path: FORGED, trouble: 'a\nb' }
  const coloured = textOf(entry, true)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  const codes = coloured.match(/\u001b\[\d+m/g) ?? []
  assert.ok(codes.length >= 8)
  assert.equal(
    codes.reduce((text, code) => text.replace(code, ''), coloured),
    textOf(entry),
  )
})
