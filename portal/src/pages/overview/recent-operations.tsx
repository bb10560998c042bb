/** The recent operations of an environment, newest first. */
import { Link } from 'wouter'
import { isOfBuild, operationState, problemOfOperation, TRIGGER_WORDS } from '../../api/live/state.ts'
import { idOf, type Place } from '../../api/names.ts'
import type { Operation } from '../../api/types.ts'
import { By, Sent } from '../../components/facts/people.tsx'
import { StatePill } from '../../components/facts/state-pill.tsx'
import { Time } from '../../components/facts/time.tsx'
import { type Column, Table } from '../../components/layout/table.tsx'
import { environmentPath } from '../../paths.ts'
import css from './recent-operations.module.css'

export function RecentOperations({ place, operations }: { place: Place; operations: readonly Operation[] }) {
  const columns: Column<Operation>[] = [
    {
      head: 'What',
      cell: ({ metadata }) => (
        <span>
          {TRIGGER_WORDS[metadata.trigger]}
          <By requester={metadata.requestedBy} />
        </span>
      ),
    },
    { head: 'State', cell: (operation) => <StateAndReason operation={operation} /> },
    {
      head: 'Message',
      grow: true,
      cell: ({ metadata }) => <Sent message={metadata.message} commit={metadata.commit} />,
    },
    { head: 'When', cell: ({ metadata }) => <Time at={metadata.createTime} /> },
    {
      head: 'Build',
      quiet: true,
      align: 'right',
      cell: (operation) =>
        isOfBuild(operation) && (
          <Link href={environmentPath(place, `builds/${idOf(operation.metadata.build)}`)}>Build and log</Link>
        ),
    },
  ]
  return <Table label="Recent operations" columns={columns} items={operations} keyOf={({ name }) => name} />
}

function StateAndReason({ operation }: { operation: Operation }) {
  const reason = problemOfOperation(operation)?.reason
  return (
    <span className={css.state}>
      <StatePill shown={operationState(operation)} />
      {reason && <code className={css.reason}>{reason}</code>}
    </span>
  )
}
