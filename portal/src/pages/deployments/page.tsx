/** The deployments of an environment, and the rollback to an older one. */
import { useState } from 'react'
import { call } from '../../api/client.ts'
import { useList, useResource } from '../../api/data.ts'
import { outcomeOf } from '../../api/live/state.ts'
import type { Place } from '../../api/names.ts'
import type { Deployment, Environment, Operation } from '../../api/types.ts'
import { useConfirm } from '../../components/controls/confirm.tsx'
import { More } from '../../components/controls/more.tsx'
import { CheckReport } from '../../components/facts/check-report.tsx'
import { OperationProgress } from '../../components/facts/operation.tsx'
import { PinNote } from '../../components/facts/pin-note.tsx'
import { uploadFirst } from '../../components/facts/upload-first.tsx'
import { Empty } from '../../components/feedback/empty.tsx'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { SkeletonRows } from '../../components/feedback/skeleton.tsx'
import { Page } from '../../components/layout/page.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import type { EnvironmentPageProps } from '../../page-props.ts'
import { useSession } from '../../session/session.tsx'
import { Comparison } from './comparison.tsx'
import { DeploymentTable } from './deployment-table.tsx'
import { activationWord } from './words.ts'

export default function DeploymentsPage({ place }: EnvironmentPageProps) {
  const { canWrite } = useSession()
  const { data: environment } = useResource<Environment>(place.name)
  const deployments = useList<Deployment>(`${place.name}/deployments`, 'deployments')
  const operations = useList<Operation>(`${place.name}/operations`, 'operations', { pageSize: 8 })
  const [started, setStarted] = useState<string>()
  const [lookedAt, setLookedAt] = useState<string>()
  const confirm = useConfirm()
  const live = deployments.items?.find(({ state }) => state === 'LIVE')
  const running = operations.items?.find((operation) => outcomeOf(operation) === 'running')?.name
  const shown = started ?? running

  const activate = (next: Deployment) => {
    const word = activationWord(next, live)
    confirm({
      title: word === 'Make live' ? 'Make this deployment live?' : 'Roll back to this deployment?',
      children: <Comparison live={live} next={next} />,
      label: word === 'Make live' ? 'Make it live' : 'Roll back',
      kind: 'primary',
      run: async () => setStarted((await call<Operation>(`/v1/${next.name}:activate`, { method: 'POST' })).name),
    })
  }

  if (deployments.items?.length === 0) return <NoDeployment place={place} canWrite={canWrite} />
  return (
    <Page title="Deployments">
      {!deployments.items && <ProblemNote problem={deployments.problem} onRetry={deployments.refresh} />}
      <PinNote place={place} pin={environment?.pin ?? null} />
      {shown && (
        <Panel title={started ? 'The activation' : 'Under way'}>
          <OperationProgress key={shown} name={shown} />
        </Panel>
      )}
      <Panel flush>
        {deployments.items ? (
          <DeploymentTable
            place={place}
            deployments={deployments.items}
            live={live}
            onActivate={canWrite ? activate : undefined}
            onCheck={setLookedAt}
          />
        ) : (
          <SkeletonRows count={6} height={45} />
        )}
      </Panel>
      {lookedAt && <CheckReport key={lookedAt} name={lookedAt} isAsked />}
      <More of={deployments}>Show older deployments</More>
    </Page>
  )
}

function NoDeployment({ place, canWrite }: { place: Place; canWrite: boolean }) {
  return (
    <Page title="Deployments">
      <Empty title="Nothing was deployed yet" {...(canWrite ? uploadFirst(place) : {})}>
        A build that goes well becomes a deployment. The last few are kept, so that one of them can be made live again
        within seconds.
      </Empty>
    </Page>
  )
}
