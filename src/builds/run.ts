/**
 * Does what a plan says, in the sandbox: install, build, and find the output. Each phase has a deadline; what fails is told
 * with the line of the log that shows it.
 */
import { access, lstat, readdir, realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Problem, type Reason } from '../contract/index.ts'
import { type Engine, type Exit, type Job, type Mount, type Output, runToEnd } from '../engines/index.ts'
import type { LineLog } from '../storage/index.ts'
import type { Command, Plan, ServerOutput, StaticOutput } from './plan.ts'
import type { Toolchain } from './toolchain.ts'

export type Deadlines = { installMs: number; buildMs: number }

export const DEFAULT_DEADLINES: Deadlines = { installMs: 10 * 60_000, buildMs: 20 * 60_000 }

export type RunParts = {
  engine: Engine
  toolchain: Toolchain
  deadlines: Deadlines
}

export type Run = {
  plan: Plan
  /** The unpacked archive, which belongs to the user. */
  workFolder: string
  /** Kept between builds of the environment: the package manager's own store. */
  cacheFolder: string
  user: Job['user']
  /** Shell variables and what the service tells every build. */
  variables: Readonly<Record<string, string>>
  log: LineLog
  signal: AbortSignal
  enter(phase: 'INSTALLING' | 'BUILDING'): Promise<void>
}

/** Inside, the work folder is here whatever it is called outside: tools write absolute paths into what they make. */
export const WORK = '/app'
const CACHE = '/cache'

/** Resolves to the folder that holds the output. */
export async function runPlan({ engine, toolchain, deadlines }: RunParts, run: Run): Promise<string> {
  const { plan, workFolder, log } = run
  const root = plan.rootDirectory ? `${WORK}/${plan.rootDirectory}` : WORK
  const rootOutside = join(workFolder, plan.rootDirectory)

  if (plan.install) {
    await run.enter('INSTALLING')
    if (plan.packageManager && plan.packageManager.lockfile === null) {
      log.say('INSTALLING', 'There is no lockfile: versions are chosen now, and may differ next time.')
    }
    await step('INSTALLING', plan.install, deadlines.installMs, diagnoseInstall)
  }
  if (plan.build) {
    await run.enter('BUILDING')
    await step('BUILDING', plan.build, deadlines.buildMs, () => 'BUILD_SCRIPT_FAILED')
  }
  return plan.output.kind === 'server' ? serverOutput(plan.output) : staticOutput(plan.output)

  async function step(
    phase: 'INSTALLING' | 'BUILDING',
    command: Command,
    deadlineMs: number,
    diagnose: (tail: string) => Reason,
  ) {
    log.say(phase, `$ ${command.argv.join(' ')}`)
    const deadline = new AbortController()
    const timer = setTimeout(() => deadline.abort(), deadlineMs)
    let tail = ''
    try {
      const signal = AbortSignal.any([run.signal, deadline.signal])
      const onOutput: Output = (stream, chunk) => {
        log.write(stream, phase, chunk)
        tail = (tail + chunk).slice(-TAIL_CHARACTERS)
      }
      const exit = await inside(command.argv, environmentOf(run, toolchain), onOutput, signal)
      run.signal.throwIfAborted()
      if (deadline.signal.aborted) {
        const seconds = Math.round(deadlineMs / 1000)
        throw new Problem('BUILD_TIMEOUT', `${phase.toLowerCase()} took longer than ${seconds} s.`, {
          metadata: { phase, seconds: String(seconds) },
        })
      }
      if (exit.code === 0) return
      throw failed(diagnose(tail), phase, command.argv, exit)
    } finally {
      clearTimeout(timer)
    }
  }

  function inside(
    argv: readonly string[],
    environment: Job['environment'],
    onOutput: Output,
    signal: AbortSignal,
  ): Promise<Exit> {
    const mounts: Mount[] = [
      { from: workFolder, to: WORK, isWritable: true },
      { from: run.cacheFolder, to: CACHE, isWritable: true },
      ...toolchain.mounts,
    ]
    return runToEnd(engine, { argv, cwd: root, environment, mounts, user: run.user }, onOutput, signal)
  }

  async function serverOutput({ folder, copies, writable }: ServerOutput): Promise<string> {
    if (!(await folderOf(folder))) throw noOutput([folder])
    for (const { from, to } of copies) {
      if (!(await exists(join(rootOutside, from)))) continue
      await arrange(['mkdir', '-p', '--', dirname(to)])
      await arrange(['cp', '-aT', '--', from, to])
    }
    // Where the app writes while it runs, something must be for the mount to cover.
    if (writable.length > 0) await arrange(['mkdir', '-p', '--', ...writable.map((name) => join(folder, name))])
    const found = await folderOf(folder)
    if (!found) throw noOutput([folder])
    return found
  }

  /** By the app's own user and in its sandbox: what the build left may be links, which the service would follow. */
  async function arrange(argv: readonly string[]) {
    const signal = AbortSignal.any([run.signal, AbortSignal.timeout(deadlines.buildMs)])
    const onOutput: Output = (stream, chunk) => log.write(stream, 'BUILDING', chunk)
    const exit = await inside(argv, { PATH: toolchain.path }, onOutput, signal)
    run.signal.throwIfAborted()
    if (exit.code !== 0) throw failed('NO_OUTPUT', 'BUILDING', argv, exit)
  }

  async function staticOutput({ folder, candidates }: StaticOutput): Promise<string> {
    const looked = [folder, ...candidates]
    for (const candidate of looked) {
      const found = await folderOf(candidate)
      if (!found) continue
      const isUsable = looked.length === 1 ? await hasEntries(found) : await exists(join(found, 'index.html'))
      if (!isUsable) continue
      if (looked.length > 1) log.say('BUILDING', `The output is in ${candidate}.`)
      return found
    }
    throw noOutput(looked)
  }

  /** Where a folder really is; nothing when it is none, or when a link that the build made leads out of its own folder. */
  async function folderOf(path: string): Promise<string | undefined> {
    const found = await realpath(join(rootOutside, path)).catch(absent)
    if (found === undefined || !(await lstat(found)).isDirectory()) return undefined
    return `${found}/`.startsWith(`${await realpath(workFolder)}/`) ? found : undefined
  }
}

const TAIL_CHARACTERS = 20_000

function environmentOf({ plan, variables }: Run, toolchain: Toolchain): Record<string, string> {
  return {
    ...plan.environment,
    ...variables,
    PATH: toolchain.path,
    HOME: '/tmp',
    TMPDIR: '/tmp',
    LANG: 'C.UTF-8',
    CI: '1',
    // Trust what this machine trusts: a company's own registry has a company's own certificate.
    NODE_USE_SYSTEM_CA: '1',
    npm_config_cache: `${CACHE}/npm`,
    npm_config_audit: 'false',
    npm_config_fund: 'false',
    npm_config_update_notifier: 'false',
    HUSKY: '0',
    PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD: '1',
    PUPPETEER_SKIP_DOWNLOAD: '1',
    CYPRESS_INSTALL_BINARY: '0',
  }
}

function diagnoseInstall(tail: string): Reason {
  return /can only install packages when your package\.json and .* are in sync|npm error Missing: .* from lock file/.test(
    tail,
  )
    ? 'LOCKFILE_MISMATCH'
    : 'INSTALL_FAILED'
}

function failed(reason: Reason, phase: string, argv: readonly string[], exit: Exit): Problem {
  const how = exit.signal ? `was killed by ${exit.signal}` : `ended with exit code ${exit.code}`
  return new Problem(reason, `\`${argv.join(' ')}\` ${how}.`, {
    metadata: { phase, exitCode: String(exit.code ?? exit.signal) },
  })
}

const noOutput = (looked: readonly string[]): Problem =>
  new Problem('NO_OUTPUT', `The build ended well, but left nothing in ${looked.join(', ')}.`, {
    metadata: { looked: looked.join(', ') },
  })

const hasEntries = async (folder: string): Promise<boolean> => (await readdir(folder)).length > 0

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

function absent(error: NodeJS.ErrnoException): undefined {
  if (!['ENOENT', 'ENOTDIR', 'ELOOP'].includes(error.code ?? '')) throw error
}
