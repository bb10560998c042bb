/**
 * The requests since the last report, in a bounded amount of memory. Of each environment, errors and other requests are kept
 * apart, so that a flood of visits does not displace the errors. Where there are more than fit, the kept ones are a fair sample
 * (algorithm R: each request has the same chance), and the others are counted.
 */
import type { RequestRecord } from './record.ts'

export type SampleLimits = {
  /** Of one environment between two reports: errors, and as many others. */
  ofEnvironment: number
  /** Of all environments together. Beyond it each gets an equal share, and at least one. */
  ofAll: number
}

export const SAMPLE_LIMITS: SampleLimits = { ofEnvironment: 50, ofAll: 4000 }

/** The records of a report, by environment, in the order of their times. */
export type RequestRecords = Record<string, RequestRecord[]>

type Sample = { seen: number; records: RequestRecord[] }
type Samples = { errors: Sample; others: Sample }

/** `random` returns a number from 0 up to and without 1. */
export function createSamples(limits: SampleLimits = SAMPLE_LIMITS, random: () => number = Math.random) {
  let samples = new Map<string, Samples>()
  let total = 0
  let share = limits.ofEnvironment
  /** The place of the request that `isKept` has just accepted. */
  let sample: Sample = newSample()
  let place = 0

  function of(environment: string, status: number): Sample {
    let known = samples.get(environment)
    if (!known) {
      known = { errors: newSample(), others: newSample() }
      samples.set(environment, known)
    }
    return status >= 500 ? known.errors : known.others
  }

  return {
    /** Counts a request. True: it is to be recorded, by `keep`, before the next one is counted. */
    isKept(environment: string, status: number): boolean {
      sample = of(environment, status)
      place = sample.records.length
      sample.seen++
      if (place === 0 || (place < share && total < limits.ofAll)) return true
      place = Math.floor(random() * sample.seen)
      return place < sample.records.length
    },

    keep(record: RequestRecord) {
      if (place === sample.records.length) total++
      sample.records[place] = record
    },

    /** The requests since the last call; undefined when there were none. */
    take(): RequestRecords | undefined {
      if (samples.size === 0) return undefined
      // Errors and others have a share each.
      share = Math.min(limits.ofEnvironment, Math.max(1, Math.floor(limits.ofAll / samples.size / 2)))
      const found = [...samples].map(([environment, both]) => [environment, recordsOf(both)] as const)
      const taken = found.filter(([, records]) => records.length > 0)
      // What was given back is reported with the next request.
      samples = new Map(
        [...samples].filter(([, { errors, others }]) => errors.records.length + others.records.length === 0),
      )
      total = 0
      return taken.length > 0 ? Object.fromEntries(taken) : undefined
    },

    /** These could not be reported: they count as omitted. */
    giveBack(records: RequestRecords) {
      for (const [environment, lost] of Object.entries(records))
        for (const { status, omitted = 0 } of lost) of(environment, status).seen += 1 + omitted
    },
  }
}

const newSample = (): Sample => ({ seen: 0, records: [] })

const recordsOf = ({ errors, others }: Samples): RequestRecord[] =>
  [...inOrder(errors), ...inOrder(others)].sort((one, other) => one.time - other.time)

function inOrder({ seen, records }: Sample): RequestRecord[] {
  const sorted = records.toSorted((one, other) => one.time - other.time)
  const last = sorted.at(-1)
  if (last && seen > sorted.length) sorted[sorted.length - 1] = { ...last, omitted: seen - sorted.length }
  return sorted
}
