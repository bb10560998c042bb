/** The command line: finds the command, reads its options, runs it, and turns errors into messages and exit codes. */
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
import { auditingOperator, COMMANDS, examine } from './operator/index.ts'
import { parentGone } from './parent.ts'
import { SETTINGS } from './settings.ts'

export async function run(argv: string[]): Promise<number> {
  // The reader of a pipe may end early, as in `headland builds | head`.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    process.exit(EXIT.done)
  })
  try {
    return await dispatch(argv)
  } catch (error) {
    const code = exitCodeOf(error)
    printError(argv.includes('--json') ? JSON.stringify(asJson(error)) : asText(error))
    if (code === EXIT.usage && !argv.includes('--json')) printError("Try 'headland --help'.")
    return code
  }
}

async function dispatch(argv: string[]): Promise<number> {
  // The longest name wins: `apps create` rather than `apps` with a positional.
  const [wanted] = commands
    .filter(({ name }) => name === argv.slice(0, name.split(' ').length).join(' '))
    .toSorted((a, b) => b.name.length - a.name.length)
  if (!wanted) return runWithoutCommand(argv)
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
async function runWithoutCommand(argv: string[]): Promise<number> {
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

/** Compares with whole names first, then with first words, as the second word may be a positional. */
function suggestion(typed: string): string {
  const [first = ''] = typed.split(' ')
  const names = commands.map(({ name }) => name)
  const firsts = [...new Set(names.map((name) => name.split(' ')[0] ?? ''))]
  return didYouMean(typed, names) || (firsts.includes(first) ? '' : didYouMean(first, firsts))
}

type RunnableCommand = CommandForm & {
  /** An operator's command works on the data folder and takes settings as flags; a client's calls a service by HTTP. */
  who: 'operator' | 'client'
  run(positionals: string[], options: OptionValues): Promise<number | undefined>
}

const settingsFrom = (options: OptionValues): LoadedConfig =>
  loadConfig({ flags: options as Record<string, string | undefined> })

const commands: readonly RunnableCommand[] = [
  {
    name: 'serve',
    who: 'operator',
    positionals: [],
    summary: 'Run the service until it is told to stop',
    options: {},
    run: (_, options) => serveUntilStopped(settingsFrom(options).config),
  },
  {
    name: 'reload',
    who: 'operator',
    positionals: [],
    summary: 'Let this version take over from the service that runs, without a failed request',
    options: {},
    async run(_, options) {
      const { filesIn } = await import('./data-files.ts')
      const { askToReload } = await import('./processes/operators.ts')
      const { version } = await import('./version.ts')
      const [, program = ''] = process.argv
      await askToReload(filesIn(settingsFrom(options).config.dataDir).serveSocket, program).catch((error) => {
        throw new Refused(error.message)
      })
      print(`Version ${version} serves now.`)
      return EXIT.done
    },
  },
  ...COMMANDS.map(
    (command): RunnableCommand => ({
      ...command,
      who: 'operator',
      async run(positionals, options) {
        const { config } = settingsFrom(options)
        // Opened by the first call, so that a command with wrong usage touches nothing.
        const { openDatabase, dataFolder } = await import('./data-folder.ts')
        let opened: ReturnType<typeof openDatabase> | undefined
        const ground = () => (opened ??= openDatabase(config.dataDir, { databaseUrl: config.databaseUrl }))
        try {
          const call = { positionals, options, services: ground, folder: dataFolder(config), print }
          return await (command.audited
            ? auditingOperator(command.audited, () => command.run(call))
            : command.run(call))
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
      const rows = describeConfig(settingsFrom(options))
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
    summary: 'Report what this machine can isolate and limit, and what is missing',
    options: JSON_OPTION,
    async run(_, options) {
      const { config } = settingsFrom(options)
      const { filesIn } = await import('./data-files.ts')
      const { version } = await import('./version.ts')
      const { dataDir, bubblewrap, jobNetwork, blockedNetworks, allowedNetworks, listen, domain } = config
      const network = { range: jobNetwork, blocked: blockedNetworks, allowed: allowedNetworks }
      const service = serviceAt(listen)
      const masterKeyFile = filesIn(dataDir).masterKey
      const { dataFolder } = await import('./data-folder.ts')
      const [folder, hasAcme] = [dataFolder(config), config.acmeEmail !== undefined]
      const registry = config.registry === undefined ? undefined : { ...config, registry: config.registry }
      const machine = { dataDir, masterKeyFile, bubblewrap, network, domain, folder }
      const examined = { ...machine, version, service, hasAcme, registry }
      const findings = await examine(examined)
      print(options.json ? JSON.stringify(findings) : table(findings.map((finding) => ({ ...finding }))))
      return findings.some(({ state }) => state === 'broken') ? EXIT.caller : EXIT.done
    },
  },
  ...CLIENT_COMMANDS.map(
    (command): RunnableCommand => ({
      ...command,
      who: 'client',
      run: (positionals, options) => command.run(callOf(positionals, options)),
    }),
  ),
  {
    name: 'completion',
    who: 'client',
    positionals: ['SHELL', '[WORD…]'],
    summary: `Print a completion script for a shell: ${SHELLS.join(', ')}`,
    options: {
      names: {
        type: 'string',
        oneOf: NAME_KINDS,
        value: 'KIND',
        describe: 'Print the names that can complete the typed WORDs; the script calls this.',
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
      // The user who types does not wait for a service that still has not answered.
      process.exit(EXIT.done)
    },
  },
]

/** A description follows its word after a tab, as fish expects. */
const asLine = ({ word, about }: Completion): string => (about ? `${word}\t${about}\n` : `${word}\n`)

function callOf(positionals: string[], options: OptionValues): ClientCall {
  const environment = clientEnvironment()
  const streams = { input: process.stdin, output: process.stdout, words: process.stderr }
  const terminal = createTerminal(streams, {
    isPlain: environment.isCi || options.json === true,
    isDumb: environment.isDumbTerminal,
    colour: environment.wantsColour,
  })
  const version = async () => (await import('./version.ts')).version
  return { positionals, options, folder: process.cwd(), environment, terminal, version }
}

async function serveUntilStopped(config: LoadedConfig['config']): Promise<number> {
  const ended = new AbortController()
  const orphaned = parentGone(startersOf(), { signal: ended.signal }).then(() => {
    if (!ended.signal.aborted) printError(ORPHANED)
  })
  // Under npm, Ctrl-C arrives twice: from the terminal and from npm. A stop has a time limit, so the second is ignored.
  const stopRequested = new Promise<void>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => resolve())
  })
  try {
    const { serve } = await import('./processes/serve.ts')
    const service = await serve(config, {
      program: process.argv[1] ?? '',
      commandOf,
      onDeath(error) {
        printError(`headland: ${error.message}`)
        process.exit(EXIT.service)
      },
    })
    process.on('SIGHUP', service.reload)
    print(JSON.stringify({ event: 'ready', ...service.addresses }))
    await Promise.race([stopRequested, orphaned])
    await service.stop()
    return EXIT.done
  } finally {
    ended.abort()
  }
}

/** The flags of this command are those of its processes. */
function commandOf(program: string, role: string): string[] {
  const [node = process.execPath, , , ...flags] = process.argv
  return [node, ...nodeFlagsOf(role), '--', program, 'role', role, ...flags]
}

/**
 * They differ in the memory for what is used for a short time, of which V8 copies what is still in use whenever it is full. An edge
 * has that of Node's default, since it copies much; a control process has enough for the requests of many callers at a time.
 */
function nodeFlagsOf(role: string): string[] {
  if (role === 'edge') return []
  return role === 'control' ? [...process.execArgv, '--max-semi-space-size=8'] : process.execArgv
}

const ORPHANED =
  "headland: the process that started the service is gone, so it stops. To run it without a parent, start 'bin/headland serve' yourself, not by npm."

/** Flags of an operator's command: every setting, and the file to read them from. */
function settingsOf({ who }: RunnableCommand): Record<string, OptionForm> {
  if (who === 'client') return {}
  const settings = Object.entries(SETTINGS).map(([key, { meaning }]): [string, OptionForm] => [
    flagName(key),
    { type: 'string', value: 'VALUE', describe: meaning },
  ])
  const config = { type: 'string', value: 'FILE', describe: 'Read settings from this file instead of ./headland.json.' }
  return { config: config as OptionForm, ...Object.fromEntries(settings) }
}

function parse(command: RunnableCommand, args: string[]) {
  try {
    const options = { ...settingsOf(command), ...command.options, help: { type: 'boolean', short: 'h' } as const }
    const parsed = parseArgs({ args: withValues(args, command.options), allowPositionals: true, options })
    for (const [name, { oneOf }] of Object.entries<OptionForm>(command.options)) {
      const values = [parsed.values[name as keyof typeof parsed.values] as unknown].flat()
      const wrong = values.find((value) => typeof value === 'string' && !oneOf?.includes(value))
      if (oneOf && typeof wrong === 'string') {
        throw new UsageError(`--${name} is one of ${oneOf.join(', ')}.${didYouMean(wrong, oneOf)}`)
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

/** Gives an option that stands alone, and may, an empty value. */
function withValues(args: readonly string[], options: Record<string, OptionForm>): string[] {
  const end = args.indexOf('--')
  return args.map((word, at) => {
    const isAlone = args[at + 1]?.startsWith('-') ?? true
    const isBefore = end === -1 || at < end
    return isBefore && isAlone && options[word.replace(/^--/, '')]?.isValueOptional ? `${word}=` : word
  })
}

function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError || error instanceof ConfigError) return EXIT.usage
  if (error instanceof CallFailed) return error.exitCode
  const isCallers = [Problem, Interrupted, Refused].some((kind) => error instanceof kind)
  return isCallers ? EXIT.caller : EXIT.service
}

function asText(error: unknown): string {
  const { message } = error as Error
  // The text may come from a tenant: further lines are indented, so that none looks like a message of ours.
  const prefixed = (text: string) => `headland: ${text.replaceAll('\n', '\n  ')}`
  if (!(error instanceof CallFailed)) return prefixed(message)
  const reason = error.status === 0 ? '' : ` (${error.reason})`
  const more = [...(error.todo ? [error.todo] : []), ...(error.help ? [`More: ${error.help}`] : [])]
  return [prefixed(`${message}${reason}`), ...more.map((line) => `  ${line}`)].join('\n')
}

function asJson(error: unknown) {
  const { message } = error as Error
  if (error instanceof CallFailed)
    return { error: { reason: error.reason, message, todo: error.todo, help: error.help } }
  return { error: { reason: error instanceof Problem ? error.reason : undefined, message } }
}

/** Operators' commands print by this alone, since their text may come from others, such as the author of a backup. */
function print(text: string) {
  process.stdout.write(`${printable(text)}\n`)
}

function printError(text: string) {
  process.stderr.write(`${printable(text)}\n`)
}
