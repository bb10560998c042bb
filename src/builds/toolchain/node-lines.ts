/**
 * The lines of Node: which one an app gets that sets none, and until when each gets security fixes. The registry decides
 * whether a line is available.
 */
import semver from 'semver'

/** The line for apps that set none. The service runs on it, so it is always available. */
export const DEFAULT_LINE = 24

/**
 * The day on which a line ends, from `schedule.json` of https://github.com/nodejs/Release. The end of 26 follows the rule that
 * a line of even number has 36 months from its release in April.
 */
const ENDS: Readonly<Record<number, string>> = {
  4: '2018-04-30',
  5: '2016-06-30',
  6: '2019-04-30',
  7: '2017-06-30',
  8: '2019-12-31',
  9: '2018-06-30',
  10: '2021-04-30',
  11: '2019-06-01',
  12: '2022-04-30',
  13: '2020-06-01',
  14: '2023-04-30',
  15: '2021-06-01',
  16: '2023-09-11',
  17: '2022-06-01',
  18: '2025-04-30',
  19: '2023-06-01',
  20: '2026-04-30',
  21: '2024-06-01',
  22: '2027-04-30',
  23: '2025-06-01',
  24: '2028-04-30',
  25: '2026-06-01',
  26: '2029-04-30',
}

const known = Object.keys(ENDS).map(Number)
const isLongTerm = (line: number): boolean => line % 2 === 0
const newestFirst = (lines: readonly number[]): number[] => lines.toSorted((a, b) => b - a)

/**
 * In the order of preference: the default, older lines with long-term support and the line that gets it next; then lines that
 * have ended, those with long-term support before the others.
 */
export const LINES: readonly number[] = [
  ...new Set([
    ...[DEFAULT_LINE, 22, 20, 26],
    ...newestFirst(known.filter(isLongTerm)),
    ...newestFirst(known.filter((line) => !isLongTerm(line))),
  ]),
]

/** The day since which a version no longer gets security fixes, as `2025-04-30`; undefined if it still gets them. */
export function endedOn(version: string, now: number): string | undefined {
  const line = semver.major(version)
  const end = ENDS[line] ?? (line < Math.min(...known) ? '2016-12-31' : undefined)
  return end !== undefined && now >= Date.parse(end) ? end : undefined
}

/** A warning about a version that an app is built and run with. */
export function endedWarning(version: string, setBy: string | undefined, now: number): string | undefined {
  const end = endedOn(version, now)
  if (end === undefined) return undefined
  return `Node ${version} no longer gets security fixes (since ${end}). ${changeTo(setBy)} as soon as the app runs on it.`
}

/** How to change to the default; `setBy` is what sets another version, such as `.nvmrc`. */
export const changeTo = (setBy: string | undefined): string =>
  setBy === undefined ? `Set engines.node in package.json to ${DEFAULT_LINE}` : `Change ${setBy} to ${DEFAULT_LINE}`
