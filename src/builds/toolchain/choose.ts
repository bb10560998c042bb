/** Chooses one version out of many. Pure. */
import semver from 'semver'

export type Choice = {
  version: string
  /** Whether it is in the range, and not only of the same major version. */
  fits: boolean
}

/** Whether it is a range, and not a name such as `latest`. */
export const isRange = (text: string): boolean => semver.validRange(text) !== null

export const fits = (version: string, range: string): boolean => semver.satisfies(version, range)

/**
 * The newest version in the range; where there is none, the newest of the same major version. A registry may lack versions,
 * and an app that requires exactly 22.12.0 runs on 22.13.1 as well.
 */
export function choose(range: string, versions: readonly string[]): Choice | undefined {
  const best = semver.maxSatisfying(versions, range)
  if (best !== null) return { version: best, fits: true }
  const min = semver.minVersion(range)
  const near = min === null ? null : semver.maxSatisfying(versions, String(min.major))
  return near === null ? undefined : { version: near, fits: false }
}

/** The newest of the same major version, in place of one that is missing. */
export const standIn = (version: string, versions: readonly string[]): string | undefined =>
  semver.maxSatisfying(versions, String(semver.major(version))) ?? undefined
