/**
 * Which apps of one account are awake together. When a further app does not fit, the account's own app that was unvisited for
 * longest is put to sleep, so no account ever takes a slot from another. What an app uses is measured, not reserved: most use
 * far less than they may. One that sleeps frozen is not awake, but its memory counts, and is the first to be given back.
 */
import { aboveCeiling, type Problem } from '../contract/index.ts'

/** 0 for no limit. */
export type AwakeLimits = { apps: number; memoryBytes: number }

export const NO_AWAKE_LIMITS: AwakeLimits = { apps: 0, memoryBytes: 0 }

export type AwakeApp = {
  environment: string
  /** What it uses, or used when it was last awake. */
  memoryBytes: number
  visitTime: number
  /** It answers, and so can be put to sleep; one that starts cannot. */
  isRunning: boolean
  /** It sleeps, and keeps its memory. */
  isFrozen?: boolean
}

/** Whether a further app may start: now, after the returned app has made way, or only after another has started or ended. */
export function slotFor<T extends AwakeApp>(
  wanted: AwakeApp,
  others: readonly T[],
  limits: AwakeLimits,
): 'free' | 'none' | T {
  const awake = others.filter(({ isFrozen }) => !isFrozen)
  // A new deployment of an app starts beside the one that it replaces.
  const isReplacement = awake.some(({ environment }) => environment === wanted.environment)
  if (isReplacement || others.length === 0) return 'free'
  const isMemoryNeeded = isOver(wanted.memoryBytes + totalMemoryBytes(others), limits.memoryBytes)
  const frozen = isMemoryNeeded ? longestUnvisited(others.filter(({ isFrozen }) => isFrozen)) : undefined
  if (frozen) return frozen
  if (awake.length === 0 || (!isMemoryNeeded && !isOver(countApps(awake) + 1, limits.apps))) return 'free'
  return longestUnvisited(awake.filter(({ isRunning }) => isRunning)) ?? 'none'
}

/** The apps that have to give back their memory so that the others stay within the limit; at least one stays awake. */
export function appsToSleep<T extends AwakeApp>(apps: readonly T[], { memoryBytes }: AwakeLimits): T[] {
  const left = [...apps]
  const sleeping: T[] = []
  while (isOver(totalMemoryBytes(left), memoryBytes)) {
    const awake = left.filter(({ isFrozen }) => !isFrozen)
    const oldest =
      longestUnvisited(left.filter(({ isFrozen }) => isFrozen)) ??
      (awake.length > 1 ? longestUnvisited(awake.filter(({ isRunning }) => isRunning)) : undefined)
    if (!oldest) break
    sleeping.push(oldest)
    left.splice(left.indexOf(oldest), 1)
  }
  return sleeping
}

/** Why there is no slot beside these. */
export function noSlot(others: readonly AwakeApp[], { apps, memoryBytes }: AwakeLimits): Problem {
  const isFull = apps > 0 && countApps(others) >= apps
  return isFull ? aboveCeiling('AWAKE_APPS', apps) : aboveCeiling('APP_MEMORY', memoryBytes)
}

const isOver = (figure: number, limit: number): boolean => limit > 0 && figure > limit

/** Two deployments of one environment count as one app. */
export const countApps = (apps: readonly AwakeApp[]): number =>
  new Set(apps.filter(({ isFrozen }) => !isFrozen).map(({ environment }) => environment)).size

export const totalMemoryBytes = (awake: readonly AwakeApp[]): number =>
  awake.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0)

/** What each environment uses, by its id. */
export function memoryOfEach(awake: readonly AwakeApp[]): Record<string, number> {
  const each: Record<string, number> = {}
  for (const { environment, memoryBytes } of awake) each[environment] = (each[environment] ?? 0) + memoryBytes
  return each
}

const longestUnvisited = <T extends AwakeApp>(apps: readonly T[]): T | undefined =>
  apps.toSorted((a, b) => a.visitTime - b.visitTime)[0]
