/** What the environments of an account do now, as lines and as JSON. Pure. */
import { names } from '../../../contract/index.ts'
import { appOf, type Watched } from '../../all-environments.ts'
import { fixed, type Line } from '../live/lines.ts'
import { sizeOf, tableFor } from '../rows.ts'
import { describe, MARKS } from './environment-state.ts'
import { type Rates, ratesOf, type Sample } from './rates.ts'
import { inColour } from './status-view.ts'

export const SORTS = ['visits', 'hits', 'errors', 'memory', 'slowest', 'name'] as const
export type Sort = (typeof SORTS)[number]

type Busy = Watched & Rates & { app: string }

export function busiest(all: readonly Watched[], samples: readonly Sample[], sort: Sort): Busy[] {
  const busy = all.map((one) => ({
    ...one,
    ...ratesOf(samples, `${one.environment.name}/activity`),
    app: appOf(one.environment),
  }))
  const nameOf = (one: Busy) => names.fold(`${one.app} ${one.environment.displayName}`)
  const by = sort === 'name' ? ORDERS.name : ORDERS.visits
  return busy.sort(
    (a, b) => ORDERS[sort](b) - ORDERS[sort](a) || by(b) - by(a) || nameOf(a).localeCompare(nameOf(b), 'en'),
  )
}

const ORDERS: Record<Sort, (one: Busy) => number> = {
  visits: (one) => one.visitsPerSecond,
  // The lowest is the one to look at.
  hits: (one) => -(one.hitPercent ?? 101),
  errors: (one) => one.errorsPerSecond,
  memory: (one) => one.activity?.memoryBytes ?? 0,
  slowest: (one) => one.p95Ms,
  name: () => 0,
}

const NARROW = { shortened: ['environment', 'app'], leftOut: ['p95', 'errors/s'] }

export function topLines(busy: readonly Busy[], { isShown, columns }: { isShown: boolean; columns: number }): Line[] {
  const described = busy.map((one) => describe(one))
  const rows = busy.map((one, at) => {
    const { state = 'live', about = '' } = described[at] ?? {}
    return {
      app: one.app,
      environment: one.environment.displayName,
      state: `${isShown ? `${MARKS[state].mark} ` : ''}${state}${state === 'building' ? `, ${about}` : ''}`,
      'visits/s': one.visitsPerSecond.toFixed(1),
      'hit rate': one.hitPercent === undefined ? '' : `${Math.floor(one.hitPercent)}%`,
      'errors/s': one.errorsPerSecond.toFixed(1),
      p95: one.p95Ms > 0 ? `${Math.round(one.p95Ms)} ms` : '',
      memory: one.activity?.memoryBytes ? sizeOf(one.activity.memoryBytes) : '',
    }
  })
  const [heading = '', ...lines] = tableFor({ isShown, columns: () => columns }, rows, NARROW).split('\n')
  return [[fixed(heading, 'dim')], ...lines.map((line, at) => inColour(line, described[at]?.state ?? 'live'))]
}

/** The account as a whole. */
export function totalsInWords(busy: readonly Busy[]): string {
  const sum = (of: (one: Busy) => number) => busy.reduce((all, one) => all + of(one), 0)
  const visits = sum((one) => one.visitsPerSecond)
  const hits = sum((one) => (one.visitsPerSecond * (one.hitPercent ?? 0)) / 100)
  const building = busy.filter((one) => describe(one).state === 'building').length
  return [
    `${visits.toFixed(1)} visits/s`,
    ...(visits > 0 ? [`${Math.floor((100 * hits) / visits)}% from the edge`] : []),
    `${sum((one) => one.errorsPerSecond).toFixed(1)} errors/s`,
    `${sizeOf(sum((one) => one.activity?.memoryBytes ?? 0))} of memory`,
    `${building} building`,
  ].join(' · ')
}

export const topJson = (busy: readonly Busy[]) =>
  busy.map((one) => ({
    name: one.environment.name,
    app: one.app,
    environment: one.environment.displayName,
    state: describe(one).state,
    visitsPerSecond: one.visitsPerSecond,
    hitPercent: one.hitPercent ?? null,
    errorsPerSecond: one.errorsPerSecond,
    p95Ms: one.p95Ms,
    memoryBytes: one.activity?.memoryBytes ?? 0,
  }))
