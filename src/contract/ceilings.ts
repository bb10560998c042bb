/** Limits for each account, so that one account cannot use up what the others need. */
import { Problem } from './problems/problems.ts'

export const CEILING_KINDS = [
  'APPS',
  'ENVIRONMENTS',
  'DOMAINS',
  'CREDENTIALS',
  'AWAKE_APPS',
  'APP_MEMORY',
  'RUNNING_BUILDS',
] as const
export type CeilingKind = (typeof CEILING_KINDS)[number]

/** 0 for no limit. */
export type Ceilings = Record<CeilingKind, number>

export const NO_CEILINGS = Object.fromEntries(CEILING_KINDS.map((kind) => [kind, 0])) as Ceilings

/** The setting with which the operator changes each limit. */
export const CEILING_SETTINGS = {
  APPS: 'accountApps',
  ENVIRONMENTS: 'accountEnvironments',
  DOMAINS: 'accountDomains',
  CREDENTIALS: 'accountCredentials',
  AWAKE_APPS: 'accountAwakeApps',
  APP_MEMORY: 'accountAppMemory',
  RUNNING_BUILDS: 'accountBuilds',
} as const satisfies Record<CeilingKind, string>

const WORDS: Record<CeilingKind, string> = {
  APPS: 'apps',
  ENVIRONMENTS: 'environments, with those that are being deleted',
  DOMAINS: 'custom domains in all its environments',
  CREDENTIALS: 'API credentials',
  AWAKE_APPS: 'apps awake at a time',
  APP_MEMORY: 'bytes of memory for its awake apps together',
  RUNNING_BUILDS: 'builds at a time',
}

export const isAbove = (count: number, limit: number): boolean => limit > 0 && count > limit

/** The problem for an account that would exceed a limit. */
export function aboveCeiling(kind: CeilingKind, limit: number): Problem {
  const setting = CEILING_SETTINGS[kind]
  const max = limit.toLocaleString('en')
  return new Problem(
    'ACCOUNT_LIMIT',
    `The account may have ${max} ${WORDS[kind]}. Remove what is no longer needed, or ask the operator to raise ${setting}.`,
    { metadata: { kind, limit: String(limit), setting } },
  )
}
