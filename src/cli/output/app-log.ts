/**
 * The log of a running app, as it is shown: where it begins, and marks for starts and ends of the app's process between its
 * lines. A mark begins at the left margin, and every line of an app begins with a time, so that no app can forge a mark.
 */
import { printableLine } from '../../base/index.ts'
import { type LogMark, type Marked, markIn, shortId } from '../../contract/index.ts'
import type { Colour } from './live/lines.ts'
import type { Log, LogLine } from './log-lines.ts'
import type { Terminal } from './terminal.ts'

/** The default number of lines. */
export const LINES_OF_APP = 100
/** How far back the start of an app is looked for. */
const LINES_SEARCHED = 1000

/** The number of the line before the first that is shown. */
export const afterLast = async (log: Log, lines: number): Promise<number> => Math.max(0, (await log.lastLine()) - lines)

type Beginning = { after: number; note?: string }

/** From the last start of the live deployment on; of a site of files, from when it went live. */
export async function beginningOf(log: Log, deployment: string): Promise<Beginning> {
  const last = await log.lastLine()
  const searchedFrom = Math.max(0, last - LINES_SEARCHED)
  const found: Partial<Record<LogMark, number>> = {}
  for await (const line of log.read(searchedFrom)) {
    const marked = markIn(line)
    if (marked?.deployment === shortId(deployment)) found[marked.mark] = line.number
  }
  const first = found.START ?? found.LIVE
  if (first !== undefined) return { after: first - 1 }
  const after = Math.max(0, last - LINES_OF_APP)
  if (searchedFrom === 0) return { after }
  const note = `The app started more than ${LINES_SEARCHED.toLocaleString('en')} lines ago: these are the last ${LINES_OF_APP}. -n NUMBER shows more.`
  return { after, note }
}

const COLOURS: Record<LogMark, Colour> = { START: 'cyan', LIVE: 'green', ENDED: 'red', ASLEEP: 'yellow' }

/** `── 10:32:05  Deployment 1a2b3c4d is live: build 5e6f7a8b. ──` */
export function markInWords({ paint }: Pick<Terminal, 'paint'>, { mark }: Marked, time: string, line: LogLine): string {
  return paint(COLOURS[mark], `── ${time}  ${printableLine(line.text)} ──`)
}
