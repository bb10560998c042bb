/** All apps of the account, and the state of each of their environments at a glance. */
import { useMemo, useState } from 'react'
import { Link, useSearchParams } from 'wouter'
import { useList, useRegions } from '../../api/data.ts'
import { idOf } from '../../api/names.ts'
import { areRegionsShown, regionName } from '../../api/regions.ts'
import type { Operation } from '../../api/types.ts'
import { ButtonLink } from '../../components/controls/button.tsx'
import { Choices } from '../../components/controls/choices.tsx'
import { More } from '../../components/controls/more.tsx'
import { SearchField } from '../../components/controls/search-field.tsx'
import { counted } from '../../components/facts/format.ts'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { SkeletonRows } from '../../components/feedback/skeleton.tsx'
import { Page } from '../../components/layout/page.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import type { AccountPageProps } from '../../page-props.ts'
import { appPath, appsPath, newAppPath, newEnvironmentPath } from '../../paths.ts'
import { useSession } from '../../session/session.tsx'
import { EnvironmentRows } from './environment-rows.tsx'
import { NoApps } from './first-run/no-apps.tsx'
import { useExample } from './first-run/use-example.ts'
import {
  type AppWithEnvironments,
  countsOf,
  type Narrowed,
  narrow,
  STATES,
  type StateFilter,
  stateIn,
} from './narrow.ts'
import css from './page.module.css'
import { type DayOf, useTraffic } from './traffic/use-traffic.ts'
import { UnderWay } from './under-way/under-way.tsx'
import { useAppsOverview } from './use-overview.ts'

/** More than the service runs and queues for an account at a time, in most cases; of more, the newest. */
const MAX_RUNNING = 200

export default function AppsPage(_: AccountPageProps) {
  const { account, canWrite } = useSession()
  const apps = useAppsOverview(account)
  const running = useList<Operation>(`accounts/${account}/runningOperations`, 'operations', { pageSize: MAX_RUNNING })
  const traffic = useTraffic(account)
  const example = useExample(account)
  const regions = useRegions()
  const [search, setSearch] = useState('')
  const [address] = useSearchParams()
  const state = stateIn(address.get('state'))
  // One cause in most cases, and so one note.
  const problem = apps.problem ?? running.problem ?? traffic.problem
  function refresh() {
    for (const each of [apps, running, traffic]) each.refresh()
  }
  const isTold = areRegionsShown(apps.items?.map(({ app }) => app))
  const environments = useMemo(
    () => new Map(apps.items?.flatMap((each) => each.environments.map((one) => [one.name, one]))),
    [apps.items],
  )
  // Together with what is under way, which would move the list if it came later.
  const isKnown = apps.items !== undefined && (running.items !== undefined || running.problem !== undefined)
  const shown = useMemo(
    () => (isKnown && apps.items ? narrow(apps.items, { search, state }) : undefined),
    [isKnown, apps.items, search, state],
  )
  // The app of the example is in the list before its build has a page.
  const isFirstRun = isKnown && (apps.items?.length === 0 || example.step !== undefined)

  return (
    <Page
      title="Apps"
      actions={
        canWrite &&
        !isFirstRun && (
          <ButtonLink kind="primary" icon="plus" href={newAppPath(account)}>
            New app
          </ButtonLink>
        )
      }
    >
      <ProblemNote problem={problem} onRetry={refresh} />
      <ProblemNote problem={example.problem} title="The example was not deployed" />
      {isFirstRun && <NoApps account={account} canWrite={canWrite} example={example} />}
      {shown && !isFirstRun && running.items && (
        <UnderWay account={account} operations={running.items} environments={environments} />
      )}
      {!isFirstRun && (
        <div className={css.filters}>
          <SearchField label="Search apps, environments and addresses" value={search} onChange={setSearch} />
          <States account={account} apps={apps.items} state={state} />
        </div>
      )}
      {!shown && !apps.problem && (
        <Panel flush>
          <SkeletonRows count={4} height={64} />
        </Panel>
      )}
      {shown && shown.length > 0 && !isFirstRun && (
        <ul className={css.apps} aria-label="Apps">
          {shown.map((each) => (
            <li key={each.app.name}>
              <AppCard
                {...each}
                account={account}
                region={isTold ? regionName(regions, each.app.region) : undefined}
                canWrite={canWrite}
                dayOf={traffic.dayOf}
              />
            </li>
          ))}
        </ul>
      )}
      {shown && shown.length > 0 && !isFirstRun && traffic.dayOf && (
        <p className={css.caption}>Requests, hits and errors are those of the last 24 hours.</p>
      )}
      {shown?.length === 0 && (search || state) && (
        <p className={css.none} role="status">
          {state && `No environment is “${STATES[state]}”${search ? ` and has all of these words: ${search}` : '.'}`}
          {!state && `Nothing has all of these words: ${search}`}
        </p>
      )}
      <More of={apps}>Show more apps</More>
    </Page>
  )
}

type StatesProps = {
  account: string
  apps: readonly AppWithEnvironments[] | undefined
  state: StateFilter | undefined
}

function States({ account, apps, state }: StatesProps) {
  const counts = useMemo(() => apps && countsOf(apps), [apps])
  const href = appsPath(account)
  const choices = (Object.keys(STATES) as StateFilter[]).map((each) => ({
    text: STATES[each],
    href: `${href}?state=${each}`,
    isChosen: each === state,
    ...(counts ? { count: counts[each] } : {}),
  }))
  return <Choices label="State" choices={[{ text: 'All', href, isChosen: state === undefined }, ...choices]} />
}

type CardProps = Narrowed & { account: string; region: string | undefined; canWrite: boolean; dayOf: DayOf | undefined }

function AppCard({ app, environments, total, account, region, canWrite, dayOf }: CardProps) {
  const name = idOf(app.name)
  return (
    <article className={css.card}>
      <header className={css.head}>
        <h2 className={css.title}>
          <Link href={appPath(account, name)}>{name}</Link>
        </h2>
        <span className={css.facts}>
          {region && `${region} · `}
          {environments.length < total && `${environments.length} of `}
          {counted(total, 'environment')}
        </span>
        {canWrite && (
          <ButtonLink kind="quiet" small icon="plus" href={newEnvironmentPath(account, name)}>
            Environment<span className="sr-only"> of {name}</span>
          </ButtonLink>
        )}
      </header>
      {environments.length > 0 && (
        <EnvironmentRows environments={environments} label={`Environments of ${name}`} dayOf={dayOf} />
      )}
      {environments.length === 0 && (
        <p className={css.empty}>No environment yet: a place where a version of it answers.</p>
      )}
    </article>
  )
}
