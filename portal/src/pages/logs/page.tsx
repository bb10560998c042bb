/** The log of the running app, live. */
import { useCallback, useState } from 'react'
import { Link } from 'wouter'
import { useResource } from '../../api/data.ts'
import type { Build, Environment } from '../../api/types.ts'
import { Page } from '../../components/layout/page.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import { useLineInAddress } from '../../log/address.ts'
import type { Line } from '../../log/lines.ts'
import { type Grouping, LogView } from '../../log/log-view.tsx'
import type { EnvironmentPageProps } from '../../page-props.ts'
import { environmentPath } from '../../paths.ts'
import { isStatic } from '../build/plan.ts'
import css from './page.module.css'

type Choice = 'all' | Line['stream']

const CHOICES: readonly { value: Choice; text: string }[] = [
  { value: 'all', text: 'All lines' },
  { value: 'stdout', text: 'Only stdout' },
  { value: 'stderr', text: 'Only stderr' },
  { value: 'service', text: 'Only the service' },
]

const day = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full' })

/** Groups lines by day, with the date as heading. */
const GROUPING: Grouping = {
  groupOf: ({ time }) => (Number.isFinite(time) ? String(new Date(time).setHours(0, 0, 0, 0)) : ''),
  textOf: (group) => day.format(Number(group)),
}

export default function LogsPage({ place }: EnvironmentPageProps) {
  const { data: environment } = useResource<Environment>(place.name)
  const build = environment?.build ?? ''
  const { data: live } = useResource<Build>(build, { enabled: build !== '' })
  const isOfFiles = isStatic(live?.plan) === true
  const target = useLineInAddress()
  const [choice, setChoice] = useState<Choice>('all')
  const isWanted = useCallback(({ stream }: Line) => stream === choice, [choice])

  return (
    <Page title="Logs">
      {isOfFiles && (
        <p className={css.note}>
          The live deployment is a site of files: the edge serves them, and no program of yours runs. Here you see when
          a deployment went live. What visitors ask for is under{' '}
          <Link href={environmentPath(place, 'requests')}>Requests</Link>.
        </p>
      )}
      <Panel flush>
        <LogView
          key={place.name}
          address={`/v1/${place.name}/logs`}
          label="Log of the app"
          fileName={`${place.app}.log`}
          grouping={GROUPING}
          isWanted={choice === 'all' ? undefined : isWanted}
          target={target}
          filter={
            <select
              className={css.choice}
              aria-label="Lines to show"
              value={choice}
              onChange={(event) => setChoice(event.target.value as Choice)}
            >
              {CHOICES.map(({ value, text }) => (
                <option key={value} value={value}>
                  {text}
                </option>
              ))}
            </select>
          }
          empty={
            environment?.state === 'EMPTY'
              ? 'Nothing is deployed yet. What the app writes to stdout and stderr appears here.'
              : 'The app has written nothing yet. What it writes to stdout and stderr appears here.'
          }
        />
      </Panel>
    </Page>
  )
}
