/** The builds of an environment, newest first: how each ended, what triggered it and how long it took. */
import { useSearchParams } from 'wouter'
import { useList, useResource } from '../../api/data.ts'
import type { Place } from '../../api/names.ts'
import type { Build, Environment } from '../../api/types.ts'
import { SelectField } from '../../components/controls/field.tsx'
import { More } from '../../components/controls/more.tsx'
import { counted } from '../../components/facts/format.ts'
import { uploadFirst } from '../../components/facts/upload-first.tsx'
import { Empty } from '../../components/feedback/empty.tsx'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { SkeletonRows } from '../../components/feedback/skeleton.tsx'
import { Page } from '../../components/layout/page.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import type { EnvironmentPageProps } from '../../page-props.ts'
import { useSession } from '../../session/session.tsx'
import { BuildTable } from './build-table.tsx'
import { type BuildFilter, isWanted, readFilter, STATES, TRIGGERS, writeFilter } from './filter.ts'
import css from './page.module.css'

export default function BuildsPage({ place }: EnvironmentPageProps) {
  const builds = useList<Build>(`${place.name}/builds`, 'builds')
  const { data: environment } = useResource<Environment>(place.name)
  const [query, setQuery] = useSearchParams()
  const filter = readFilter(query)
  const shown = builds.items?.filter((build) => isWanted(build, filter))

  if (builds.items?.length === 0) return <NoBuild place={place} />
  return (
    <Page title="Builds">
      {!builds.items && <ProblemNote problem={builds.problem} onRetry={builds.refresh} />}
      <Filters filter={filter} onChange={(changed) => setQuery(writeFilter(changed), { replace: true })} />
      <Panel flush>
        {shown ? (
          <BuildTable place={place} builds={shown} live={environment?.build ?? ''} />
        ) : (
          <SkeletonRows count={8} height={45} />
        )}
        {shown?.length === 0 && (
          <p className={css.none}>
            {builds.hasMore
              ? `None of the newest ${counted(builds.items?.length ?? 0, 'build')} passes the filter.`
              : 'No build passes the filter.'}
          </p>
        )}
      </Panel>
      <More of={builds}>Show older builds</More>
    </Page>
  )
}

function Filters({ filter, onChange }: { filter: BuildFilter; onChange(filter: BuildFilter): void }) {
  return (
    <div className={css.filters}>
      <SelectField
        label="State"
        name="state"
        value={filter.state}
        options={[{ value: '', text: 'All states' }, ...STATES]}
        onChange={(event) => onChange({ ...filter, state: event.target.value })}
      />
      <SelectField
        label="Trigger"
        name="trigger"
        value={filter.trigger}
        options={[{ value: '', text: 'All triggers' }, ...TRIGGERS]}
        onChange={(event) => onChange({ ...filter, trigger: event.target.value })}
      />
    </div>
  )
}

function NoBuild({ place }: { place: Place }) {
  const { canWrite } = useSession()
  return (
    <Page title="Builds">
      <Empty title="No build yet" {...(canWrite ? uploadFirst(place) : {})}>
        Each upload and each rebuild is a build: its steps, its log and how long it took are kept here.
      </Empty>
    </Page>
  )
}
