/** What visitors asked for, and what they got, live. */
import { useState } from 'react'
import { Link, useSearchParams } from 'wouter'
import { useResource } from '../../api/data.ts'
import { at, headland } from '../../api/headland.ts'
import type { Place } from '../../api/names.ts'
import type { Build, Environment } from '../../api/types.ts'
import { AddressSearch } from '../../components/controls/address-search.tsx'
import { Button, ExternalLink } from '../../components/controls/button.tsx'
import { Choices } from '../../components/controls/choices.tsx'
import { More } from '../../components/controls/more.tsx'
import { counted } from '../../components/facts/format.ts'
import { Empty } from '../../components/feedback/empty.tsx'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { SkeletonRows } from '../../components/feedback/skeleton.tsx'
import { Page } from '../../components/layout/page.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import type { FollowState } from '../../log/follow.ts'
import type { EnvironmentPageProps } from '../../page-props.ts'
import { environmentPath } from '../../paths.ts'
import { isStatic } from '../build/plan.ts'
import css from './page.module.css'
import { RequestTable } from './request-table.tsx'
import { type Filter, useRequests } from './use-requests.ts'
import { STATUSES, type StatusClass, statusIn } from './words.ts'

const MAX_PATH_LENGTH = 200

export default function RequestsPage({ place }: EnvironmentPageProps) {
  const [search] = useSearchParams()
  const status = statusIn(search.get('status'))
  const path = search.get('path')?.slice(0, MAX_PATH_LENGTH) || undefined
  const [isPaused, setPaused] = useState(false)

  return (
    <Page title="Requests">
      <div className={css.filters}>
        <Statuses place={place} status={status} path={path} />
        <AddressSearch label="Path, as /blog*" parameter="path" maxLength={MAX_PATH_LENGTH} />
        <Button icon={isPaused ? undefined : 'pause'} aria-pressed={isPaused} onClick={() => setPaused(!isPaused)}>
          {isPaused ? 'Go on' : 'Pause'}
        </Button>
      </div>
      <Requests key={`${place.name} ${status} ${path}`} place={place} filter={{ status, path }} isPaused={isPaused} />
    </Page>
  )
}

function Requests({ place, filter, isPaused }: { place: Place; filter: Filter; isPaused: boolean }) {
  const shown = useRequests(`/v1/${place.name}/requests`, filter, isPaused)
  const { rows, isRecorded, state, problem, retry } = shown
  const { data: environment } = useResource<Environment>(place.name)
  const build = environment?.build ?? ''
  const { data: live } = useResource<Build>(build, { enabled: build !== '' })
  const isFiltered = filter.status !== undefined || filter.path !== undefined

  if (!isRecorded) return <NotRecorded />
  return (
    <>
      <ProblemNote problem={problem} onRetry={retry} />
      {!rows && !problem && (
        <Panel flush>
          <SkeletonRows count={8} height={40} />
        </Panel>
      )}
      {rows?.length === 0 && !isFiltered && <NoRequests place={place} environment={environment} />}
      {rows?.length === 0 && isFiltered && (
        <p className={css.quiet} role="status">
          No recorded request matches. New ones appear here as they come.
        </p>
      )}
      {rows && rows.length > 0 && (
        <>
          <p className={css.quiet}>
            {counted(rows.length, 'request')}, the newest first. {isPaused ? 'Paused.' : STATES[state]}
          </p>
          <Panel flush>
            <RequestTable place={place} requests={rows} hasApp={isStatic(live?.plan) === false} />
          </Panel>
        </>
      )}
      <More of={shown}>Show older ones</More>
    </>
  )
}

const STATES: Record<FollowState, string> = {
  reading: 'Reading.',
  following: 'New ones appear as they come.',
  waiting: 'Connecting again.',
  over: '',
  refused: 'Not available.',
}

type StatusesProps = { place: Place; status: StatusClass | undefined; path: string | undefined }

function Statuses({ place, status, path }: StatusesProps) {
  const href = (to: StatusClass | undefined) => {
    const search = new URLSearchParams({ ...(to ? { status: to } : {}), ...(path ? { path } : {}) }).toString()
    return `${environmentPath(place, 'requests')}${search ? `?${search}` : ''}`
  }
  const choices = [undefined, ...STATUSES].map((to) => ({ text: to ?? 'All', href: href(to), isChosen: to === status }))
  return <Choices label="Status" choices={choices} />
}

function NoRequests({ place, environment }: { place: Place; environment: Environment | undefined }) {
  const command = headland(['logs'], at(place, environment?.displayName)).replace('logs', 'logs --requests -f')
  return (
    <Empty title="No requests yet">
      <div className={css.empty}>
        <p>
          Each request to the site appears here a second after it was answered: its path, its status, how long it took,
          and whether the cache answered. Values of queries and whole addresses of visitors are not recorded.
        </p>
        {environment?.url && (
          <p>
            Open <ExternalLink href={environment.url}>{environment.url}</ExternalLink>, and look here again. From a
            terminal:
          </p>
        )}
        <pre className={css.call}>{command}</pre>
        <p>
          Totals over a longer time are under <Link href={environmentPath(place, 'usage')}>Usage</Link>.
        </p>
      </div>
    </Empty>
  )
}

function NotRecorded() {
  return (
    <Empty title="Requests are not recorded">
      <p>
        The operator of this service has switched it off with the setting <code>requestLog</code>. Totals are still
        counted under Usage.
      </p>
    </Empty>
  )
}
