/** The figures of an environment's visits: each has a chart. */
import type { Traffic } from '../../api/types.ts'
import { bytes, number } from '../../components/facts/format.ts'
import { byteTicks, countTicks, percentTicks, timeToAnswerTicks } from './chart/ticks.ts'
import { milliseconds, percent, shortBytes, shortNumber } from './disk/share.ts'

export type Counts = Traffic['totals']

export type Line = {
  label: string
  tone: 'accent' | 'bad' | 'warn' | 'quiet' | 'faint'
  isDashed?: boolean
  /** Null where there is no value: without visits there is no ratio and no response time. */
  of(counts: Counts): number | null
}

export type Figure = {
  id: string
  title: string
  about: string
  /** Bars for counts per step, lines for measurements, stacked bars for parts of a whole. */
  kind: 'bars' | 'stack' | 'lines'
  lines: readonly Line[]
  text(value: number): string
  /** The same in a shorter form. */
  shortText(value: number): string
  /** The last tick is the top of the chart. */
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
    about: 'By the status of the answer; other are those without one, as of visitors who left',
    kind: 'stack',
    lines: [
      { label: '2xx', tone: 'accent', of: ({ status2xx }) => status2xx },
      { label: '3xx', tone: 'quiet', of: ({ status3xx }) => status3xx },
      { label: '4xx', tone: 'warn', of: ({ status4xx }) => status4xx },
      { label: '5xx', tone: 'bad', of: ({ errors }) => errors },
      {
        label: 'other',
        tone: 'faint',
        of: ({ requests, status2xx, status3xx, status4xx, errors }) =>
          Math.max(0, requests - status2xx - status3xx - status4xx - errors),
      },
    ],
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

/** The whole that the parts of a stack make up. */
export const wholeOf = ({ lines }: Figure, counts: Counts): number =>
  lines.reduce((sum, { of }) => sum + (of(counts) ?? 0), 0)

/** The non-empty parts of a stack; all lines of other figures. */
export const linesIn = ({ kind, lines }: Figure, counts: Counts): readonly Line[] =>
  kind === 'stack' ? lines.filter(({ of }) => of(counts) !== 0) : lines

/**
 * All lines of a figure in words, as in `p50 12 ms, p95 80 ms`; a single line is named by the title of the figure. Of a
 * stack the whole comes first: `8 (2xx 6, 4xx 2)`.
 */
export function reading(figure: Figure, counts: Counts): string {
  const lines = linesIn(figure, counts)
  const words = lines
    .map(({ label, of }) => `${figure.lines.length > 1 ? `${label} ` : ''}${valueText(figure, of(counts))}`)
    .join(', ')
  if (figure.kind !== 'stack') return words
  const whole = figure.text(wholeOf(figure, counts))
  return words === '' ? whole : `${whole} (${words})`
}

/** The lines in the order in which they are drawn: for a stack the top first, and each lower part over it. */
export const drawnLines = ({ kind, lines }: Figure): readonly Line[] => (kind === 'stack' ? lines.toReversed() : lines)

/** Times in seconds, each in the middle of its step, and the values of each line that is drawn. */
export function columnsOf(figure: Figure, { points, stepSeconds }: Traffic): [number[], ...(number | null)[][]] {
  const { kind, lines } = figure
  const upTo = (count: number, point: Counts) => wholeOf({ ...figure, lines: lines.slice(0, count) }, point)
  const values =
    kind === 'stack'
      ? lines.map((_, index) => points.map((point) => upTo(lines.length - index, point)))
      : lines.map(({ of }) => points.map((point) => of(point)))
  return [points.map(({ time }) => Date.parse(time) / 1000 + stepSeconds / 2), ...values]
}

/** Values without a neighbour, which no line connects: they are drawn as points. */
export const lonely = (values: readonly (number | null | undefined)[]): number[] =>
  values.flatMap((value, at) => (value != null && values[at - 1] == null && values[at + 1] == null ? at : []))
