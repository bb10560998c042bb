/** All apps of the account, and the state of each of their environments at a glance. */
import { useMemo, useState } from 'react'
import { Link, useSearchParams } from 'wouter'
import { useRegions } from '../../api/data.ts'
import { headland } from '../../api/headland.ts'
import { idOf } from '../../api/names.ts'
import { areRegionsShown, regionName } from '../../api/regions.ts'
import { ButtonLink } from '../../components/controls/button.tsx'
import { Choices } from '../../components/controls/choices.tsx'
import { More } from '../../components/controls/more.tsx'
import { SearchField } from '../../components/controls/search-field.tsx'
import { counted } from '../../components/facts/format.ts'
import { Empty } from '../../components/feedback/empty.tsx'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { SkeletonRows } from '../../components/feedback/skeleton.tsx'
import { Page } from '../../components/layout/page.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import type { AccountPageProps } from '../../page-props.ts'
import { appPath, appsPath, newAppPath, newEnvironmentPath } from '../../paths.ts'
import { useSession } from '../../session/session.tsx'
import { EnvironmentRows } from './environment-rows.tsx'
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
import { useAppsOverview } from './use-overview.ts'

export default function AppsPage(_: AccountPageProps) {
  const { account, canWrite } = useSession()
  const apps = useAppsOverview(account)
  const regions = useRegions()
  const [search, setSearch] = useState('')
  const [address] = useSearchParams()
  const state = stateIn(address.get('state'))
  const isTold = areRegionsShown(apps.items?.map(({ app }) => app))
  const shown = useMemo(() => apps.items && narrow(apps.items, { search, state }), [apps.items, search, state])

  return (
    <Page
      title="Apps"
      actions={
        canWrite && (
          <ButtonLink kind="primary" icon="plus" href={newAppPath(account)}>
            New app
          </ButtonLink>
        )
      }
    >
      {apps.problem && <ProblemNote problem={apps.problem} onRetry={apps.refresh} />}
      {(apps.items === undefined || apps.items.length > 0) && (
        <div className={css.filters}>
          <SearchField label="Search apps, environments and addresses" value={search} onChange={setSearch} />
          <States account={account} apps={apps.items} state={state} />
        </div>
      )}
      {!shown && !apps.problem && (
        <Panel flush>
          <SkeletonRows count={4} height={48} />
        </Panel>
      )}
      {apps.items?.length === 0 && <NoApps account={account} canWrite={canWrite} />}
      {shown && shown.length > 0 && (
        <ul className={css.apps} aria-label="Apps">
          {shown.map((each) => (
            <li key={each.app.name}>
              <AppCard
                {...each}
                account={account}
                region={isTold ? regionName(regions, each.app.region) : undefined}
                canWrite={canWrite}
              />
            </li>
          ))}
        </ul>
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

type CardProps = Narrowed & { account: string; region: string | undefined; canWrite: boolean }

function AppCard({ app, environments, total, account, region, canWrite }: CardProps) {
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
      {environments.length > 0 && <EnvironmentRows environments={environments} label={`Environments of ${name}`} />}
      {environments.length === 0 && (
        <p className={css.empty}>No environment yet: a place where a version of it answers.</p>
      )}
    </article>
  )
}

function NoApps({ account, canWrite }: { account: string; canWrite: boolean }) {
  return (
    <Empty
      title="No app yet"
      {...(canWrite
        ? {
            action: (
              <ButtonLink kind="primary" icon="plus" href={newAppPath(account)}>
                Create the first app
              </ButtonLink>
            ),
            curl: {
              command: headland(['apps', 'create', 'my-app'], { account, region: 'EU-W' }),
              method: 'POST' as const,
              path: `/v1/accounts/${account}/apps?appId=my-app`,
              body: { region: 'regions/EU-W', uploadable: {} },
            },
          }
        : {})}
    >
      An app is a name and a region. It holds environments, such as production and staging, and each of them serves one
      version of your site.
    </Empty>
  )
}
