/** A command of the operator: it works on the data folder, whether or not the service runs. */
import type { ParseArgsOptionsConfig } from 'node:util'
import type { Accounts, Credentials, Users } from '../accounts/index.ts'
import type { CmsInstalls } from '../apps/index.ts'

/** The parts of the house that commands use, opened on the data folder. */
export type Ground = { accounts: Accounts; users: Users; credentials: Credentials; cmsInstalls: CmsInstalls }

export type CommandCall = {
  positionals: string[]
  options: Record<string, string | boolean | undefined>
  /** Opened when first asked for, closed when the command is over. */
  ground(): Promise<Ground>
  print(text: string): void
}

export type Command = {
  /** As it is typed: one or two words. */
  name: string
  /** What follows the name: `NAME URL`. */
  positionals: readonly string[]
  summary: string
  options: ParseArgsOptionsConfig & Record<string, { describe: string }>
  /** 0 unless it says otherwise. */
  run(call: CommandCall): Promise<number | undefined>
}

export class UsageError extends Error {}

/** The text of an option that the command cannot do without. */
export function requiredOption(options: CommandCall['options'], name: string): string {
  const value = options[name]
  if (typeof value !== 'string' || value === '') throw new UsageError(`--${name} is required`)
  return value
}

/** Rows as aligned columns, or as JSON for programs. */
export function table(rows: readonly Record<string, string>[]): string {
  const headings = Object.keys(rows[0] ?? {})
  const lines = [
    headings.map((heading) => heading.toUpperCase()),
    ...rows.map((row) => headings.map((h) => row[h] ?? '')),
  ]
  const widths = headings.map((_, column) => Math.max(...lines.map((line) => (line[column] ?? '').length)))
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

export const JSON_OPTION = { json: { type: 'boolean', describe: 'Print JSON.' } } as const
