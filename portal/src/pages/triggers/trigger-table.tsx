/** Entries of the ledger, each with the caller, the answer, and the operation that it led to. */
import { useMemo } from 'react'
import { useList } from '../../api/data.ts'
import type { Place } from '../../api/names.ts'
import type { Operation, RecordedTrigger } from '../../api/types.ts'
import { By, Sent } from '../../components/facts/people.tsx'
import { Pill } from '../../components/facts/pill.tsx'
import { Time } from '../../components/facts/time.tsx'
import { type Column, Table } from '../../components/layout/table.tsx'
import { OperationCell } from './operation-cell.tsx'
import css from './trigger-table.module.css'
import { purgedInWords, RECORDED, reasonInWords, SOURCES } from './words.ts'

/** Enough operations to show the result of most entries with one request. */
const OPERATIONS = 100

const COMMIT: Column<RecordedTrigger> = {
  head: 'Commit',
  cell: ({ commit }) => <Sent message={commit?.subject ?? ''} commit={commit} />,
}

export function TriggerTable({ place, triggers }: { place: Place; triggers: readonly RecordedTrigger[] }) {
  const { items } = useList<Operation>(`${place.name}/operations`, 'operations', { pageSize: OPERATIONS })
  const operations = useMemo(() => new Map(items?.map((each) => [each.name, each])), [items])
  const columns: Column<RecordedTrigger>[] = [
    {
      head: 'What',
      cell: (trigger) => (
        <span className={css.what}>
          <span className={css.action}>
            {RECORDED[trigger.action]}
            {trigger.forced && ', forced'}
          </span>
          {trigger.fromSnapshot && (
            <span className={css.small}>
              from the content of <Time at={trigger.fromSnapshot} />
            </span>
          )}
          {trigger.purged && <span className={css.small}>{purgedInWords(trigger)}</span>}
        </span>
      ),
    },
    {
      head: 'By',
      cell: ({ source, requestedBy }) => (
        <span>
          {SOURCES[source]}
          {source !== 'APP' && <By requester={requestedBy} isKindShown={source === 'WEBHOOK'} />}
        </span>
      ),
    },
    ...(triggers.some(({ commit }) => commit) ? [COMMIT] : []),
    { head: 'Caller', grow: true, cell: (trigger) => <Caller trigger={trigger} /> },
    { head: 'Answer', cell: (trigger) => <AnswerCell trigger={trigger} /> },
    {
      head: 'Operation',
      cell: ({ operation }) =>
        operation && <OperationCell place={place} name={operation} known={operations.get(operation)} />,
    },
    {
      head: 'When',
      align: 'right',
      cell: ({ createTime }) => (
        <span className={css.when}>
          <Time at={createTime} />
        </span>
      ),
    },
  ]
  return <Table label="Triggers, newest first" columns={columns} items={triggers} keyOf={({ name }) => name} />
}

function Caller({ trigger: { source, userAgent, address } }: { trigger: RecordedTrigger }) {
  if (source === 'APP' && userAgent === '') return <span className={css.small}>the app itself</span>
  return (
    <span className={css.caller}>
      <span className={css.agent} title={userAgent}>
        {userAgent || 'no name'}
      </span>
      {address && <span className={css.small}>{address}</span>}
    </span>
  )
}

function AnswerCell({ trigger: { answer, reason } }: { trigger: RecordedTrigger }) {
  if (answer < 400) return <Pill tone="good">Taken</Pill>
  const words = reason && reasonInWords(reason)
  return (
    <span className={css.answer}>
      <Pill tone="bad">Refused, {answer}</Pill>
      {reason && (
        <span className={css.small}>
          {words && `${words} `}
          <code>{reason}</code>
        </span>
      )}
    </span>
  )
}
