/** What was sent to a target, and what came of it. */
import { useList } from '../../api/data.ts'
import type { NotificationDelivery, NotificationTarget } from '../../api/types.ts'
import { More } from '../../components/controls/more.tsx'
import { Pill } from '../../components/facts/pill.tsx'
import { Time } from '../../components/facts/time.tsx'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { SkeletonRows } from '../../components/feedback/skeleton.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import { type Column, Table } from '../../components/layout/table.tsx'
import css from './page.module.css'
import { deliveredKind, deliveryWords } from './words.ts'

const COLUMNS: Column<NotificationDelivery>[] = [
  { head: 'What', grow: true, cell: (delivery) => <What delivery={delivery} /> },
  { head: 'State', cell: (delivery) => <Outcome delivery={delivery} /> },
  { head: 'Tries', align: 'right', cell: ({ attempts }) => attempts },
  { head: 'When', align: 'right', cell: ({ createTime }) => <Time at={createTime} /> },
]

export function Deliveries({ target }: { target: NotificationTarget }) {
  const deliveries = useList<NotificationDelivery>(`${target.name}/deliveries`, 'deliveries', { pageSize: 20 })
  const { items, problem } = deliveries
  return (
    <Panel title={`Sent to ${target.displayName}`} flush={items?.length !== 0}>
      <ProblemNote problem={problem} onRetry={deliveries.refresh} />
      {items?.length === 0 && <p className={css.hint}>Nothing was sent yet.</p>}
      {items && items.length > 0 && (
        <Table label="Deliveries, newest first" columns={COLUMNS} items={items} keyOf={({ name }) => name} />
      )}
      {!items && !problem && <SkeletonRows count={3} />}
      <More of={deliveries}>Show more</More>
    </Panel>
  )
}

/** The state of the newest delivery. */
export function LastDelivery({ target }: { target: NotificationTarget }) {
  const { items } = useList<NotificationDelivery>(`${target.name}/deliveries`, 'deliveries', { pageSize: 20 })
  const [last] = items ?? []
  if (!items) return null
  if (!last) return <span className={css.detail}>Nothing sent yet</span>
  const { tone, word } = deliveryWords(last)
  return (
    <span className={css.stack}>
      <Pill tone={tone}>{word}</Pill>
      <span className={css.detail}>
        <Time at={last.createTime} />
      </span>
    </span>
  )
}

function What({ delivery: { kind, title } }: { delivery: NotificationDelivery }) {
  return (
    <span className={css.stack}>
      <span>{title}</span>
      <span className={css.detail}>{deliveredKind(kind)}</span>
    </span>
  )
}

function Outcome({ delivery }: { delivery: NotificationDelivery }) {
  const { tone, word, why } = deliveryWords(delivery)
  return (
    <span className={css.outcome}>
      <Pill tone={tone}>{word}</Pill>
      {why && <span className={css.detail}>{why}</span>}
    </span>
  )
}
