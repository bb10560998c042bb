/** The input of a diagnosis rule, and its finding. */
import type { Reason } from '../../contract/index.ts'
import type { Missing } from './native-packages.ts'

export type FailedPhase = 'INSTALLING' | 'BUILDING' | 'STARTING'

export type Line = { number: number; text: string }

export type Exit = { code: number | null; signal: string | null }

export type PhaseFailure = {
  phase: FailedPhase
  argv: readonly string[]
  exit: Exit
  /** The last lines of this phase in the log, with secrets hidden: messages quote them. */
  lines: readonly Line[]
  /** `npm`, or with its version: `npm 11.6.2`. */
  packageManager: string | null
  /** The path of the lockfile in the archive; null where there is none. */
  lockfile: string | null
  /** Native packages for this platform that are required and not installed, as far as known. */
  missing: readonly Missing[]
  /** Hosts that the variables of the environment name. */
  cmsHosts: readonly string[]
  /** Host names by the addresses that the phase contacted, as far as known. */
  names: Readonly<Record<string, string>>
  /** Set when the phase was killed because it took longer than this. */
  deadlineSeconds?: number
  /** Whether the kernel killed a process of the phase for lack of memory, where that is known. */
  oomKilled?: boolean
}

/** A failure with cleaned lines: no control sequences, no long lines, and a limited number of lines. */
export type Evidence = PhaseFailure

export type Finding = {
  reason: Reason
  /** One or two sentences: what happened, with names, and what to do. */
  message: string
  /** The index of the line that shows it; -1 where none does. */
  at: number
  /** The index of the last line that shows it: a fatal error is near the end of the log. */
  lastAt: number
  metadata?: Record<string, string>
}

export type Rule = {
  phases: readonly FailedPhase[]
  find(evidence: Evidence): Finding | undefined
}

export const EVERY_PHASE: readonly FailedPhase[] = ['INSTALLING', 'BUILDING', 'STARTING']
export const RUNNING_CODE: readonly FailedPhase[] = ['BUILDING', 'STARTING']

export type Hit = { index: number; match: RegExpExecArray }

/**
 * All lines that match one of the patterns. Logs are untrusted, so every pattern begins with a literal or at the start of the
 * line, and bounds its repetitions: the time is linear in the size of the log.
 */
export function search(lines: readonly Line[], ...patterns: readonly RegExp[]): Hit[] {
  const hits: Hit[] = []
  for (const [index, { text }] of lines.entries()) {
    for (const pattern of patterns) {
      const match = pattern.exec(text)
      if (!match) continue
      hits.push({ index, match })
      break
    }
  }
  return hits
}

/** Where the first and the last hit are. */
export const span = (hits: readonly Hit[]): { at: number; lastAt: number } => ({
  at: hits[0]?.index ?? -1,
  lastAt: hits.at(-1)?.index ?? -1,
})

/** `npm`, `pnpm`, `yarn` or `bun`; npm where the manager is unknown. */
export function managerOf({ packageManager, argv }: Pick<Evidence, 'packageManager' | 'argv'>): Manager {
  const name = (packageManager ?? argv[0] ?? '').split(/[ @]/, 1)[0]
  return MANAGERS[name ?? ''] ?? NPM
}

export type Manager = {
  lockfile: string
  install: string
  add: string
  addOptional: string
  addDev: string
  /** The field of package.json that sets the version of an indirect dependency. */
  override: string
}

const NPM: Manager = {
  lockfile: 'package-lock.json',
  install: 'npm install',
  add: 'npm install',
  addOptional: 'npm install --save-optional',
  addDev: 'npm install --save-dev',
  override: 'overrides',
}

const MANAGERS: Record<string, Manager> = {
  npm: NPM,
  pnpm: {
    lockfile: 'pnpm-lock.yaml',
    install: 'pnpm install',
    add: 'pnpm add',
    addOptional: 'pnpm add --save-optional',
    addDev: 'pnpm add --save-dev',
    override: 'pnpm.overrides',
  },
  yarn: {
    lockfile: 'yarn.lock',
    install: 'yarn install',
    add: 'yarn add',
    addOptional: 'yarn add --optional',
    addDev: 'yarn add --dev',
    override: 'resolutions',
  },
  bun: {
    lockfile: 'bun.lock',
    install: 'bun install',
    add: 'bun add',
    addOptional: 'bun add --optional',
    addDev: 'bun add --dev',
    override: 'overrides',
  },
}
