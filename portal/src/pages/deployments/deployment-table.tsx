/** Deployments as a table: when each was live, its build and archive, and whether it can be made live again. */
import { Link } from 'wouter'
import { TRIGGER_WORDS } from '../../api/live/state.ts'
import { idOf, type Place, shortId } from '../../api/names.ts'
import type { Deployment } from '../../api/types.ts'
import { Button } from '../../components/controls/button.tsx'
import { By, Sent } from '../../components/facts/people.tsx'
import { StatePill } from '../../components/facts/state-pill.tsx'
import { Time } from '../../components/facts/time.tsx'
import { type Column, Table } from '../../components/layout/table.tsx'
import { environmentPath } from '../../paths.ts'
import css from './deployment-table.module.css'
import { activationWord, deploymentState, whyNot } from './words.ts'

type Props = {
  place: Place
  deployments: readonly Deployment[]
  live: Deployment | undefined
  /** Only for users who may write. */
  onActivate: ((deployment: Deployment) => void) | undefined
  /** Shows what the check of its pages has found. */
  onCheck(name: string): void
}

export function DeploymentTable({ place, deployments, live, onActivate, onCheck }: Props) {
  const columns: Column<Deployment>[] = [
    { head: 'Deployment', cell: ({ name }) => <code>{shortId(name)}</code> },
    { head: 'State', cell: (deployment) => <StatePill shown={deploymentState(deployment)} /> },
    {
      head: 'Build',
      cell: ({ build }) => (
        <Link href={environmentPath(place, `builds/${idOf(build)}`)} className={css.id}>
          {shortId(build)}
        </Link>
      ),
    },
    {
      head: 'Trigger',
      cell: ({ trigger, requestedBy }) => (
        <span className={css.lines}>
          <span>{TRIGGER_WORDS[trigger]}</span>
          <By requester={requestedBy} />
        </span>
      ),
    },
    {
      head: 'Message',
      grow: true,
      cell: ({ message, commit, promotedFrom }) => (
        <Sent message={message} commit={commit} promotedFrom={promotedFrom} />
      ),
    },
    {
      head: 'Live',
      cell: ({ state, liveTime, retireTime }) => (
        <span className={css.lines}>
          {liveTime ? <Time at={liveTime} /> : <Never />}
          {state === 'RETIRED' && retireTime && (
            <span className={css.until}>
              until <Time at={retireTime} />
            </span>
          )}
        </span>
      ),
    },
    {
      head: 'Check',
      cell: ({ name, trigger }) =>
        CHECKED.has(trigger) ? (
          <Button small onClick={() => onCheck(name)}>
            Show<span className="sr-only"> the check of {shortId(name)}</span>
          </Button>
        ) : null,
    },
    {
      head: 'Make live',
      quiet: true,
      align: 'right',
      cell: (deployment) => {
        if (deployment.name === live?.name) return null
        const reason = whyNot(deployment)
        if (reason) return <span className={css.quiet}>{reason}</span>
        return (
          onActivate && (
            <Button small onClick={() => onActivate(deployment)}>
              {activationWord(deployment, live)}
              <span className="sr-only">, {shortId(deployment.name)}</span>
            </Button>
          )
        )
      },
    },
  ]
  return <Table label="Deployments" columns={columns} items={deployments} keyOf={({ name }) => name} />
}

/** Rollbacks and changes of variables are not checked. */
const CHECKED: ReadonlySet<Deployment['trigger']> = new Set(['UPLOAD', 'REBUILD', 'CLEAN_REBUILD', 'PROMOTE'])

const Never = () => (
  <span className={css.quiet}>
    <span aria-hidden="true">–</span>
    <span className="sr-only">not</span>
  </span>
)
