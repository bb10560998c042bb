/** Lines of a log, as the service sends them: each is checked, since the address may be that of any server. */
import { type HeadlandError, noAnswer } from './errors.ts'

export type LogLine = {
  number: number
  /** Milliseconds since 1970. */
  time: number
  stream: 'stdout' | 'stderr' | 'service'
  /** Of a build; empty for what a running app writes. */
  phase: string
  text: string
}

export const notALog = (): HeadlandError =>
  noAnswer('What the service sends is not a log of a Headland. Is it the right address?')

/** The line that an event holds. */
export function lineIn(data: string): LogLine {
  let line: Partial<LogLine> | null
  try {
    line = JSON.parse(data)
  } catch {
    throw notALog()
  }
  const { number, time, stream, phase, text } = line ?? {}
  const isLine = Number.isSafeInteger(number) && isTime(time) && typeof phase === 'string' && typeof text === 'string'
  if (!isLine || !STREAMS.includes(stream as LogLine['stream'])) throw notALog()
  return { number, time, stream, phase, text } as LogLine
}

const STREAMS: readonly LogLine['stream'][] = ['stdout', 'stderr', 'service']

/** Within the range of a `Date`. */
const isTime = (time: unknown): boolean => !Number.isNaN(new Date(time as number).getTime())

/** `12 2026-01-01T00:00:00.000Z BUILDING stdout text`; `-` stands for no phase. */
export function textLineIn(line: string): LogLine | undefined {
  const [, number, time = '', phase = '', stream, text = ''] =
    /^(\d{1,15}) (\S+) (\S+) (stdout|stderr|service) (.*)$/s.exec(line) ?? []
  if (number === undefined || !isTime(Date.parse(time))) return undefined
  return {
    number: Number(number),
    time: Date.parse(time),
    phase: phase === '-' ? '' : phase,
    stream: stream as LogLine['stream'],
    text,
  }
}
