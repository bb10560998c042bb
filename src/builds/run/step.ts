/** Runs one command of a plan in the sandbox. A failure has its reason and the log line that shows it. */
import { Problem } from '../../contract/index.ts'
import {
  type Engine,
  type Excess,
  type Job,
  type Limits,
  type Mount,
  type NetworkNamespace,
  type Output,
  runToEnd,
} from '../../engines/index.ts'
import type { LineLog } from '../../storage/index.ts'
import type { Missing } from '../diagnose/native-packages.ts'
import { diagnosePhase } from '../isolated/on-demand.ts'
import type { Toolchain } from '../toolchain/index.ts'
import { bytesInWords, secondsInWords } from './log-words.ts'
import type { View } from './workspace.ts'

export type Phase = 'INSTALLING' | 'BUILDING'

export type Runner = {
  engine: Engine
  toolchain: Toolchain
  user: Job['user']
  log: LineLog
  signal: AbortSignal
  packageManager: string | null
  limits: Limits
  network: NetworkNamespace | undefined
  /** The path of the lockfile in the archive. */
  lockfile: string | null
  /** Hosts that the variables of the environment name. */
  cmsHosts: readonly string[]
}

export type Step = {
  phase: Phase
  argv: readonly string[]
  cwd: string
  environment: Readonly<Record<string, string>>
  view: View
  mounts?: readonly Mount[]
  overlays?: Job['overlays']
  deadlineMs: number
  /** Native packages that are needed and missing. */
  missing?: readonly Missing[]
}

/** Resolves when the command succeeded. */
export async function runStep(runner: Runner, step: Step): Promise<void> {
  const { engine, log, signal } = runner
  const { phase, argv, deadlineMs } = step
  log.say(phase, `$ ${argv.join(' ')}`)
  const firstLine = log.lastNumber()
  const startTime = performance.now()
  const deadline = new AbortController()
  const timer = setTimeout(() => deadline.abort(), deadlineMs)
  try {
    const onOutput: Output = (stream, chunk) => log.write(stream, phase, chunk)
    const exit = await runToEnd(engine, jobOf(runner, step), onOutput, AbortSignal.any([signal, deadline.signal]))
    signal.throwIfAborted()
    const tookMs = performance.now() - startTime
    if (exit.code === 0 && !deadline.signal.aborted) {
      log.say(phase, `\`${argv.join(' ')}\` took ${secondsInWords(tookMs)}.`)
      return
    }
    const excess = exit.excess?.find((limit) => limit !== 'memory')
    if (excess) throw limitExceeded(excess, phase, runner.limits)
    const lines = await log.linesAfter(firstLine)
    const found = await diagnosePhase({
      phase,
      argv,
      exit,
      lines: lines.filter(({ stream }) => stream !== 'service'),
      packageManager: runner.packageManager,
      lockfile: runner.lockfile,
      missing: step.missing ?? [],
      cmsHosts: runner.cmsHosts,
      names: await namesIn(runner),
      ...(exit.excess ? { oomKilled: exit.excess.includes('memory') } : {}),
      ...(deadline.signal.aborted ? { deadlineSeconds: Math.round(deadlineMs / 1000) } : {}),
    })
    throw new Problem(found.reason, found.message, {
      metadata: { ...found.metadata, phase, logLine: String(found.logLine) },
    })
  } finally {
    clearTimeout(timer)
  }
}

/** The host name of each address that was contacted; empty where that cannot be read. */
async function namesIn({ network }: Runner): Promise<Record<string, string>> {
  const contacts = (await network?.contacts().catch(() => undefined)) ?? []
  return Object.fromEntries(contacts.flatMap(({ host, addresses }) => (host ? addresses.map((at) => [at, host]) : [])))
}

function limitExceeded(excess: Exclude<Excess, 'memory'>, phase: Phase, limits: Limits): Problem {
  const { processes, diskBytes, diskFiles } = limits
  if (excess === 'files')
    return new Problem(
      'DISK_LIMIT',
      `It had more than ${(diskFiles ?? 0).toLocaleString('en')} files and folders on the disk, or so many that they could not be counted in time.`,
      { metadata: { phase, what: 'files', limit: String(diskFiles) } },
    )
  if (excess === 'fullDisk')
    return new Problem(
      'DISK_FULL',
      'The disk of the machine was full, and this build had written the most. The operator can free space; a smaller app or a Clean Rebuild may fit.',
      { metadata: { phase } },
    )
  return excess === 'processes'
    ? new Problem('TOO_MANY_PROCESSES', `It had more than ${processes} processes and threads at a time.`, {
        metadata: { phase, limit: String(processes) },
      })
    : new Problem('DISK_LIMIT', `It wrote more than ${bytesInWords(diskBytes ?? 0)} to the disk.`, {
        metadata: { phase, limit: String(diskBytes) },
      })
}

type HelperStep = Omit<Step, 'environment' | 'phase'>

/** Runs a command of the service as the app's user in the sandbox: the service itself would follow links of the build. */
export async function tryHelper(runner: Runner, step: HelperStep): Promise<boolean> {
  const signal = AbortSignal.any([runner.signal, AbortSignal.timeout(step.deadlineMs)])
  const onOutput: Output = (stream, chunk) => runner.log.write(stream, 'BUILDING', chunk)
  const exit = await runToEnd(runner.engine, jobOf(runner, step), onOutput, signal)
  runner.signal.throwIfAborted()
  return exit.code === 0
}

const MAX_OUTPUT_LENGTH = 1000

/** The standard output of a command, which is not logged; undefined when the command fails. */
export async function outputOf(runner: Runner, step: HelperStep): Promise<string | undefined> {
  let output = ''
  const onOutput: Output = (stream, chunk) => {
    if (stream === 'stdout' && output.length < MAX_OUTPUT_LENGTH) output += chunk.toString('latin1')
  }
  const signal = AbortSignal.any([runner.signal, AbortSignal.timeout(step.deadlineMs)])
  const exit = await runToEnd(runner.engine, jobOf(runner, step), onOutput, signal)
  runner.signal.throwIfAborted()
  return exit.code === 0 && output.length <= MAX_OUTPUT_LENGTH ? output : undefined
}

export async function runHelper(runner: Runner, step: HelperStep) {
  if (await tryHelper(runner, step)) return
  throw new Problem('NO_OUTPUT', `The output could not be put in place: \`${step.argv.join(' ')}\` failed.`)
}

function jobOf({ toolchain, user, limits, network }: Runner, step: HelperStep & Partial<Step>): Job {
  const { argv, cwd, environment = {}, view, mounts = [], overlays = [] } = step
  return {
    argv,
    cwd,
    environment: { PATH: toolchain.path, ...environment },
    mounts: [view.mount, ...mounts, ...toolchain.mounts],
    overlays: [...view.overlays, ...overlays],
    user,
    limits,
    name: 'build',
    ...(network ? { network } : {}),
  }
}
