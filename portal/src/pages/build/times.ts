/** How long a build was in each of its phases, in order, and the share of each. */
import type { Build, Phase } from '../../api/types.ts'

const ORDER: readonly Phase[] = ['UNPACKING', 'PLANNING', 'INSTALLING', 'BUILDING', 'STARTING', 'SWITCHING']

export type PhaseTime = { phase: Phase; seconds: number; share: number; isWhereItStopped: boolean }

export function timesOf({ durations, state }: Pick<Build, 'durations' | 'state'>): PhaseTime[] {
  const known = ORDER.flatMap((phase) => {
    const seconds = durations[phase]
    return typeof seconds === 'number' ? [{ phase, seconds }] : []
  })
  const total = known.reduce((sum, { seconds }) => sum + seconds, 0)
  const hasStopped = state === 'FAILED' || state === 'CANCELLED'
  return known.map(({ phase, seconds }, index) => ({
    phase,
    seconds,
    share: total > 0 ? seconds / total : 1 / known.length,
    isWhereItStopped: hasStopped && index === known.length - 1,
  }))
}
