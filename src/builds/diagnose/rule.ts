/** What a rule of diagnosis sees, and what it says when it knows the failure. */
import type { Reason } from '../../contract/index.ts'
import type { Missing } from './native-packages.ts'

export type FailedPhase = 'INSTALLING' | 'BUILDING' | 'STARTING'

export type Line = { number: number; text: string }

export type Exit = { code: number | null; signal: string | null }

export type PhaseFailure = {
  phase: FailedPhase
  argv: readonly string[]
  exit: Exit
  /** The last lines of this phase as they stand in the log, secrets hidden: messages quote from them. */
  lines: readonly Line[]
  /** `npm`, or with its version: `npm 11.6.2`. */
  packageManager: string | null
  /** The path of the lockfile in the archive; null where there is none. */
  lockfile: string | null
  /** Native packages for this platform that were asked for and are not installed, as far as that is known. */
  missing: readonly Missing[]
  /** Hosts that stand in the variables of the environment. */
  cmsHosts: readonly string[]
  /** Addresses that the phase called, and the names that led to them, as far as that is known. */
  names: Readonly<Record<string, string>>
  /** Set when the phase was ended because it took longer than this. */
  deadlineSeconds?: number
  /** Whether the kernel ended a process of the phase for want of memory, where that is known. */
  oomKilled?: boolean
}

/** A failure whose lines are cleaned: no escapes, no endless line, no more lines than can be read in a moment. */
export type Evidence = PhaseFailure

export type Finding = {
  reason: Reason
  /** One or two sentences: what happened, with names, and what to do. */
  message: string
  /** Where in the lines the proof stands; -1 where no line shows it. */
  at: number
  /** The last place that shows it: what ended a program stands near the end of its log. */
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
 * All places where one of the patterns is found. Whoever writes a log may be an enemy, so every pattern here begins with a
 * literal or at the start of the line, and bounds what it repeats: time grows with the log, never with its square.
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

/** `npm`, `pnpm`, `yarn` or `bun`; npm where nobody says. */
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
  /** Where package.json says the version of what another package brings. */
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
