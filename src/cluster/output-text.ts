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

export function readOutput(text: string): OutputState {
  const { position = {}, isOver = false } = text === '' ? {} : (JSON.parse(text) as Partial<OutputState>)
  return { position, isOver }
}

/** Also of an instance whose row is gone. */
export const isOutputOver = (text: string | undefined): boolean => text === undefined || readOutput(text).isOver
