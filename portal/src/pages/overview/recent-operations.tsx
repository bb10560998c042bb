/** What was done to an environment lately, newest first. */
import { Link } from 'wouter'
import { idOf, type Place } from '../../api/names.ts'
import { isOfBuild, operationState, problemOfOperation, TRIGGER_WORDS } from '../../api/state.ts'
import type { Operation } from '../../api/types.ts'
import { StatePill } from '../../parts/state-pill.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import { environmentPath } from '../../paths.ts'

export function RecentOperations({ place, operations }: { place: Place; operations: readonly Operation[] }) {
  const hasReason = operations.some((operation) => problemOfOperation(operation) !== undefined)
  const why: Column<Operation> = {
    head: 'Why',
    grow: true,
    cell: (operation) => problemOfOperation(operation)?.reason ?? '',
  }
  const columns: Column<Operation>[] = [
    { head: 'What', cell: ({ metadata }) => TRIGGER_WORDS[metadata.trigger] },
    { head: 'State', cell: (operation) => <StatePill shown={operationState(operation)} /> },
    // A column without a word in it says nothing.
    ...(hasReason ? [why] : []),
    { head: 'When', grow: !hasReason, cell: ({ metadata }) => <Time at={metadata.createTime} /> },
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
