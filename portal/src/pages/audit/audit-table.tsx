/** Events of the audit log, each with what was changed, by whom, and from where. */
import { Link } from 'wouter'
import type { AuditEvent } from '../../api/types.ts'
import { Time } from '../../components/facts/time.tsx'
import { type Column, Table } from '../../components/layout/table.tsx'
import { accountPath } from '../../paths.ts'
import css from './audit-table.module.css'
import { ACTIONS, subjectOf, WAYS } from './words.ts'

export function AuditTable({ account, events }: { account: string; events: readonly AuditEvent[] }) {
  const columns: Column<AuditEvent>[] = [
    {
      head: 'What',
      cell: (event) => (
        <span className={css.what}>
          <span className={css.action}>{ACTIONS[event.action] ?? event.action}</span>
          <bdi className={css.small} title={event.resource}>
            {subjectOf(event)}
          </bdi>
        </span>
      ),
    },
    {
      head: 'Fields',
      grow: true,
      cell: ({ fields }) => fields.length > 0 && <span className={css.fields}>{fields.join(', ')}</span>,
    },
    { head: 'By', cell: (event) => <Who account={account} event={event} /> },
    {
      head: 'From',
      cell: ({ way, address }) => (
        <span className={css.stack}>
          {WAYS[way] ?? way}
          {address && <span className={css.small}>{address}</span>}
        </span>
      ),
    },
    {
      head: 'When',
      align: 'right',
      cell: ({ time }) => (
        <span className={css.when}>
          <Time at={time} />
        </span>
      ),
    },
  ]
  return <Table label="Changes, newest first" columns={columns} items={events} keyOf={({ name }) => name} />
}

/** Shown for all but users, since a credential can have an e-mail address as its name. */
const KINDS: Partial<Record<AuditEvent['by']['kind'], string>> = { CREDENTIAL: 'credential', OPERATOR: 'operator' }

function Who({ account, event: { by } }: { account: string; event: AuditEvent }) {
  const kind = KINDS[by.kind]
  return (
    <span className={css.stack}>
      <Link
        href={`${accountPath(account, 'audit')}?${new URLSearchParams({ by: by.name })}`}
        className={css.name}
        title={`All that ${by.name} changed`}
      >
        <bdi>{by.name}</bdi>
      </Link>
      {kind && <span className={css.small}>{kind}</span>}
    </span>
  )
}
