/** What the log of a build says about rules that do not apply. */
import { RuleRefused, type Warning } from './rules.ts'

/** For a rule that was refused. Any other error is a fault of ours. */
export function warningOf(error: unknown, line: number | undefined): Warning {
  if (!(error instanceof RuleRefused)) throw error
  return { line, message: `${error.message} It is left out.` }
}

/** The file and the line come first, so that an editor can jump there. */
export const formatWarning = (file: string, { line, message }: Warning): string =>
  line === undefined ? `${file}: ${message}` : `${file}, line ${line}: ${message}`
