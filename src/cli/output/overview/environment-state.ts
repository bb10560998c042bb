/** The state of an environment as one word, out of everything that the service says about it; the worst comes first. */
import { names } from '../../../contract/index.ts'
import { appOf, type Watched } from '../../all-environments.ts'
import type { Colour } from '../live/lines.ts'

/** In the order in which they are listed: what needs a look is first. */
export const STATES = [
  'crashing',
  'failed',
  'held',
  'building',
  'changing',
  'live',
  'asleep',
  'empty',
  'deleting',
] as const
export type State = (typeof STATES)[number]

export type Described = {
  state: State
  /** Since when it is in that state; empty where that is not known. */
  since: string
  /** Why it failed or is held, or how far a build is. */
  about: string
}

export const MARKS: Record<State, { mark: string; colour?: Colour }> = {
  crashing: { mark: '✗', colour: 'red' },
  failed: { mark: '✗', colour: 'red' },
  held: { mark: '!', colour: 'yellow' },
  building: { mark: '»', colour: 'cyan' },
  changing: { mark: '»', colour: 'cyan' },
  live: { mark: '✓', colour: 'green' },
  asleep: { mark: '-', colour: 'dim' },
  empty: { mark: '·', colour: 'dim' },
  deleting: { mark: '·', colour: 'dim' },
}

export function describe({ environment, activity }: Watched): Described {
  const {
    state,
    latestBuild: build,
    latestOperation: operation,
    held,
    reconciling,
    createTime,
    updateTime,
  } = environment
  const lasting = activity?.liveTime ?? ''
  if (state === 'DELETING') return { state: 'deleting', since: updateTime, about: '' }
  if (activity?.instance === 'CRASH_LOOP') return { state: 'crashing', since: '', about: 'its app does not stay up' }
  if (build?.state === 'RUNNING' || build?.state === 'QUEUED')
    return { state: 'building', since: build.createTime, about: build.phase.toLowerCase() }
  if (reconciling) return { state: 'changing', since: operation?.createTime ?? '', about: '' }
  if (held) return { state: 'held', since: held.createTime, about: held.message }
  if (build?.state === 'FAILED')
    return { state: 'failed', since: build.finishTime ?? build.createTime, about: build.reason ?? '' }
  if (state === 'EMPTY') return { state: 'empty', since: createTime, about: '' }
  return { state: activity?.instance === 'ASLEEP' ? 'asleep' : 'live', since: lasting, about: '' }
}

/** The worst first; of the same state by name. */
export function sorted(all: readonly Watched[]): Watched[] {
  const keyOf = (one: Watched) => ({
    rank: STATES.indexOf(describe(one).state),
    name: names.fold(`${appOf(one.environment)} ${one.environment.displayName}`),
  })
  return all
    .map((one) => ({ one, key: keyOf(one) }))
    .sort((a, b) => a.key.rank - b.key.rank || a.key.name.localeCompare(b.key.name, 'en'))
    .map(({ one }) => one)
}
