/**
 * Which apps of one account are awake together. When a further app does not fit, the account's own app that was unvisited for
 * longest is put to sleep, so no account ever takes a slot from another. What an app uses is measured, not reserved: most use
 * far less than they may.
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
}

/** Whether a further app may start: now, after the returned app was put to sleep, or only after another has started or ended. */
export function slotFor<T extends AwakeApp>(
  wanted: AwakeApp,
  awake: readonly T[],
  limits: AwakeLimits,
): 'free' | 'none' | T {
  // A new deployment of an app starts beside the one that it replaces.
  const isReplacement = awake.some(({ environment }) => environment === wanted.environment)
  if (isReplacement || awake.length === 0) return 'free'
  const bytes = wanted.memoryBytes + totalMemoryBytes(awake)
  if (!isOver(countApps(awake) + 1, limits.apps) && !isOver(bytes, limits.memoryBytes)) return 'free'
  return longestUnvisited(awake) ?? 'none'
}

/** The apps that have to sleep so that the others stay within the memory limit; at least one stays awake. */
export function appsToSleep<T extends AwakeApp>(awake: readonly T[], { memoryBytes }: AwakeLimits): T[] {
  const left = [...awake]
  const sleeping: T[] = []
  while (isOver(totalMemoryBytes(left), memoryBytes) && left.length > 1) {
    const oldest = longestUnvisited(left)
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
export const countApps = (awake: readonly AwakeApp[]): number =>
  new Set(awake.map(({ environment }) => environment)).size

export const totalMemoryBytes = (awake: readonly AwakeApp[]): number =>
  awake.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0)

const longestUnvisited = <T extends AwakeApp>(awake: readonly T[]): T | undefined =>
  awake.filter(({ isRunning }) => isRunning).toSorted((a, b) => a.visitTime - b.visitTime)[0]
