/** The overview of an environment: what is live, what is running, and the everyday actions. */
import { useRef } from 'react'
import { useList, useResource } from '../../api/data.ts'
import { decisiveOperation, environmentState, isOfBuild, outcomeOf } from '../../api/live/state.ts'
import type { Place } from '../../api/names.ts'
import { type SitePicture, useSitePicture } from '../../api/site-picture.ts'
import type { Build, Environment, Operation } from '../../api/types.ts'
import { HeldNote, RetryNote } from '../../components/facts/held-note.tsx'
import { OperationProgress, OperationView } from '../../components/facts/operation.tsx'
import { PinNote } from '../../components/facts/pin-note.tsx'
import { StatePill } from '../../components/facts/state-pill.tsx'
import { LiveNote } from '../../components/feedback/live-note.tsx'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { SkeletonRows } from '../../components/feedback/skeleton.tsx'
import { Warnings } from '../../components/feedback/warnings.tsx'
import { Page } from '../../components/layout/page.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import type { EnvironmentPageProps } from '../../page-props.ts'
import { useSession } from '../../session/session.tsx'
import { ActionButtons, type EnvironmentActions, useEnvironmentActions } from './actions.tsx'
import { Details } from './details.tsx'
import { DropZone } from './drop-zone.tsx'
import { RecentOperations } from './recent-operations.tsx'

const RECENT = 8

export default function OverviewPage({ place }: EnvironmentPageProps) {
  const { canWrite } = useSession()
  const { data: environment, problem, refresh } = useResource<Environment>(place.name)
  const operations = useList<Operation>(`${place.name}/operations`, 'operations', { pageSize: RECENT })
  const actions = useEnvironmentActions(place, environment?.freshness)
  const picture = useSitePicture(place.name, stampOf(operations.items))
  // Shown once both are fetched: a part that arrives later would move the others.
  const loaded =
    environment && operations.items && picture ? { environment, operations: operations.items, picture } : undefined

  return (
    <Page
      title={loaded?.environment.displayName ?? 'Overview'}
      beside={loaded && <StatePill shown={environmentState(loaded.environment)} />}
      actions={loaded && canWrite && isChangeable(loaded) && <Actions {...loaded} actions={actions} />}
    >
      {!loaded && <ProblemNote problem={problem ?? operations.problem} onRetry={refresh} />}
      <ProblemNote problem={actions.problem} />
      {loaded ? (
        <Content place={place} {...loaded} />
      ) : (
        <Panel flush>
          <SkeletonRows count={8} height={36} />
        </Panel>
      )}
    </Page>
  )
}

type Loaded = { environment: Environment; operations: readonly Operation[]; picture: SitePicture }

/** What went live last: its picture is taken from then on. */
const stampOf = (operations: readonly Operation[] | undefined): string | undefined =>
  operations && (operations.find(({ done, metadata }) => done && metadata.deployment)?.name ?? '')

const isChangeable = ({ environment }: Pick<Loaded, 'environment'>): boolean => environment.state !== 'DELETING'

const Actions = ({ environment, operations, actions }: Omit<Loaded, 'picture'> & { actions: EnvironmentActions }) => (
  <ActionButtons actions={actions} canRebuild={environment.build !== '' || operations.some(isOfBuild)} />
)

function Content({ place, environment, operations, picture }: Loaded & { place: Place }) {
  const { canWrite } = useSession()
  const running = operations.filter(({ done }) => !done)
  const isOld = useOld(operations)
  const telling = decisiveOperation(operations)
  const isEmpty = environment.state === 'EMPTY'
  const isShown = !isEmpty && (picture.source !== undefined || picture.isPending)
  const details = <Details place={place} environment={environment} picture={isShown ? picture : undefined} />

  return (
    <>
      {running.length > 0 && (
        <Panel title={running.length === 1 ? 'Under way' : `Under way, ${running.length} operations`}>
          {running.toReversed().map((operation) => (
            <OperationProgress key={operation.name} name={operation.name} known={operation} />
          ))}
        </Panel>
      )}
      {environment.held && <HeldNote place={place} held={environment.held} retry={environment.retry} linksToBuild />}
      {environment.retry && !environment.held && <RetryNote retry={environment.retry} />}
      {telling && outcomeOf(telling) === 'failed' && (
        <Panel title="The last operation failed">
          <OperationView operation={telling} />
        </Panel>
      )}
      {telling && !isOld(telling) && <JustLive environment={environment} newest={telling} />}
      <PinNote place={place} pin={environment.pin} />
      {!isEmpty && details}
      {environment.build !== '' && <LiveWarnings build={environment.build} />}
      {canWrite && environment.state !== 'DELETING' && (
        <DropZone place={place} name={environment.displayName}>
          <h2>{isEmpty ? 'Deploy your app' : 'Deploy a new version'}</h2>
        </DropZone>
      )}
      {isEmpty && details}
      <Panel title="Recent operations" flush>
        <RecentOperations place={place} operations={operations} />
      </Panel>
    </>
  )
}

/** Warnings of the live build, which may be years old, so they are shown here and not only on the page of the build. */
function LiveWarnings({ build }: Pick<Environment, 'build'>) {
  const { data } = useResource<Build>(build)
  return data ? <Warnings build={data} /> : null
}

/** Returns whether an operation was done before this page was opened. A short one may never be seen running. */
function useOld(operations: readonly Operation[]): (operation: Operation) => boolean {
  const old = useRef<ReadonlySet<string>>(undefined)
  old.current ??= new Set(operations.filter(({ done }) => done).map(({ name }) => name))
  return ({ name }) => old.current?.has(name) ?? false
}

/** Shown to users who waited on this page until their build was live. */
function JustLive({ environment, newest }: { environment: Environment; newest: Operation }) {
  const isBuild = isOfBuild(newest) && newest.metadata.trigger !== 'ACTIVATE'
  const isFresh = newest.done && isBuild && outcomeOf(newest) === 'well' && environment.state === 'LIVE'
  if (!isFresh) return null
  return (
    <LiveNote>
      {newest.metadata.unchanged
        ? 'The last build produced the same output: nothing changed for visitors.'
        : 'The last build is live.'}{' '}
      <a href={environment.url} target="_blank" rel="noopener noreferrer">
        Open the site
      </a>
    </LiveNote>
  )
}
