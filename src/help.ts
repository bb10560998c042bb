/** What `--help` prints: all commands in two groups, or one of them with its options. */
import type { CommandForm, OptionForm } from './contract/index.ts'

type ListedCommand = CommandForm & { who: 'operator' | 'client' }

const GROUPS = [
  ['operator', 'On the machine that runs the service, whether or not it runs:'],
  ['client', 'From anywhere, as a user of a service:'],
] as const

export function overview(commands: readonly ListedCommand[]): string {
  const usage = ({ name, positionals }: ListedCommand) => [name, ...positionals].join(' ')
  const width = Math.max(...commands.map((command) => usage(command).length))
  const groups = GROUPS.flatMap(([who, heading]) => {
    const listed = commands.filter((command) => command.who === who)
    const lines = listed.map((command) => `  headland ${usage(command).padEnd(width)}  ${command.summary}`)
    return listed.length > 0 ? [heading, ...lines, ''] : []
  })
  return [
    'headland: a self-hosted home for headless front ends',
    '',
    ...groups,
    "Run 'headland COMMAND --help' for more.",
  ].join('\n')
}

export function helpOf(command: CommandForm, settings: Record<string, OptionForm>): string {
  const { name, positionals, summary, options, notes = [] } = command
  const rows = { Options: rowsOf(options), Settings: rowsOf(settings) }
  const width = Math.max(
    20,
    ...rows.Options.map(([flag]) => flag.length),
    ...rows.Settings.map(([flag]) => flag.length),
  )
  const sections = Object.entries(rows).flatMap(([heading, list]) =>
    list.length > 0 ? ['', `${heading}:`, ...list.map(([flag, text]) => `  ${flag.padEnd(width)}  ${text}`)] : [],
  )
  const more = notes.length > 0 ? ['', ...notes] : []
  return [`headland ${[name, ...positionals].join(' ')}`, '', `${summary}.`, ...more, ...sections].join('\n')
}

function rowsOf(options: Record<string, OptionForm>): [flag: string, text: string][] {
  return Object.entries(options).map(([name, { type, short, value, describe }]) => {
    const flag = `${short ? `-${short}, ` : ''}--${name}`
    return [type === 'string' ? `${flag} ${value ?? name.toUpperCase()}` : flag, describe]
  })
}
