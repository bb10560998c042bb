/**
 * The time of each phase of a build, in order, and its share. The displayed numbers add up: the phases and the time
 * between them to the duration of the build, and the shares to 100 %.
 */
import type { Build, Phase } from '../../api/types.ts'
import { durations as inWords, wholeParts } from '../../components/facts/format.ts'

const ORDER: readonly Phase[] = ['UNPACKING', 'PLANNING', 'INSTALLING', 'BUILDING', 'STARTING', 'SWITCHING']

export type PhaseTime = {
  /** `OTHER` is the time between phases, when the service starts a process or writes to the database. */
  phase: Phase | 'OTHER'
  words: string
  share: number
  percent: number
  isWhereItStopped: boolean
}

type Timed = Pick<Build, 'durations' | 'state'> & Partial<Pick<Build, 'startTime' | 'finishTime'>>

/** For a build that has ended. */
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
  // Every phase is listed, even the shortest; the time between phases only if there is some.
  const listed = all
    .map((each, at) => ({ ...each, words: parts[at] ?? '' }))
    .filter(({ phase, words }) => phase !== 'OTHER' || !/^0(?:\.0)? s$/.test(words))
  const whole = listed.reduce((seconds, each) => seconds + each.seconds, 0)
  const shares = listed.map(({ seconds }) => (whole > 0 ? seconds / whole : 1 / listed.length))
  const percents = wholeParts(shares, 100)
  const hasStopped = state === 'FAILED' || state === 'CANCELLED'
  const times = listed.map(({ phase, words }, at) => ({
    phase,
    words,
    share: shares[at] ?? 0,
    percent: percents[at] ?? 0,
    isWhereItStopped: hasStopped && at === known.length - 1,
  }))
  return { times, total }
}
