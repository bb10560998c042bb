/** Builds as a table, with marks for the live one, clean builds and reasons of failures. */
import { Link } from 'wouter'
import { buildState, TRIGGER_WORDS } from '../../api/live/state.ts'
import { idOf, type Place, shortId } from '../../api/names.ts'
import type { Build } from '../../api/types.ts'
import { By, Sent } from '../../components/facts/people.tsx'
import { Pill } from '../../components/facts/pill.tsx'
import { StatePill } from '../../components/facts/state-pill.tsx'
import { Time, Took } from '../../components/facts/time.tsx'
import { type Column, Table } from '../../components/layout/table.tsx'
import { environmentPath } from '../../paths.ts'
import css from './page.module.css'

/** `live` is the resource name of the live build. */
type Props = { place: Place; builds: readonly Build[]; live: string }

export function BuildTable({ place, builds, live }: Props) {
  const columns: Column<Build>[] = [
    {
      head: 'Build',
      cell: ({ name }) => (
        <Link href={environmentPath(place, `builds/${idOf(name)}`)} className={css.id}>
          {shortId(name)}
        </Link>
      ),
    },
    {
      head: 'State',
      cell: (build) => (
        <span className={css.lines}>
          <span className={css.pills}>
            <StatePill shown={buildState(build)} />
            {build.name === live && <Pill tone="good">Live</Pill>}
          </span>
          <ReasonOf build={build} />
        </span>
      ),
    },
    {
      head: 'Trigger',
      cell: (build) => (
        <span className={css.lines}>
          <TriggerOf build={build} />
          <By requester={build.requestedBy} />
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
      head: 'Took',
      align: 'right',
      cell: ({ startTime, finishTime }) =>
        startTime ? <Took from={startTime} to={finishTime} /> : <span className={css.quiet}>not begun</span>,
    },
    { head: 'Asked for', align: 'right', cell: ({ createTime }) => <Time at={createTime} /> },
  ]
  return <Table label="Builds" columns={columns} items={builds} keyOf={({ name }) => name} />
}

/** A queued rebuild can become clean later, so `clean` is shown in addition to the trigger. */
function TriggerOf({ build: { trigger, clean } }: { build: Build }) {
  return (
    <span>
      {TRIGGER_WORDS[trigger]}
      {clean && trigger !== 'CLEAN_REBUILD' && <span className={css.quiet}>, clean</span>}
    </span>
  )
}

function ReasonOf({ build: { failure, held } }: { build: Build }) {
  const reason = failure?.reason ?? held?.reason
  return reason && <code className={css.reason}>{reason}</code>
}
