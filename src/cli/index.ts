import type { ClientCall, Completion, NameKind } from './command.ts'

export {
  type ClientCall,
  type ClientCommand,
  type ClientEnvironment,
  type Completion,
  NAME_KINDS,
  type NameKind,
} from './command.ts'
export { CLIENT_COMMANDS } from './commands/index.ts'
export { CallFailed } from './connection/failures.ts'
export { ciCommitIn } from './git/ci.ts'
export { createTerminal, Interrupted } from './output/terminal.ts'

/** Names for shell completion; loaded on demand, as commands are. */
export const namesFor = async (kind: NameKind, call: ClientCall, typed: readonly string[]): Promise<Completion[]> =>
  (await import('./project/names.ts')).namesFor(kind, call, typed)
