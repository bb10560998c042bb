/** The ledger: who requested builds and purges of an environment, and the results. */
import { Link, useSearchParams } from 'wouter'
import { useList } from '../../api/data.ts'
import { at, headland } from '../../api/headland.ts'
import { type Place, shortId } from '../../api/names.ts'
import type { RecordedTrigger, TriggerSource } from '../../api/types.ts'
import { Choices } from '../../components/controls/choices.tsx'
import { More } from '../../components/controls/more.tsx'
import { Empty } from '../../components/feedback/empty.tsx'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { SkeletonRows } from '../../components/feedback/skeleton.tsx'
import { Page } from '../../components/layout/page.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import type { EnvironmentPageProps } from '../../page-props.ts'
import { environmentPath } from '../../paths.ts'
import css from './page.module.css'
import { TriggerTable } from './trigger-table.tsx'
import { SOURCES, sourceIn } from './words.ts'

const ID = /^[0-9a-f-]{36}$/

export default function TriggersPage({ place }: EnvironmentPageProps) {
  const [search] = useSearchParams()
  const source = sourceIn(search.get('source'))
  const given = search.get('operation') ?? ''
  const operation = ID.test(given) ? given : undefined
  const triggers = useList<RecordedTrigger>(`${place.name}/triggers`, 'triggers', { query: { operation, source } })
  const isFiltered = source !== undefined || operation !== undefined

  return (
    <Page title="Triggers">
      <ProblemNote problem={triggers.problem} onRetry={triggers.refresh} />
      {(triggers.items === undefined || triggers.items.length > 0 || isFiltered) && (
        <div className={css.filters}>
          <Sources place={place} operation={operation} source={source} />
          {operation && (
            <p className={css.quiet}>
              Only what operation <code>{shortId(operation)}</code> satisfied.{' '}
              <Link href={environmentPath(place, 'triggers')}>Show all</Link>
            </p>
          )}
        </div>
      )}
      {!triggers.items && !triggers.problem && (
        <Panel flush>
          <SkeletonRows count={6} height={60} />
        </Panel>
      )}
      {triggers.items?.length === 0 && !isFiltered && <NoTriggers place={place} />}
      {triggers.items && triggers.items.length > 0 && (
        <Panel flush>
          <TriggerTable place={place} triggers={triggers.items} />
        </Panel>
      )}
      {triggers.items?.length === 0 && isFiltered && (
        <p className={css.quiet} role="status">
          {source ? `No call came by ${SOURCES[source]}.` : 'No call is known for this operation.'}
        </p>
      )}
      <More of={triggers}>Show more</More>
    </Page>
  )
}

type SourcesProps = { place: Place; operation: string | undefined; source: TriggerSource | undefined }

function Sources({ place, operation, source }: SourcesProps) {
  const href = (to: TriggerSource | undefined) => {
    const search = new URLSearchParams({
      ...(to ? { source: to } : {}),
      ...(operation ? { operation } : {}),
    }).toString()
    return `${environmentPath(place, 'triggers')}${search ? `?${search}` : ''}`
  }
  const choices = [[undefined, 'All'], ...Object.entries(SOURCES)] as [TriggerSource | undefined, string][]
  return (
    <Choices
      label="Source"
      choices={choices.map(([to, text]) => ({ text, href: href(to), isChosen: to === source }))}
    />
  )
}

function NoTriggers({ place }: { place: Place }) {
  const call = `curl -fsS -X POST "${location.origin}/wh/v1/${place.name}/webhooks/webhook:rebuild?token=…"`
  return (
    <Empty title="No triggers yet">
      <div className={css.empty}>
        <p>
          Every Rebuild, Clean Rebuild and purge is recorded here: by a webhook, over the API or this portal, or by the
          app itself. From a terminal:
        </p>
        <pre className={css.call}>{headland(['rebuild'], at(place))}</pre>
        <p>
          Or create <Link href={environmentPath(place, 'settings/webhooks')}>webhooks</Link> and call one:
        </p>
        <pre className={css.call}>{call}</pre>
        <p>A call that is not in the list did not reach this service, or its token was wrong.</p>
      </div>
    </Empty>
  )
}
