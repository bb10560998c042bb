/**
 * Which apps of one account are awake together. One that does not fit any more takes the place of the account's own app that was
 * unvisited for longest, so no account ever takes a place from another. What an app uses is measured, not reserved: most use far
 * less than they may.
 */

/** 0 for no limit. */
export type AwakeLimits = { apps: number; memoryBytes: number }

export const NO_AWAKE_LIMITS: AwakeLimits = { apps: 0, memoryBytes: 0 }

export type Awake = {
  environment: string
  /** What it uses, or used when it was last awake. */
  memoryBytes: number
  visitTime: number
  /** It answers, and so can be put to sleep; one that starts cannot. */
  isRunning: boolean
}

/** Whether one more may start: at once, after this one was put to sleep, or not before another one has come up or ended. */
export function placeFor<T extends Awake>(
  wanted: Awake,
  awake: readonly T[],
  limits: AwakeLimits,
): 'free' | 'none' | T {
  // A new deployment of an app starts beside the one that it replaces.
  const isReplacement = awake.some(({ environment }) => environment === wanted.environment)
  if (isReplacement || awake.length === 0) return 'free'
  const bytes = wanted.memoryBytes + sumOf(awake)
  if (!isOver(countOf(awake) + 1, limits.apps) && !isOver(bytes, limits.memoryBytes)) return 'free'
  return oldestOf(awake) ?? 'none'
}

/** Those that have to sleep so that the others use no more than they may together; one is always left. */
export function tooMany<T extends Awake>(awake: readonly T[], { memoryBytes }: AwakeLimits): T[] {
  const left = [...awake]
  const sleeping: T[] = []
  while (isOver(sumOf(left), memoryBytes) && left.length > 1) {
    const oldest = oldestOf(left)
    if (!oldest) break
    sleeping.push(oldest)
    left.splice(left.indexOf(oldest), 1)
  }
  return sleeping
}

const isOver = (figure: number, limit: number): boolean => limit > 0 && figure > limit

/** Two deployments of one app are one. */
export const countOf = (awake: readonly Awake[]): number => new Set(awake.map(({ environment }) => environment)).size

export const sumOf = (awake: readonly Awake[]): number => awake.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0)

const oldestOf = <T extends Awake>(awake: readonly T[]): T | undefined =>
  awake.filter(({ isRunning }) => isRunning).toSorted((a, b) => a.visitTime - b.visitTime)[0]
