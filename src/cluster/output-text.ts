/** How far the output of an instance was read, as its row has it. */
import type { OutputPosition } from '../swarm/index.ts'

export type OutputState = {
  position: OutputPosition
  /** It has ended, and everything that it has written is in the log. */
  isOver: boolean
}

/** The phase of what an app writes while it is started: the log of its build has these lines, too. */
export const STARTING = 'STARTING'

/** Empty where nothing was read. */
export const outputText = ({ position, isOver }: OutputState): string =>
  isOver || Object.keys(position).length > 0 ? JSON.stringify({ position, ...(isOver ? { isOver } : {}) }) : ''

/** Rows are not trusted: an output whose position is none is read from its beginning. */
export function readOutput(text: string): OutputState {
  const { position, isOver } = parse(text)
  const { stdout, stderr } = position ?? {}
  return {
    position: { ...(isPosition(stdout) ? { stdout } : {}), ...(isPosition(stderr) ? { stderr } : {}) },
    isOver: isOver === true,
  }
}

function parse(text: string): Partial<OutputState> {
  try {
    return (JSON.parse(text || '{}') as Partial<OutputState> | null) ?? {}
  } catch (error) {
    if (error instanceof SyntaxError) return {}
    throw error
  }
}

type Position = NonNullable<OutputPosition['stdout']>

const isPosition = (at: Partial<Position> | null | undefined): at is Position =>
  Number.isSafeInteger(at?.count) && !Number.isNaN(Date.parse(String(at?.time)))

/** Also of an instance whose row is gone. */
export const isOutputOver = (text: string | undefined): boolean => text === undefined || readOutput(text).isOver
