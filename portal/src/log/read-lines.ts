/** Parses the two forms of a log: text, which is fast for the lines so far, and events for the lines to come. */
import type { Line, LineStream } from './lines.ts'

/** `12 2026-01-01T00:00:00.000Z BUILDING stdout text`; `-` stands for no phase. */
export function readTextLine(text: string): Line | undefined {
  const numberEnd = text.indexOf(' ')
  const timeEnd = text.indexOf(' ', numberEnd + 1)
  const phaseEnd = text.indexOf(' ', timeEnd + 1)
  const streamEnd = text.indexOf(' ', phaseEnd + 1)
  const number = Number(text.slice(0, numberEnd))
  if (streamEnd < 0 || !Number.isSafeInteger(number) || number < 1) return undefined
  const phase = text.slice(timeEnd + 1, phaseEnd)
  return {
    number,
    time: Date.parse(text.slice(numberEnd + 1, timeEnd)),
    phase: phase === '-' ? '' : phase,
    stream: text.slice(phaseEnd + 1, streamEnd) as LineStream,
    text: text.slice(streamEnd + 1),
  }
}

/** Accepts chunks of text split anywhere, and calls back with the complete lines. */
export function createTextReader(onLines: (lines: Line[]) => void): (piece: string) => void {
  let rest = ''
  return (piece) => {
    const texts = (rest + piece).split('\n')
    rest = texts.pop() ?? ''
    const lines = texts.flatMap((text) => readTextLine(text) ?? [])
    if (lines.length > 0) onLines(lines)
  }
}

/** The data of an event is the line as JSON. */
export const readEventLine = (data: string): Line => JSON.parse(data) as Line
