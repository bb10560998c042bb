/** The command line: which command, with which settings, ending in which exit code. */
import { parseArgs } from 'node:util'
import { serviceAt } from './addresses.ts'
import { didYouMean, printable } from './base/index.ts'
import {
  CallFailed,
  CLIENT_COMMANDS,
  type ClientCall,
  type Completion,
  createTerminal,
  Interrupted,
  NAME_KINDS,
  type NameKind,
  namesFor,
} from './cli/index.ts'
import { completion, INSTALLING, SHELLS } from './completion.ts'
import {
  ConfigError,
  clientEnvironment,
  describeConfig,
  flagName,
  type LoadedConfig,
  loadConfig,
  SETTINGS,
  startersOf,
} from './config.ts'
import {
  type CommandForm,
  EXIT,
  JSON_OPTION,
  type OptionForm,
  type OptionValues,
  Problem,
  Refused,
  table,
  UsageError,
} from './contract/index.ts'
import { helpOf, overview } from './help.ts'
import { COMMANDS, examine } from './operator/index.ts'
import { parentGone } from './parent.ts'

export async function run(argv: string[]): Promise<number> {
  // Whoever reads us has seen enough: `headland builds | head`.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    process.exit(EXIT.done)
  })
  try {
    return await dispatch(argv)
  } catch (error) {
    const code = exitCodeOf(error)
    complain(argv.includes('--json') ? JSON.stringify(asJson(error)) : inWords(error))
    if (code === EXIT.usage && !argv.includes('--json')) complain("Try 'headland --help'.")
    return code
  }
}

async function dispatch(argv: string[]): Promise<number> {
  // `apps create` rather than `apps`, to which the rest would be a positional.
  const [wanted] = commands
    .filter(({ name }) => name === argv.slice(0, name.split(' ').length).join(' '))
    .toSorted((a, b) => b.name.length - a.name.length)
  if (!wanted) return answerWithout(argv)
  const { values, positionals } = parse(wanted, argv.slice(wanted.name.split(' ').length))
  if (values.help) {
    print(helpOf(wanted, settingsOf(wanted)))
    return EXIT.done
  }
  const min = wanted.positionals.filter((one) => !one.startsWith('[')).length
  const max = wanted.positionals.some((one) => one.includes('…')) ? Number.POSITIVE_INFINITY : wanted.positionals.length
  if (positionals.length < min || positionals.length > max) {
    const meant = suggestion(`${wanted.name} ${positionals[0] ?? ''}`)
    if (meant && !wanted.name.includes(' ')) throw new UsageError(`${noCommand(argv)}.${meant}`)
    throw new UsageError(`usage: headland ${[wanted.name, ...wanted.positionals].join(' ')}`)
  }
  return (await wanted.run(positionals, values as OptionValues)) ?? EXIT.done
}

/** No command was named: help, the version, or the commands that begin with the word that was typed. */
async function answerWithout(argv: string[]): Promise<number> {
  const [first = ''] = argv
  if (first === '--version') {
    const { version } = await import('./version.ts')
    print(version)
    return EXIT.done
  }
  if (first === '' || first === '--help' || first === '-h' || first === 'help') {
    print(overview(commands))
    return first === '' ? EXIT.usage : EXIT.done
  }
  const family = commands.filter(({ name }) => name.startsWith(`${first} `))
  if (family.length === 0) throw new UsageError(`${noCommand(argv)}.${suggestion(typedWords(argv).join(' '))}`)
  if (argv.includes('--help')) {
    print(overview(family))
    return EXIT.done
  }
  const seconds = family.map(({ name }) => name.split(' ')[1] ?? '')
  const meant = didYouMean(typedWords(argv)[1] ?? '', seconds)
  throw new UsageError(`'headland ${first}' goes on with one of: ${seconds.join(', ')}.${meant}`)
}

/** The words before the first option: one or two name a command. */
function typedWords(argv: readonly string[]): string[] {
  const end = argv.findIndex((word) => word.startsWith('-'))
  return argv.slice(0, Math.min(2, end === -1 ? 2 : end))
}

const noCommand = (argv: readonly string[]): string => `there is no command '${typedWords(argv).join(' ')}'`

/** Of all commands, and of their first words: what follows the name may be no part of it. */
function suggestion(typed: string): string {
  const [first = ''] = typed.split(' ')
  const names = commands.map(({ name }) => name)
  const firsts = [...new Set(names.map((name) => name.split(' ')[0] ?? ''))]
  return didYouMean(typed, names) || (firsts.includes(first) ? '' : didYouMean(first, firsts))
}

type Entry = CommandForm & {
  /** An operator's command works on the data folder and takes its settings as flags; a client's speaks to a service. */
  who: 'operator' | 'client'
  run(positionals: string[], options: OptionValues): Promise<number | undefined>
}

const settled = (options: OptionValues): LoadedConfig =>
  loadConfig({ flags: options as Record<string, string | undefined> })

const commands: readonly Entry[] = [
  {
    name: 'serve',
    who: 'operator',
    positionals: [],
    summary: 'Run the service until it is told to stop',
    options: {},
    run: (_, options) => serveUntilStopped(settled(options).config),
  },
  ...COMMANDS.map(
    (command): Entry => ({
      ...command,
      who: 'operator',
      async run(positionals, options) {
        const { config } = settled(options)
        // Opened by the first call, so that a command that finds its usage wrong touches nothing.
        const { openGround, dataFolder } = await import('./main.ts')
        let opened: ReturnType<typeof openGround> | undefined
        const ground = () => (opened ??= openGround(config.dataDir))
        try {
          return await command.run({ positionals, options, services: ground, folder: dataFolder(config), print })
        } finally {
          await (await opened)?.sql.close()
        }
      },
    }),
  ),
  {
    name: 'config',
    who: 'operator',
    positionals: [],
    summary: 'Print every setting and where it came from',
    options: JSON_OPTION,
    async run(_, options) {
      const rows = describeConfig(settled(options))
      print(
        options.json
          ? JSON.stringify(rows)
          : table(rows.map(({ key, value, origin }) => ({ setting: key, value, from: origin }))),
      )
      return EXIT.done
    },
  },
  {
    name: 'doctor',
    who: 'operator',
    positionals: [],
    summary: 'Tell what this machine can isolate and limit, and what is missing',
    options: JSON_OPTION,
    async run(_, options) {
      const { config } = settled(options)
      const { filesIn } = await import('./main.ts')
      const { version } = await import('./version.ts')
      const { dataDir, bubblewrap, jobNetwork, blockedNetworks, allowedNetworks, listen } = config
      const network = { range: jobNetwork, blocked: blockedNetworks, allowed: allowedNetworks }
      const service = serviceAt(listen)
      const masterKeyFile = filesIn(dataDir).masterKey
      const findings = await examine({ dataDir, masterKeyFile, bubblewrap, network, version, service })
      print(options.json ? JSON.stringify(findings) : table(findings.map((finding) => ({ ...finding }))))
      return findings.some(({ state }) => state === 'broken') ? EXIT.caller : EXIT.done
    },
  },
  ...CLIENT_COMMANDS.map(
    (command): Entry => ({
      ...command,
      who: 'client',
      run: (positionals, options) => command.run(callOf(positionals, options)),
    }),
  ),
  {
    name: 'completion',
    who: 'client',
    positionals: ['SHELL', '[WORD…]'],
    summary: `Print what completes these commands in a shell: ${SHELLS.join(', ')}`,
    options: {
      names: {
        type: 'string',
        oneOf: NAME_KINDS,
        value: 'KIND',
        describe: 'Print names for what is typed, WORD by WORD, as that script asks for them.',
      },
    },
    notes: SHELLS.map((shell) => `${shell}: ${INSTALLING[shell]}`),
    async run([shell = '', ...typed], { names: kind }) {
      if (kind === undefined) {
        const complete = commands.map((one) => ({ ...one, options: { ...settingsOf(one), ...one.options } }))
        print(completion(shell, complete))
        return EXIT.done
      }
      const names = await namesFor(kind as NameKind, callOf([], {}), typed)
      await new Promise<void>((written) => process.stdout.write(names.map(asLine).join(''), () => written()))
      // Whoever types does not wait for a service that still has not answered.
      process.exit(EXIT.done)
    },
  },
]

/** What is shown beside a word stands behind a tab, as fish wants it. */
const asLine = ({ word, about }: Completion): string => (about ? `${word}\t${about}\n` : `${word}\n`)

function callOf(positionals: string[], options: OptionValues): ClientCall {
  const environment = clientEnvironment()
  const streams = { input: process.stdin, output: process.stdout, words: process.stderr }
  const terminal = createTerminal(streams, { isPlain: environment.isCi || options.json === true })
  return { positionals, options, folder: process.cwd(), environment, terminal }
}

async function serveUntilStopped(config: LoadedConfig['config']): Promise<number> {
  const over = new AbortController()
  const orphaned = parentGone(startersOf(), { signal: over.signal }).then(() => {
    if (!over.signal.aborted) complain(ORPHANED)
  })
  // Ctrl-C comes twice under npm, by the terminal and by npm itself. A stop has an end, so the second is not needed.
  const asked = new Promise<void>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => resolve())
  })
  try {
    const { serve } = await import('./main.ts')
    const service = await serve(config, (error) => {
      complain(`headland: ${error.message}`)
      process.exit(EXIT.service)
    })
    print(JSON.stringify({ event: 'ready', api: service.api, edge: service.edge }))
    await Promise.race([asked, orphaned])
    await service.stop()
    return EXIT.done
  } finally {
    over.abort()
  }
}

const ORPHANED =
  "headland: the process that started the service is gone, so it stops. To run it without a parent, start 'bin/headland serve' yourself, not by npm."

/** As flags: every setting of the service, and the file that holds them. */
function settingsOf({ who }: Entry): Record<string, OptionForm> {
  if (who === 'client') return {}
  const settings = Object.entries(SETTINGS).map(([key, { meaning }]): [string, OptionForm] => [
    flagName(key),
    { type: 'string', value: 'VALUE', describe: meaning },
  ])
  const config = { type: 'string', value: 'FILE', describe: 'Read settings from this file instead of ./headland.json.' }
  return { config: config as OptionForm, ...Object.fromEntries(settings) }
}

function parse(command: Entry, args: string[]) {
  try {
    const options = { ...settingsOf(command), ...command.options, help: { type: 'boolean', short: 'h' } as const }
    const parsed = parseArgs({ args, allowPositionals: true, options })
    for (const [name, { oneOf }] of Object.entries<OptionForm>(command.options)) {
      const value = parsed.values[name as keyof typeof parsed.values] as unknown
      if (oneOf && typeof value === 'string' && !oneOf.includes(value)) {
        throw new UsageError(`--${name} is one of ${oneOf.join(', ')}.${didYouMean(value, oneOf)}`)
      }
    }
    return parsed
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException
    const unknown = code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION' ? /'(--?[^'\s=]+)/.exec(message)?.[1] : undefined
    if (unknown === undefined) throw new UsageError(message)
    const flags = Object.keys({ ...settingsOf(command), ...command.options, help: true }).map((name) => `--${name}`)
    throw new UsageError(`'headland ${command.name}' has no option ${unknown}.${didYouMean(unknown, flags)}`)
  }
}

function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError || error instanceof ConfigError) return EXIT.usage
  if (error instanceof CallFailed) return error.exitCode
  const isCallers = [Problem, Interrupted, Refused].some((kind) => error instanceof kind)
  return isCallers ? EXIT.caller : EXIT.service
}

function inWords(error: unknown): string {
  const { message } = error as Error
  // It may be another's words: none of its lines looks like the start of one of ours.
  const told = (text: string) => `headland: ${text.replaceAll('\n', '\n  ')}`
  if (!(error instanceof CallFailed)) return told(message)
  const reason = error.status === 0 ? '' : ` (${error.reason})`
  const more = [...(error.todo ? [error.todo] : []), ...(error.help ? [`More: ${error.help}`] : [])]
  return [told(`${message}${reason}`), ...more.map((line) => `  ${line}`)].join('\n')
}

function asJson(error: unknown) {
  const { message } = error as Error
  if (error instanceof CallFailed)
    return { error: { reason: error.reason, message, todo: error.todo, help: error.help } }
  return { error: { reason: error instanceof Problem ? error.reason : undefined, message } }
}

/** The one way to stdout for commands of the operator: what they print may be another's words, as a backup's are. */
function print(text: string) {
  process.stdout.write(`${printable(text)}\n`)
}

function complain(text: string) {
  process.stderr.write(`${printable(text)}\n`)
}
