/** One app: its environments and previews, and its deletion. */
import { useLocation } from 'wouter'
import { call } from '../../api/client.ts'
import { useApps, useList, useRegions, useResource } from '../../api/data.ts'
import { headland } from '../../api/headland.ts'
import { areRegionsShown, regionName } from '../../api/regions.ts'
import type { App, Environment } from '../../api/types.ts'
import { Button, ButtonLink } from '../../components/controls/button.tsx'
import { useConfirm } from '../../components/controls/confirm.tsx'
import { counted } from '../../components/facts/format.ts'
import { Time } from '../../components/facts/time.tsx'
import { Empty } from '../../components/feedback/empty.tsx'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { Skeleton, SkeletonRows } from '../../components/feedback/skeleton.tsx'
import { useToast } from '../../components/feedback/toasts.tsx'
import { Page } from '../../components/layout/page.tsx'
import { Fact, Facts, Panel } from '../../components/layout/panel.tsx'
import type { AccountPageProps } from '../../page-props.ts'
import { appsPath, newEnvironmentPath } from '../../paths.ts'
import { useSession } from '../../session/session.tsx'
import { EnvironmentRows } from '../apps/environment-rows.tsx'
import { useTraffic } from '../apps/traffic/use-traffic.ts'
import { NotFound } from '../not-found.tsx'
import { PreviewSettings } from './preview-settings.tsx'
import { Previews } from './previews.tsx'
import { Push } from './push.tsx'

export default function AppPage({ app: id = '' }: AccountPageProps) {
  const { account, canWrite } = useSession()
  const name = `accounts/${account}/apps/${id}`
  const app = useResource<App>(name)
  const environments = useList<Environment>(`${name}/environments`, 'environments', {
    pageSize: 200,
    query: { orderBy: 'createTime' },
  })
  const apps = useApps(account)
  const { dayOf } = useTraffic(account)
  const regions = useRegions()
  const previews = environments.items?.filter(({ preview }) => preview) ?? []
  const others = environments.items?.filter(({ preview }) => !preview)

  if (!app.data && app.problem?.status === 404) return <NotFound title="There is no such app" />
  return (
    <Page
      title={id}
      crumbs={[{ text: 'Apps', href: appsPath(account) }]}
      actions={
        canWrite && (
          <ButtonLink kind="primary" icon="plus" href={newEnvironmentPath(account, id)}>
            New environment
          </ButtonLink>
        )
      }
    >
      <ProblemNote problem={app.problem ?? environments.problem} onRetry={environments.refresh} />
      {environments.items?.length === 0 ? (
        <NoEnvironment account={account} app={id} canWrite={canWrite} />
      ) : (
        <Panel title="Environments" flush>
          {others ? (
            <EnvironmentRows environments={others} label={`Environments of ${id}`} dayOf={dayOf} />
          ) : (
            <SkeletonRows count={2} height={64} />
          )}
        </Panel>
      )}
      {/* All at once, so that nothing moves. */}
      {app.data && apps && others && (
        <>
          {previews.length > 0 && (
            <Previews previews={previews} targets={others} canWrite={canWrite} refresh={environments.refresh} />
          )}
          {canWrite && <Push account={account} app={id} environments={others} />}
          <Panel title="Details">
            <Facts>
              <Fact name="Created">
                <Time at={app.data.createTime} />
              </Fact>
              {areRegionsShown(apps) && (
                <Fact name="Region">{regions ? regionName(regions, app.data.region) : <Skeleton width={14} />}</Fact>
              )}
            </Facts>
          </Panel>
          {canWrite && others.length > 0 && <PreviewSettings app={app.data} environments={others} />}
          {canWrite && (
            <Delete account={account} app={id} etag={app.data.etag} environments={environments.items ?? []} />
          )}
        </>
      )}
    </Page>
  )
}

function NoEnvironment({ account, app, canWrite }: { account: string; app: string; canWrite: boolean }) {
  return (
    <Empty
      title="No environment yet"
      {...(canWrite
        ? {
            curl: {
              command: headland(['envs', 'create', 'Production'], { account, app, cms: app }),
              method: 'POST' as const,
              path: `/v1/accounts/${account}/apps/${app}/environments`,
              body: { displayName: 'Production', branch: 'uploadable', cmsEnvironment: app },
            },
          }
        : {})}
    >
      An environment is a place where one version of the app answers under its own address.
    </Empty>
  )
}

type DeleteProps = { account: string; app: string; etag: string | undefined; environments: readonly Environment[] }

function Delete({ account, app, etag, environments }: DeleteProps) {
  const confirm = useConfirm()
  const say = useToast()
  const [, go] = useLocation()

  const ask = () =>
    confirm({
      title: `Delete ${app}?`,
      stops: [
        ...(environments.length > 0
          ? [
              `${counted(environments.length, 'site')} ${environments.length === 1 ? 'stops' : 'stop'} answering: ${environments.map(({ displayName }) => displayName).join(', ')}.`,
              'Builds, deployments, variables, domains and webhooks of all environments are deleted for good.',
            ]
          : []),
        'The name becomes free.',
      ],
      word: app,
      label: 'Delete app',
      async run() {
        const query = environments.length > 0 ? { force: true } : {}
        await call(`/v1/accounts/${account}/apps/${app}`, { method: 'DELETE', query, ifMatch: etag })
        go(appsPath(account))
        say(`${app} is being deleted.`)
      },
    })

  return (
    <Panel title="Delete this app">
      <p>Deletes all of its environments. This cannot be undone.</p>
      <div>
        <Button kind="danger" onClick={ask}>
          Delete app
        </Button>
      </div>
    </Panel>
  )
}
