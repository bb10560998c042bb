/** What a measurement is: our numbers beside a peer's of the same run, and the goals for them. */

export type Bench = {
  name: string
  what: string
  /** How other load on the machine is kept out of the numbers. */
  noise: string
  run(): Promise<Result[]>
}

export type Result = {
  what: string
  unit: string
  ours: number
  /** The same of the peer, measured in the same run on the same machine. */
  peer?: number
  /** What the peer is, where the name of the bench does not say so. */
  beside?: string
  goal?: Goal
}

/** A bound on our number, or on our number divided by the peer's. */
export type Goal = { of: 'ours' | 'ratio'; min: number } | { of: 'ours' | 'ratio'; max: number }

/** `--quick`: only checks that everything runs; its numbers mean little. */
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
