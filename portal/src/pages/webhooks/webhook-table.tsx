/** The three webhooks, with what each does and when it was last called. Their URLs are shown only when created. */

import type { WebhookSet } from '../../api/types.ts'
import { Time } from '../../components/facts/time.tsx'
import { type Column, Table } from '../../components/layout/table.tsx'
import { ACTION_WORDS } from './actions.ts'
import css from './page.module.css'

type Webhook = WebhookSet['webhooks'][number]

const COLUMNS: readonly Column<Webhook>[] = [
  {
    head: 'Action',
    grow: true,
    cell: ({ action }) => (
      <span className={css.action}>
        <span className={css.actionName}>{ACTION_WORDS[action].name}</span>
        <span className={css.small}>
          {ACTION_WORDS[action].does} {ACTION_WORDS[action].use}
        </span>
      </span>
    ),
  },
  {
    head: 'Last use',
    align: 'right',
    cell: ({ lastUseTime }) =>
      lastUseTime ? <Time at={lastUseTime} /> : <span className={css.small}>not since it was made</span>,
  },
]

export function WebhookTable({ set }: { set: WebhookSet }) {
  return <Table label="Webhooks" columns={COLUMNS} items={set.webhooks} keyOf={({ action }) => action} />
}
