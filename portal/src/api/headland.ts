/** The same as a `headland` command, which most users have at hand before they call the API. */

import { quoted } from './curl.ts'
import type { Place } from './names.ts'

type Options = Readonly<Record<string, string | undefined>>

/** `headland envs create Production --app blog`; an option without a value is omitted. */
export function headland(words: readonly string[], options: Options = {}): string {
  const given = Object.entries(options).flatMap(([name, value]) => (value === undefined ? [] : [optionOf(name, value)]))
  // A value that begins with a hyphen would be parsed as an option.
  const isOption = words.some((word) => word.startsWith('-'))
  const [command, rest] = [words.filter((word) => !word.startsWith('-')), words.filter((word) => word.startsWith('-'))]
  const end = isOption ? ['--', ...rest.map(quoted)] : []
  return ['headland', ...command.map(quoted), ...given, ...end].join(' ')
}

const optionOf = (name: string, value: string): string =>
  value === '' || value.startsWith('-') ? `--${name}=${quoted(value)}` : `--${name} ${quoted(value)}`

/** Which environment a command is about: its name, or its id where it has none. */
export const at = ({ account, app, environment }: Place, name?: string): Options => ({
  account,
  app,
  env: name || environment,
})
