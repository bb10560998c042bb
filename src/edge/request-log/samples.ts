/**
 * The requests since the last report, in a bounded amount of memory. Of each environment, errors and other requests are kept
 * apart, so that a flood of visits does not displace the errors. Where there are more than fit, the kept ones are a fair sample
 * (algorithm R: each request has the same chance), and the others are counted.
 */

/** What a sample has to know of a request. */
export type Sampled = {
  time: number
  status: number
  /** Requests of about the same time that were not kept. */
  omitted?: number
}

export type SampleLimits = {
  /** Of one environment between two reports: errors, and as many others. */
  ofEnvironment: number
  /** Of all environments together. Beyond it each gets an equal share, and at least one. */
  ofAll: number
}

export const SAMPLE_LIMITS: SampleLimits = { ofEnvironment: 50, ofAll: 4000 }

type Sample<Item> = { seen: number; records: Item[] }
type Samples<Item> = { errors: Sample<Item>; others: Sample<Item> }

/** `random` returns a number from 0 up to and without 1. */
export function createSamples<Item extends Sampled>(limits = SAMPLE_LIMITS, random: () => number = Math.random) {
  let samples = new Map<string, Samples<Item>>()
  let total = 0
  let share = limits.ofEnvironment
  /** The place of the request that `isKept` has just accepted. */
  let sample: Sample<Item> = newSample()
  let place = 0

  function of(environment: string, status: number): Sample<Item> {
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

    keep(record: Item) {
      if (place === sample.records.length) total++
      sample.records[place] = record
    },

    /** The requests since the last call, by environment, in the order of their times. */
    take(): [environment: string, records: Item[]][] {
      // Errors and others have a share each.
      const ofEach = Math.floor(limits.ofAll / Math.max(1, samples.size) / 2)
      share = Math.min(limits.ofEnvironment, Math.max(1, ofEach))
      const found = [...samples].map(([environment, both]): [string, Item[]] => [environment, recordsOf(both)])
      // What was given back is reported with the next request.
      const isEmpty = ({ errors, others }: Samples<Item>) => errors.records.length + others.records.length === 0
      samples = new Map([...samples].filter(([, both]) => isEmpty(both)))
      total = 0
      return found.filter(([, records]) => records.length > 0)
    },

    /** These could not be reported: they count as omitted. */
    giveBack(records: Readonly<Record<string, readonly Sampled[]>>) {
      for (const [environment, lost] of Object.entries(records))
        for (const { status, omitted = 0 } of lost) of(environment, status).seen += 1 + omitted
    },
  }
}

const newSample = <Item>(): Sample<Item> => ({ seen: 0, records: [] })

const recordsOf = <Item extends Sampled>({ errors, others }: Samples<Item>): Item[] =>
  [...inOrder(errors), ...inOrder(others)].sort((one, other) => one.time - other.time)

function inOrder<Item extends Sampled>({ seen, records }: Sample<Item>): Item[] {
  const sorted = records.toSorted((one, other) => one.time - other.time)
  const last = sorted.at(-1)
  if (last && seen > sorted.length) last.omitted = seen - sorted.length
  return sorted
}
