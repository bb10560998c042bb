/** One build: its progress or result, the reason of a failure, the time of each phase, and its log, live. */
import { useMemo, useState } from 'react'
import { useResource } from '../../api/data.ts'
import { buildState, PHASE_WORDS, stepsOf, TRIGGER_WORDS, waitingRefreshMs } from '../../api/live/state.ts'
import { type Place, shortId } from '../../api/names.ts'
import type { Build, Environment, Phase } from '../../api/types.ts'
import { ExternalLink } from '../../components/controls/button.tsx'
import { CheckReport } from '../../components/facts/check-report.tsx'
import { HeldNote } from '../../components/facts/held-note.tsx'
import { By, Sent } from '../../components/facts/people.tsx'
import { Phases } from '../../components/facts/phases.tsx'
import { StatePill } from '../../components/facts/state-pill.tsx'
import { Took } from '../../components/facts/time.tsx'
import { LiveNote } from '../../components/feedback/live-note.tsx'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { SkeletonRows } from '../../components/feedback/skeleton.tsx'
import { Warnings } from '../../components/feedback/warnings.tsx'
import { Page } from '../../components/layout/page.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import { type Target, useLineInAddress } from '../../log/address.ts'
import { type Grouping, LogView } from '../../log/log-view.tsx'
import type { EnvironmentPageProps } from '../../page-props.ts'
import { useSession } from '../../session/session.tsx'
import { NotFound } from '../not-found.tsx'
import { BuildButtons, useBuildActions } from './actions.tsx'
import { Details } from './details.tsx'
import { FailureNote, FirstFailureNote } from './failure.tsx'
import { FromSnapshotNote } from './from-snapshot.tsx'
import css from './page.module.css'
import { TimeBar } from './time-bar.tsx'
import { timesOf } from './times.ts'

const GROUPING: Grouping = {
  groupOf: ({ phase }) => phase,
  textOf: (group) => PHASE_WORDS[group as Phase] ?? group,
}

/** Remounted for another build, so that its log is read from the start. */
export default function BuildPage(props: EnvironmentPageProps) {
  return <OneBuild key={props.id} {...props} />
}

function OneBuild({ place, id }: EnvironmentPageProps) {
  const name = `${place.name}/builds/${id}`
  const { canWrite } = useSession()
  const {
    data: build,
    problem,
    refresh,
  } = useResource<Build>(name, {
    refreshMs: (now) => waitingRefreshMs(now?.waiting),
  })
  const actions = useBuildActions(place, name)
  const inAddress = useLineInAddress()
  const [asked, setAsked] = useState<Target>()

  if (!build && (problem?.status === 404 || problem?.status === 400)) {
    return <NotFound title="There is no such build" detail="It may have been deleted with its environment." />
  }
  return (
    <Page
      title={`Build ${shortId(name)}`}
      beside={build && <StatePill shown={buildState(build)} />}
      actions={canWrite && build && <BuildButtons place={place} build={build} actions={actions} />}
    >
      {!build && <ProblemNote problem={problem} onRetry={refresh} />}
      <ProblemNote problem={actions.problem} />
      {build ? (
        <>
          <Sent message={build.message} commit={build.commit} promotedFrom={build.promotedFrom} />
          <Live place={place} build={build} />
          <Warnings build={build} />
          {build.held && <Held place={place} build={build} held={build.held} />}
          <Checked place={place} build={build} />
          <FromSnapshotNote place={place} build={build} />
          {!build.failure && <FirstFailureNote build={build} />}
          {build.failure && <FailureNote failure={build.failure} onJump={(number) => setAsked({ number })} />}
          <Panel title="Time" actions={<Summary build={build} />}>
            <div className={css.times}>
              <Times build={build} />
            </div>
          </Panel>
          <Panel title="Log" flush>
            <BuildLog build={build} target={asked ?? inAddress} />
          </Panel>
          <Details build={build} />
        </>
      ) : (
        <Panel flush>
          <SkeletonRows count={12} />
        </Panel>
      )}
      <p role="status" className="sr-only">
        {build && `${buildState(build).word}.`}
      </p>
    </Page>
  )
}

/** Where visitors see what this build made, for as long as it is live. */
function Live({ place, build }: { place: Place; build: Build }) {
  const { data: environment } = useResource<Environment>(place.name)
  if (!environment?.url || environment.state !== 'LIVE' || environment.build !== build.name) return null
  return (
    <LiveNote>
      This build is live: <ExternalLink href={environment.url}>{environment.url}</ExternalLink>
    </LiveNote>
  )
}

/** The note with its action is shown while this is the held build of the environment. */
function Held({ place, build, held }: { place: Place; build: Build; held: NonNullable<Build['held']> }) {
  const { data: environment } = useResource<Environment>(place.name)
  if (environment?.held?.build === build.name)
    return <HeldNote place={place} held={environment.held} retry={environment.retry} />
  return <Warnings build={{ warnings: [`It was held and did not go live. ${held.message}`] }} />
}

/** Of the build that is live or held: its deployment is known then. */
function Checked({ place, build }: { place: Place; build: Build }) {
  const { data: environment } = useResource<Environment>(place.name)
  const { held } = environment ?? {}
  if (held?.build === build.name) return <CheckReport name={held.deployment} />
  return environment?.build === build.name ? <CheckReport name={environment.deployment} /> : null
}

function Summary({ build }: { build: Build }) {
  const { trigger, requestedBy, createTime, startTime, finishTime } = build
  return (
    <span className={css.summary}>
      <span>{TRIGGER_WORDS[trigger]}</span>
      <By requester={requestedBy} />
      {startTime ? (
        <span>
          {finishTime ? (
            `took ${timesOf(build).total}`
          ) : (
            <>
              for <Took from={startTime} />
            </>
          )}
        </span>
      ) : (
        <Unbegun build={build} />
      )}
      {startTime && Date.parse(startTime) - Date.parse(createTime) >= 1000 && (
        <span>
          waited <Took from={createTime} to={startTime} />
        </span>
      )}
    </span>
  )
}

function Unbegun({ build: { createTime, finishTime, waiting } }: { build: Build }) {
  if (finishTime) return <span>never begun</span>
  return (
    <>
      <span>{waiting?.message ?? 'It begins at once.'}</span>
      <span>
        for <Took from={createTime} />
      </span>
    </>
  )
}

/** The steps while it runs, and afterwards the time of each phase. */
function Times({ build }: { build: Build }) {
  const { trigger, phase, finishTime, durations } = build
  if (!finishTime) return <Phases steps={stepsOf(trigger, phase, 'running', durations)} label="Steps of the build" />
  const { times } = timesOf(build)
  return times.length > 0 ? <TimeBar times={times} /> : <p className={css.quiet}>It ended before it began.</p>
}

function BuildLog({ build, target }: { build: Build; target: Target | undefined }) {
  const { name, failure, state } = build
  // The log of a failed build opens at the line of the failure, unless the address names another line.
  const [failing] = useState(failure && failure.logLine > 0 ? { number: failure.logLine } : undefined)
  const shown = useMemo(() => target ?? failing, [target, failing])
  return (
    <LogView
      address={`/v1/${name}/log`}
      label="Log of the build"
      fileName={`build-${shortId(name)}.log`}
      grouping={GROUPING}
      failingLine={failure?.logLine}
      target={shown}
      empty={state === 'QUEUED' ? 'The log begins when the build does.' : 'This log is no longer kept.'}
    />
  )
}
