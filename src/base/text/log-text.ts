/**
 * A log line for people: time, level, message, then the fields; values of several lines follow below, indented.
 *
 *     14:03:07.512 INFO  the edge listens  edgePid=4711 port=8081
 *     14:03:09.220 ERROR a handler failed  operation=a1b2 attempt=1 err.code=ENOENT
 *         Error: ENOENT: no such file or directory
 *             at open (node:internal/fs/promises:639:25)
 *
 * Much of the text comes from clients and tenants: a requested path, the last output of a program. None of it can move the
 * cursor, set a colour or begin a line, so no text of a tenant can be mistaken for a log line.
 */
import { styleText } from 'node:util'
import { printable, printableLine } from './terminal-text.ts'

type Style = Parameters<typeof styleText>[0]

const LEVEL_STYLES: Readonly<Record<string, Style>> = {
  trace: 'gray',
  debug: 'blue',
  info: 'green',
  warn: 'yellow',
  error: 'red',
  fatal: ['bgRed', 'white'],
}

const LEVEL_WIDTH = 5
const INDENT = '    '

/** Takes a line of the logger, which is a JSON object, and returns the text with its line feeds. */
export function logText(json: string, isColoured: boolean): string {
  const paint = (style: Style, text: string) => (isColoured ? styleText(style, text, { validateStream: false }) : text)
  const { time, level, msg, ...fields } = parse(json)
  const { short, long, stacks } = sorted(fields)
  const word = printableLine(String(level ?? '')).toUpperCase()
  const [message = '', ...more] = linesOf(String(msg ?? ''))
  const head = [
    paint('dim', timeOfDay(time)),
    paint(LEVEL_STYLES[String(level)] ?? 'bold', word.padEnd(LEVEL_WIDTH)),
    message,
    ...short.map(([name, value], at) => `${at === 0 ? ' ' : ''}${paint('dim', `${oneLine(name)}=`)}${oneLine(value)}`),
  ]
  const below = [
    ...more,
    ...long.flatMap(([name, text]) => [paint('dim', `${oneLine(name)}:`), ...linesOf(text).map(indented)]),
    ...stacks.flatMap(linesOf),
  ]
  return [head.join(' '), ...below.map(indented), ''].join('\n')
}

type Fields = {
  short: [name: string, value: unknown][]
  /** Values of several lines. */
  long: [name: string, text: string][]
  stacks: string[]
}

/** An error is shown as its stack, which contains its type and message, and its other fields. */
function sorted(fields: Readonly<Record<string, unknown>>): Fields {
  const found: Fields = { short: [], long: [], stacks: [] }
  const add = (name: string, value: unknown) => {
    if (isObject(value) && typeof value.stack === 'string') {
      const { type: _, message: __, stack, aggregateErrors, ...more } = value
      found.stacks.push(String(stack))
      for (const [key, one] of Object.entries(more)) add(`${name}.${key}`, one)
      for (const one of Array.isArray(aggregateErrors) ? aggregateErrors : []) add(name, one)
    } else if (typeof value === 'string' && value.includes('\n')) found.long.push([name, value])
    else found.short.push([name, value])
  }
  for (const [name, value] of Object.entries(fields)) add(name, value)
  return found
}

const linesOf = (text: string): string[] => printable(text.trimEnd()).split('\n')

/** Deeper than any log line begins. */
const indented = (line: string): string => `${INDENT}${line}`

/** A word as it is, anything else as JSON. */
const oneLine = (value: unknown): string =>
  typeof value === 'string' && WORD.test(value) ? value : printable(JSON.stringify(value) ?? String(value))

const WORD = /^[\w./:@+~%-]+$/

/** In local time. */
function timeOfDay(time: unknown): string {
  const date = new Date(String(time))
  if (Number.isNaN(date.getTime())) return printableLine(String(time ?? ''))
  const two = (number: number) => String(number).padStart(2, '0')
  const clock = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':')
  return `${clock}.${String(date.getMilliseconds()).padStart(3, '0')}`
}

/** Text that is not JSON does not come from the logger, and is shown as a message. */
function parse(json: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(json)
    return isObject(value) ? value : { msg: json }
  } catch {
    return { msg: json }
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
