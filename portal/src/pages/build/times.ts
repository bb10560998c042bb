/**
 * How long a build was in each of its phases, in order, and the share of each. What is shown adds up: the phases, and what
 * lies between them, to the time that the build took, and the shares to 100 %.
 */
import type { Build, Phase } from '../../api/types.ts'
import { durations as inWords, wholeParts } from '../../components/facts/format.ts'

const ORDER: readonly Phase[] = ['UNPACKING', 'PLANNING', 'INSTALLING', 'BUILDING', 'STARTING', 'SWITCHING']

export type PhaseTime = {
  /** `OTHER` is what lies between phases: the service starts a process, or writes something down. */
  phase: Phase | 'OTHER'
  words: string
  share: number
  percent: number
  isWhereItStopped: boolean
}

type Timed = Pick<Build, 'durations' | 'state'> & Partial<Pick<Build, 'startTime' | 'finishTime'>>

/** Of a build that is over. */
export function timesOf({ durations, state, startTime, finishTime }: Timed): { times: PhaseTime[]; total: string } {
  const known = ORDER.flatMap((phase) => {
    const seconds = durations[phase]
    return typeof seconds === 'number' ? [{ phase: phase as PhaseTime['phase'], seconds }] : []
  })
  const sum = known.reduce((all, { seconds }) => all + seconds, 0)
  const took = startTime && finishTime ? (Date.parse(finishTime) - Date.parse(startTime)) / 1000 : sum
  const all = [...known, { phase: 'OTHER' as const, seconds: Math.max(0, took - sum) }]
  const { parts, total } = inWords(
    all.map(({ seconds }) => seconds),
    Math.max(took, sum),
  )
  // A phase is told however short it was; the rest where there is some.
  const told = all
    .map((each, at) => ({ ...each, words: parts[at] ?? '' }))
    .filter(({ phase, words }) => phase !== 'OTHER' || !/^0(?:\.0)? s$/.test(words))
  const whole = told.reduce((seconds, each) => seconds + each.seconds, 0)
  const shares = told.map(({ seconds }) => (whole > 0 ? seconds / whole : 1 / told.length))
  const percents = wholeParts(shares, 100)
  const hasStopped = state === 'FAILED' || state === 'CANCELLED'
  const times = told.map(({ phase, words }, at) => ({
    phase,
    words,
    share: shares[at] ?? 0,
    percent: percents[at] ?? 0,
    isWhereItStopped: hasStopped && at === known.length - 1,
  }))
  return { times, total }
}
