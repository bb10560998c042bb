/** Completion of commands and options for shells, made from the table of commands, so that it cannot go stale. */
import { type CommandForm, UsageError } from './contract/index.ts'

export const SHELLS = ['bash', 'zsh', 'fish'] as const

export function completion(shell: string, _commands: readonly CommandForm[]): string {
  if (!SHELLS.includes(shell as (typeof SHELLS)[number])) throw new UsageError(`SHELL is one of ${SHELLS.join(', ')}`)
  throw new Error('not written yet')
}
