/** How long it takes from the call of a CMS until visitors get what is new. */
import { useSearchParams } from 'wouter'
import { useList, useResource } from '../../api/data.ts'
import { at, headland } from '../../api/headland.ts'
import type { Place } from '../../api/names.ts'
import type { Environment, Publish } from '../../api/types.ts'
import { Choices } from '../../components/controls/choices.tsx'
import { More } from '../../components/controls/more.tsx'
import { Empty } from '../../components/feedback/empty.tsx'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { SkeletonRows } from '../../components/feedback/skeleton.tsx'
import { Page } from '../../components/layout/page.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import type { EnvironmentPageProps } from '../../page-props.ts'
import { environmentPath } from '../../paths.ts'
import { useSession } from '../../session/session.tsx'
import { RangeChoice } from '../usage/range-choice.tsx'
import { rangeOf } from '../usage/ranges.ts'
import css from './page.module.css'
import { Percentiles } from './percentiles.tsx'
import { Promised } from './promise.tsx'
import { PublishTable } from './publish-table.tsx'
import { KINDS, kindIn } from './words.ts'

export default function PublishesPage({ place }: EnvironmentPageProps) {
  const { canWrite } = useSession()
  const [search] = useSearchParams()
  const kind = kindIn(search.get('kind'))
  const range = rangeOf(search.get('range') ?? '7d')
  const { data: environment } = useResource<Environment>(place.name)
  const publishes = useList<Publish>(`${place.name}/publishes`, 'publishes', { query: { kind } })
  const { items, problem, refresh } = publishes
  const isEmpty = items?.length === 0 && kind === undefined

  return (
    <Page title="Publishes" actions={!isEmpty && <RangeChoice range={range} />}>
      <p className={css.hint}>
        From the call of a CMS, a push or an upload until visitors get what is new.{' '}
        <a href="/docs/guides/publish-times">Guide</a>
      </p>
      <ProblemNote problem={problem} onRetry={refresh} />
      {isEmpty ? (
        <Empty title="Nothing was published yet">
          Each deployment, rebuild and purge is here with its times. From a terminal:
          <pre>{headland(['rebuild'], at(place))}</pre>
        </Empty>
      ) : (
        <>
          <Percentiles key={range.id} place={place} range={range} />
          <div className={css.filters}>
            <Kinds place={place} kind={kind} />
          </div>
          {(items ? items.length > 0 : !problem) && (
            <Panel flush>
              {items ? <PublishTable place={place} publishes={items} /> : <SkeletonRows count={6} height={72} />}
            </Panel>
          )}
          {items?.length === 0 && (
            <p className={css.hint} role="status">
              There are none of them.
            </p>
          )}
          <More of={publishes}>Show more</More>
        </>
      )}
      {/* After the list, which would move it. */}
      {(items ?? problem) && environment && environment.state !== 'DELETING' && (
        <Promised environment={environment} canWrite={canWrite} />
      )}
    </Page>
  )
}

function Kinds({ place, kind }: { place: Place; kind: Publish['kind'] | undefined }) {
  const path = environmentPath(place, 'publishes')
  const choices = [[undefined, 'All'], ...Object.entries(KINDS)] as [Publish['kind'] | undefined, string][]
  return (
    <Choices
      label="Kind"
      choices={choices.map(([to, text]) => ({ text, href: to ? `${path}?kind=${to}` : path, isChosen: to === kind }))}
    />
  )
}
