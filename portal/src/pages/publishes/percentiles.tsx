/** How long publishes take, as percentiles of builds and of purges. */
import { useResource } from '../../api/data.ts'
import type { Place } from '../../api/names.ts'
import type { PublishPercentiles, PublishTimes, PublishTimesOfKind } from '../../api/types.ts'
import { duration } from '../../components/facts/format.ts'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { SkeletonRows } from '../../components/feedback/skeleton.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import { type Column, Table } from '../../components/layout/table.tsx'
import type { Range } from '../usage/ranges.ts'
import { KINDS, STATES } from './words.ts'

type Props = { place: Place; range: Range }

export function Percentiles({ place, range: { id, words, refreshMs } }: Props) {
  const path = `${place.name}/publishTimes`
  const { data, problem, refresh } = useResource<PublishTimes>(path, { query: { range: id }, refreshMs })
  return (
    <Panel title="From the call to visible" flush>
      <ProblemNote problem={problem} onRetry={refresh} />
      {!data && !problem && <SkeletonRows count={Object.keys(KINDS).length + 1} />}
      {data && (
        <Table label={`Percentiles of ${words}`} columns={COLUMNS} items={data.kinds} keyOf={({ kind }) => kind} />
      )}
    </Panel>
  )
}

const shown = ({ count }: PublishPercentiles, ms: number): string => (count === 0 ? '–' : duration(ms / 1000))

const COLUMNS: readonly Column<PublishTimesOfKind>[] = [
  { head: 'What', cell: ({ kind }) => KINDS[kind] },
  {
    head: 'Ended',
    grow: true,
    cell: ({ states, late }) =>
      [
        ...states.map(({ state, count }) => `${count} ${STATES[state].word.toLowerCase()}`),
        ...(late > 0 ? [`${late} late`] : []),
      ].join(', ') || 'None',
  },
  { head: 'Half', align: 'right', cell: ({ visible }) => shown(visible, visible.p50Ms) },
  { head: '95 of 100', align: 'right', cell: ({ visible }) => shown(visible, visible.p95Ms) },
  { head: '99 of 100', align: 'right', cell: ({ visible }) => shown(visible, visible.p99Ms) },
  {
    head: 'Then first visit',
    align: 'right',
    cell: ({ untilVisit }) => shown(untilVisit, untilVisit.p50Ms),
  },
]
