/** The visits of an environment, and its disk usage. */
import { useState } from 'react'
import { useSearchParams } from 'wouter'
import { useResource } from '../../api/data.ts'
import type { Place } from '../../api/names.ts'
import type { Environment, Traffic } from '../../api/types.ts'
import { ExternalLink } from '../../components/controls/button.tsx'
import { Empty } from '../../components/feedback/empty.tsx'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { Page } from '../../components/layout/page.tsx'
import type { EnvironmentPageProps } from '../../page-props.ts'
import { Chart } from './chart/chart.tsx'
import { Disk } from './disk/disk.tsx'
import { FIGURES } from './figures.ts'
import css from './page.module.css'
import { Paths } from './paths.tsx'
import { RangeChoice } from './range-choice.tsx'
import { type Range, rangeOf } from './ranges.ts'

export default function UsagePage({ place }: EnvironmentPageProps) {
  const [search] = useSearchParams()
  const range = rangeOf(search.get('range'))
  return (
    <Page title="Usage" actions={<RangeChoice range={range} />}>
      <Visits key={range.id} place={place} range={range} />
      <Disk place={place} />
    </Page>
  )
}

function Visits({ place, range }: { place: Place; range: Range }) {
  const [cursor, setCursor] = useState<number>()
  const { id, refreshMs } = range
  // Visits do not change the environment, so there are no events about them, and they are polled.
  const { data, problem, refresh } = useResource<Traffic>(`${place.name}/traffic`, { query: { range: id }, refreshMs })

  if (!data && problem) return <ProblemNote problem={problem} onRetry={refresh} title="Visits cannot be shown" />
  if (data?.totals.requests === 0) return <NoVisits place={place} range={range} />
  return (
    <>
      <ProblemNote problem={problem} onRetry={refresh} title="These numbers may be old" />
      <div className={css.visits}>
        <div className={css.charts}>
          {FIGURES.map((figure) => (
            <Chart key={figure.id} figure={figure} traffic={data} cursor={cursor} onCursor={setCursor} />
          ))}
          <Paths place={place} range={range} />
        </div>
      </div>
    </>
  )
}

function NoVisits({ place, range: { id, words } }: { place: Place; range: Range }) {
  const { data: environment } = useResource<Environment>(place.name)
  return (
    <Empty title={`No visits in ${words}`} curl={{ path: `/v1/${place.name}/traffic?range=${id}` }}>
      {environment?.url ? (
        <>
          Open <ExternalLink href={environment.url}>the site</ExternalLink>, and charts are here a few seconds later.
        </>
      ) : (
        'As soon as the site has visitors, charts are here.'
      )}
    </Empty>
  )
}
