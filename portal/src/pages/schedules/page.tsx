/** Settings → Schedules: rebuilds and purges that the service requests by itself. */
import { useState } from 'react'
import { Link } from 'wouter'
import { call } from '../../api/client.ts'
import { useAction, useList, useResource } from '../../api/data.ts'
import type { Environment, Schedule } from '../../api/types.ts'
import { Button } from '../../components/controls/button.tsx'
import { useConfirm } from '../../components/controls/confirm.tsx'
import { More } from '../../components/controls/more.tsx'
import { Pill } from '../../components/facts/pill.tsx'
import { Time } from '../../components/facts/time.tsx'
import { Empty } from '../../components/feedback/empty.tsx'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { SkeletonRows } from '../../components/feedback/skeleton.tsx'
import { useToast } from '../../components/feedback/toasts.tsx'
import { Page } from '../../components/layout/page.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import { type Column, Table } from '../../components/layout/table.tsx'
import type { EnvironmentPageProps } from '../../page-props.ts'
import { environmentPath } from '../../paths.ts'
import { useSession } from '../../session/session.tsx'
import { ACTIONS } from '../triggers/words.ts'
import { NewSchedule } from './new-schedule.tsx'
import css from './page.module.css'
import { timesIn } from './words.ts'

export default function SchedulesPage({ place }: EnvironmentPageProps) {
  const session = useSession()
  const { data: environment } = useResource<Environment>(place.name)
  const canWrite = session.canWrite && environment?.state !== 'DELETING'
  const path = `${place.name}/schedules`
  const schedules = useList<Schedule>(path, 'schedules')
  const [isMaking, setMaking] = useState(false)
  const { items, problem } = schedules
  const { pause, remove } = useChanges(path, schedules.refresh)

  const actions = (schedule: Schedule) => (
    <span className={css.actions}>
      <Button
        small
        aria-label={`${schedule.paused ? 'Resume' : 'Pause'} ${schedule.cron}`}
        busy={pause.isBusy}
        onClick={() => pause.run(schedule)}
      >
        {schedule.paused ? 'Resume' : 'Pause'}
      </Button>
      <Button small aria-label={`Delete ${schedule.cron}`} onClick={() => remove(schedule)}>
        Delete
      </Button>
    </span>
  )
  const columns: Column<Schedule>[] = [
    { head: 'What', cell: ({ action }) => ACTIONS[action] },
    { head: 'When', grow: true, cell: (schedule) => <When schedule={schedule} /> },
    { head: 'Next', cell: (schedule) => <Next schedule={schedule} /> },
    { head: 'Last', cell: ({ lastTime }) => (lastTime ? <Time at={lastTime} /> : 'Not yet') },
    ...(canWrite ? [{ head: 'Actions', quiet: true, cell: actions }] : []),
  ]
  const make = (
    <Button kind="primary" icon="plus" onClick={() => setMaking(true)}>
      New schedule
    </Button>
  )

  return (
    <Page title="Schedules" actions={canWrite && items?.length !== 0 && make}>
      <p className={css.hint}>
        Rebuilds and purges at fixed times, by cron expressions. What they did is among the{' '}
        <Link href={environmentPath(place, 'triggers')}>triggers</Link>. <a href="/docs/guides/schedules">Guide</a>
      </p>
      <ProblemNote problem={pause.problem} />
      <ProblemNote problem={problem} onRetry={schedules.refresh} />
      {items?.length === 0 && (
        <Empty title="No schedules yet" action={canWrite && make}>
          A nightly rebuild keeps a site fresh whose CMS cannot call webhooks, and takes up posts that are published at
          a later date.
        </Empty>
      )}
      {(items ? items.length > 0 : !problem) && (
        <Panel flush>
          {items ? (
            <Table label="Schedules" columns={columns} items={items} keyOf={({ name }) => name} />
          ) : (
            <SkeletonRows count={3} />
          )}
        </Panel>
      )}
      <More of={schedules}>Show more</More>
      {isMaking && <NewSchedule place={place} path={path} onClose={() => setMaking(false)} />}
    </Page>
  )
}

function When({ schedule: { cron, timeZone } }: { schedule: Schedule }) {
  return (
    <span className={css.stack}>
      <code>{cron}</code>
      <span className={css.detail}>{timeZone}</span>
    </span>
  )
}

function Next({ schedule: { paused, nextTimes, timeZone } }: { schedule: Schedule }) {
  const [next] = nextTimes
  if (paused || !next) return <Pill tone="idle">Paused</Pill>
  return (
    <span className={css.stack} title={timesIn(nextTimes, timeZone).join('\n')}>
      <Time at={next} />
      <span className={css.detail}>{timesIn([next], timeZone)}</span>
    </span>
  )
}

function useChanges(path: string, refresh: () => void) {
  const say = useToast()
  const confirm = useConfirm()
  const pause = useAction(
    async ({ name, paused, etag }: Schedule) => {
      await call(`/v1/${name}`, { method: 'PATCH', body: { paused: !paused, etag } })
      say(paused ? 'The schedule runs again.' : 'The schedule is paused.')
    },
    { refreshes: [path] },
  )
  const remove = ({ name, action, cron }: Schedule) =>
    confirm({
      title: `Delete the schedule ${cron}?`,
      stops: [`${ACTIONS[action]} is not requested at these times any more. What was requested goes on.`],
      label: 'Delete schedule',
      async run() {
        await call(`/v1/${name}`, { method: 'DELETE' })
        refresh()
        say('The schedule is deleted.')
      },
    })
  return { pause, remove }
}
