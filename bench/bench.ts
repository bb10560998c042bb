/** What a measurement is: numbers of ours beside a peer's of the same run, and what we want of them. */

export type Bench = {
  name: string
  what: string
  /** How what else the machine does is kept out of the numbers. */
  noise: string
  run(): Promise<Result[]>
}

export type Result = {
  what: string
  unit: string
  ours: number
  /** The same of the peer, measured in the same run on the same machine. */
  peer?: number
  /** Who it is, where the name of the bench does not say so. */
  beside?: string
  goal?: Goal
}

/** A bound on our number, or on our number divided by the peer's. */
export type Goal = { of: 'ours' | 'ratio'; min: number } | { of: 'ours' | 'ratio'; max: number }

/** A look at whether everything runs, whose numbers mean little: `--quick`. */
export const IS_QUICK = process.argv.includes('--quick')

/** Something that the bench needs is not on this machine; the message says how to get it. */
export class Skipped extends Error {}

export const ratioOf = ({ ours, peer }: Result): number | undefined => (peer === undefined ? undefined : ours / peer)

export function isMet(result: Result): boolean | undefined {
  const { goal } = result
  if (!goal) return undefined
  const value = goal.of === 'ours' ? result.ours : ratioOf(result)
  if (value === undefined) return false
  return 'min' in goal ? value >= goal.min : value <= goal.max
}

export const goalInWords = ({ goal, unit }: Result): string => {
  if (!goal) return ''
  const bound = 'min' in goal ? `≥ ${goal.min}` : `≤ ${goal.max}`
  return goal.of === 'ours' ? `${bound} ${unit}` : `ratio ${bound}`
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const [low = Number.NaN, high = Number.NaN] = [sorted[sorted.length % 2 ? middle : middle - 1], sorted[middle]]
  return (low + high) / 2
}
