/** The bar of each publish: its parts, and how long they are drawn. */
import type { Publish } from '../../api/types.ts'
import { duration } from '../../components/facts/format.ts'

export type Part = 'WAITING' | 'BUILDING' | 'SWITCHING' | 'VISIT'

export type BarPart = {
  part: Part
  words: string
  /** Of the longest bar, from 0 to 1. */
  share: number
  /** It is drawn shorter than it was: a visit may come days later. */
  isCut: boolean
}

export const PART_WORDS: Record<Part, string> = {
  WAITING: 'Waiting',
  BUILDING: 'Building',
  SWITCHING: 'Switching',
  VISIT: 'Until the first visit',
}

type Timed = Pick<Publish, 'kind'> &
  Partial<Pick<Publish, 'waitingMs' | 'buildingMs' | 'switchingMs' | 'untilVisitMs' | 'visibleMs'>>

const wordOf = (part: Part, kind: Publish['kind']): string =>
  part === 'SWITCHING' && kind === 'PURGE' ? 'Purging' : PART_WORDS[part]

/** Up to when it was visible, or as far as it got. */
const lengthOf = ({ waitingMs = 0, buildingMs = 0, switchingMs = 0 }: Timed): number =>
  waitingMs + buildingMs + switchingMs

/** What the wait for a visit is drawn as: at most as long as the rest of the bar. */
const drawnVisit = (publish: Timed): number => Math.min(publish.untilVisitMs ?? 0, lengthOf(publish))

/** Builds and purges have a scale of their own: a purge takes milliseconds. */
export const scaleOf = (publishes: readonly Timed[], kind: Publish['kind']): number =>
  Math.max(1, ...publishes.filter((one) => one.kind === kind).map((one) => lengthOf(one) + drawnVisit(one)))

export function partsOf(publish: Timed, scaleMs: number): BarPart[] {
  const { kind, waitingMs, buildingMs, switchingMs, untilVisitMs } = publish
  const parts: [Part, number | undefined, number][] = [
    ['WAITING', waitingMs, waitingMs ?? 0],
    ['BUILDING', buildingMs, buildingMs ?? 0],
    ['SWITCHING', switchingMs, switchingMs ?? 0],
    ['VISIT', untilVisitMs, drawnVisit(publish)],
  ]
  return parts.flatMap(([part, ms, drawn]) =>
    ms === undefined
      ? []
      : [{ part, words: `${wordOf(part, kind)} ${duration(ms / 1000)}`, share: drawn / scaleMs, isCut: drawn < ms }],
  )
}
