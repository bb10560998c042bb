/** The command line: which command, with which settings, ending in which exit code. */
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'
import { ConfigError, describeConfig, flagName, type LoadedConfig, loadConfig, SETTINGS } from './config.ts'
import { Problem } from './contract/index.ts'
import { COMMANDS, type Command, type CommandCall, examine, JSON_OPTION, table, UsageError } from './operator/index.ts'

/** 0 done; 1 the caller's fault; 2 wrong usage; 3 the service's fault, worth a retry. */
const EXIT = { done: 0, caller: 1, usage: 2, service: 3 } as const

const SETTING_OPTIONS: ParseArgsOptionsConfig = Object.fromEntries(
  ['config', ...Object.keys(SETTINGS).map(flagName)].map((name) => [name, { type: 'string' }]),
)

export async function run(argv: string[]): Promise<number> {
  try {
    return await dispatch(argv)
  } catch (error) {
    const code = exitCodeOf(error)
    process.stderr.write(`headland: ${(error as Error).message}\n`)
    if (code === EXIT.usage) process.stderr.write("Try 'headland --help'.\n")
    return code
  }
}

async function dispatch(argv: string[]): Promise<number> {
  const wanted = commands.find(({ name }) => name === argv.slice(0, name.split(' ').length).join(' '))
  if (!wanted) {
    const isHelp = argv.length === 0 || argv[0] === '--help' || argv[0] === 'help'
    if (!isHelp) throw new UsageError(`there is no command '${argv.slice(0, 2).join(' ')}'`)
    print(overview())
    return argv.length === 0 ? EXIT.usage : EXIT.done
  }
  const { values, positionals } = parse(wanted, argv.slice(wanted.name.split(' ').length))
  if (values.help) {
    print(helpOf(wanted))
    return EXIT.done
  }
  if (positionals.length !== wanted.positionals.length) {
    throw new UsageError(`usage: headland ${[wanted.name, ...wanted.positionals].join(' ')}`)
  }
  const options = values as CommandCall['options']
  const loaded = loadConfig({ flags: options as Record<string, string | undefined> })
  return (await wanted.run(loaded, positionals, options)) ?? EXIT.done
}

type Entry = Pick<Command, 'name' | 'positionals' | 'summary' | 'options'> & {
  run(loaded: LoadedConfig, positionals: string[], options: CommandCall['options']): Promise<number | undefined>
}

const commands: readonly Entry[] = [
  {
    name: 'serve',
    positionals: [],
    summary: 'Run the service until it is told to stop',
    options: {},
    run: ({ config }) => serveUntilStopped(config),
  },
  ...COMMANDS.map(
    (command): Entry => ({
      ...command,
      async run({ config }, positionals, options) {
        // Opened by the first call, so that a command that finds its usage wrong touches nothing.
        const { openGround } = await import('./main.ts')
        let opened: ReturnType<typeof openGround> | undefined
        const ground = () => (opened ??= openGround(config.dataDir))
        try {
          return await command.run({ positionals, options, ground, print })
        } finally {
          await (await opened)?.sql.close()
        }
      },
    }),
  ),
  {
    name: 'config',
    positionals: [],
    summary: 'Print every setting and where it came from',
    options: JSON_OPTION,
    async run(loaded, _, { json }) {
      const rows = describeConfig(loaded)
      print(
        json
          ? JSON.stringify(rows)
          : table(rows.map(({ key, value, origin }) => ({ setting: key, value, from: origin }))),
      )
      return EXIT.done
    },
  },
  {
    name: 'doctor',
    positionals: [],
    summary: 'Tell what this machine can isolate and limit, and what is missing',
    options: JSON_OPTION,
    async run({ config }, _, { json }) {
      const { filesIn } = await import('./main.ts')
      const { dataDir, bubblewrap, jobNetwork, blockedNetworks, allowedNetworks } = config
      const network = { range: jobNetwork, blocked: blockedNetworks, allowed: allowedNetworks }
      const findings = await examine({ dataDir, masterKeyFile: filesIn(dataDir).masterKey, bubblewrap, network })
      print(json ? JSON.stringify(findings) : table(findings.map((finding) => ({ ...finding }))))
      return findings.some(({ state }) => state === 'broken') ? EXIT.caller : EXIT.done
    },
  },
]

async function serveUntilStopped(config: LoadedConfig['config']): Promise<number> {
  const { serve } = await import('./main.ts')
  const signals = ['SIGTERM', 'SIGINT'] as const
  const asked = new Promise<void>((resolve) => {
    for (const signal of signals) process.once(signal, () => resolve())
  })
  const service = await serve(config, (error) => {
    process.stderr.write(`headland: ${error.message}\n`)
    process.exit(EXIT.service)
  })
  print(JSON.stringify({ event: 'ready', api: service.api, edge: service.edge }))
  await asked
  await service.stop()
  return EXIT.done
}

function parse({ options }: Entry, args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: { ...SETTING_OPTIONS, ...options, help: { type: 'boolean', short: 'h' } },
    })
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError || error instanceof ConfigError) return EXIT.usage
  return error instanceof Problem ? EXIT.caller : EXIT.service
}

function overview(): string {
  const rows = commands.map(({ name, positionals, summary }) => [[name, ...positionals].join(' '), summary] as const)
  const width = Math.max(...rows.map(([usage]) => usage.length))
  return [
    'headland: a self-hosted home for headless front ends',
    '',
    ...rows.map(([usage, summary]) => `  headland ${usage.padEnd(width)}  ${summary}`),
    '',
    "'headland COMMAND --help' tells more. Every command takes the settings that 'headland config' prints, as flags.",
  ].join('\n')
}

function helpOf({ name, positionals, summary, options }: Entry): string {
  const own = Object.entries(options).map(([option, { type, describe }]) => [
    `--${option}${type === 'string' ? ` ${option.toUpperCase()}` : ''}`,
    describe,
  ])
  const settings = Object.entries(SETTINGS).map(([key, { meaning }]) => [`--${flagName(key)} VALUE`, meaning])
  const show = (rows: string[][]) => rows.map(([flag = '', meaning]) => `  ${flag.padEnd(26)}${meaning}`)
  return [
    `headland ${[name, ...positionals].join(' ')}`,
    '',
    `${summary}.`,
    '',
    ...(own.length > 0 ? ['Options:', ...show(own), ''] : []),
    'Settings:',
    ...show([['--config FILE', 'Read settings from this file instead of ./headland.json.'], ...settings]),
  ].join('\n')
}

function print(text: string) {
  process.stdout.write(`${text}\n`)
}
