/** What is shown of an environment's visits, in plain sight: a chart for each. */
import type { Traffic } from '../../api/types.ts'
import { bytes, number } from '../../parts/format.ts'
import { milliseconds, percent, shortBytes, shortNumber } from './share.ts'
import { byteTicks, countTicks, percentTicks, timeToAnswerTicks } from './ticks.ts'

export type Counts = Traffic['totals']

export type Line = {
  label: string
  tone: 'accent' | 'bad' | 'warn'
  isDashed?: boolean
  /** Null where nothing can be said: without visits there is no share of them, and no time that they took. */
  of(counts: Counts): number | null
}

export type Figure = {
  id: string
  title: string
  about: string
  /** Bars for what is counted in each step, lines for what is measured. */
  kind: 'bars' | 'lines'
  lines: readonly Line[]
  text(value: number): string
  /** The same with less room. */
  shortText(value: number): string
  /** The last one is the top of the chart. */
  ticks(max: number): number[]
}

const ofVisits =
  (value: (counts: Counts) => number) =>
  (counts: Counts): number | null =>
    counts.requests > 0 ? value(counts) : null

export const FIGURES: readonly Figure[] = [
  {
    id: 'requests',
    title: 'Requests',
    about: 'Each once, also those that were refused',
    kind: 'bars',
    lines: [{ label: 'Requests', tone: 'accent', of: ({ requests }) => requests }],
    text: number,
    shortText: shortNumber,
    ticks: countTicks,
  },
  {
    id: 'hits',
    title: 'Hit ratio',
    about: 'Answered without asking the app',
    kind: 'lines',
    lines: [{ label: 'Hit ratio', tone: 'accent', of: ofVisits(({ hits, requests }) => (100 * hits) / requests) }],
    text: percent,
    shortText: (value) => `${value}%`,
    ticks: percentTicks,
  },
  {
    id: 'bytes',
    title: 'Sent',
    about: 'Bytes to visitors, headers included',
    kind: 'bars',
    lines: [{ label: 'Sent', tone: 'accent', of: (counts) => counts.bytes }],
    text: bytes,
    shortText: shortBytes,
    ticks: byteTicks,
  },
  {
    id: 'errors',
    title: 'Errors',
    about: 'Answers with a status of 500 and above',
    kind: 'bars',
    lines: [{ label: 'Errors', tone: 'bad', of: ({ errors }) => errors }],
    text: number,
    shortText: shortNumber,
    ticks: countTicks,
  },
  {
    id: 'latency',
    title: 'Time to answer',
    about: 'Until the answer began: half of the requests, and 95 of 100, took no longer',
    kind: 'lines',
    lines: [
      { label: 'p50', tone: 'accent', of: ofVisits(({ p50Ms }) => p50Ms) },
      { label: 'p95', tone: 'warn', isDashed: true, of: ofVisits(({ p95Ms }) => p95Ms) },
    ],
    text: milliseconds,
    shortText: milliseconds,
    ticks: timeToAnswerTicks,
  },
]

export const NOTHING_TO_SAY = '–'

export const valueText = ({ text }: Figure, value: number | null): string =>
  value === null ? NOTHING_TO_SAY : text(value)

/** All lines of a figure in words, as in `p50 12 ms, p95 80 ms`; where there is one, its title says what it is. */
export const reading = (figure: Figure, counts: Counts): string =>
  figure.lines
    .map(({ label, of }) => `${figure.lines.length > 1 ? `${label} ` : ''}${valueText(figure, of(counts))}`)
    .join(', ')

/** Times in seconds, each in the middle of its step, and the values of each line. */
export function columnsOf({ lines }: Figure, { points, stepSeconds }: Traffic): [number[], ...(number | null)[][]] {
  return [
    points.map(({ time }) => Date.parse(time) / 1000 + stepSeconds / 2),
    ...lines.map(({ of }) => points.map((point) => of(point))),
  ]
}
