/** Reads something again and again, and draws it in place, until the user has seen enough. */
import { setTimeout as pause } from 'node:timers/promises'
import { EXIT } from '../contract/index.ts'
import { CallFailed } from './connection/failures.ts'
import { listenForInterrupts } from './interrupts.ts'
import { fixed, type Line, span } from './output/live/lines.ts'
import type { Terminal } from './output/terminal.ts'

type Watching = {
  terminal: Terminal
  /** Throws what a call of the service throws. */
  read(): Promise<void>
  /** What was read last; called whenever it is drawn. */
  lines(): Line[]
  onKey?: (key: string) => void
}

const READ_MS = 2000
/** So that the ages of things go on, and a new size of the terminal is seen. */
const DRAW_MS = 500

/** Ends with `q` or Ctrl-C. A service that is away for a while is waited for. */
export async function watch({ terminal, read, lines, onKey }: Watching): Promise<void> {
  const interrupts = listenForInterrupts()
  const { signal } = interrupts
  let trouble: string | undefined
  const draw = () =>
    terminal.draw(fitting([...lines(), ...(trouble ? [[span(trouble, 'yellow')]] : [])], terminal.rows()))
  const stopListening = terminal.listen((key) => {
    if (key === 'q' || key === CTRL_C) return interrupts.leave()
    onKey?.(key)
    draw()
  })
  // The first failure is told as that of any other command.
  let frames: NodeJS.Timeout | undefined
  try {
    await Promise.race([read(), untilAborted(signal)])
    frames = setInterval(draw, DRAW_MS)
    while (!signal.aborted) {
      draw()
      await pause(READ_MS, undefined, { signal })
      trouble = await Promise.race([read(), untilAborted(signal)]).then(() => undefined, messageOf)
    }
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    clearInterval(frames)
    stopListening()
    terminal.draw(undefined)
    interrupts.close()
  }
}

const CTRL_C = '\x03'

/** What passes is shown; everything else ends the command. */
function messageOf(error: Error): string {
  if (error instanceof CallFailed && error.exitCode === EXIT.service) return error.message
  throw error
}

const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })

/** The last line says how many are left out. */
function fitting(lines: readonly Line[], rows: number): readonly Line[] {
  const free = rows - 1
  if (lines.length <= free) return lines
  return [...lines.slice(0, free - 1), [fixed(`… and ${lines.length - free + 1} more lines`, 'dim')]]
}
