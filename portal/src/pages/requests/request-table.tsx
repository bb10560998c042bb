/** Requests, the newest first. For an error, the log of the app at that time is one click away. */
import { useState } from 'react'
import type { Place } from '../../api/names.ts'
import type { RequestRecord } from '../../api/types.ts'
import { Button } from '../../components/controls/button.tsx'
import { bytes, exact, number } from '../../components/facts/format.ts'
import { Pill } from '../../components/facts/pill.tsx'
import { type Column, Table } from '../../components/layout/table.tsx'
import { AppLines } from './app-lines.tsx'
import css from './request-table.module.css'
import { CACHE, OUTCOMES, queryOf, toneOf, tookInWords } from './words.ts'

type Props = { place: Place; requests: readonly RequestRecord[]; hasApp: boolean }

export function RequestTable({ place, requests, hasApp }: Props) {
  const columns: Column<RequestRecord>[] = [
    {
      head: 'Status',
      cell: (request) => <Pill tone={toneOf(request)}>{request.status === 0 ? 'Left' : request.status}</Pill>,
    },
    { head: 'Request', grow: true, cell: (request) => <RequestCell {...{ place, request, hasApp }} /> },
    { head: 'Cache', cell: ({ cache }) => <span title={CACHE[cache].meaning}>{CACHE[cache].text}</span> },
    {
      head: 'Took',
      align: 'right',
      cell: ({ durationMs }) => <span className={css.figure}>{tookInWords(durationMs)}</span>,
    },
    { head: 'Sent', align: 'right', cell: (request) => <span className={css.figure}>{bytes(request.bytes)}</span> },
    { head: 'Visitor', cell: ({ client }) => <span className={css.client}>{client || '–'}</span> },
    { head: 'Time', align: 'right', cell: ({ time }) => <When time={time} /> },
  ]
  return (
    <Table
      label="Requests, newest first"
      columns={columns}
      items={requests}
      keyOf={(request) => String(request.number)}
    />
  )
}

function RequestCell({ place, request, hasApp }: { place: Place; request: RequestRecord; hasApp: boolean }) {
  const [isOpen, setOpen] = useState(false)
  const { method, path, outcome, id, omitted } = request
  return (
    <span className={css.request}>
      <span className={css.target}>
        <span className={css.method}>{method}</span> {path}
        <span className={css.query}>{queryOf(request)}</span>
      </span>
      {outcome !== 'complete' && <span className={css.small}>{OUTCOMES[outcome]}</span>}
      {id && (
        <span className={css.error}>
          <span className={css.small}>
            Request id <code>{id}</code>
          </span>
          {hasApp && (
            <Button small kind="quiet" aria-expanded={isOpen} onClick={() => setOpen((before) => !before)}>
              {isOpen ? 'Hide the app’s log' : 'What the app wrote'}
            </Button>
          )}
        </span>
      )}
      {isOpen && <AppLines place={place} request={request} />}
      {omitted > 0 && <span className={css.small}>{number(omitted)} more of that time were not recorded</span>}
    </span>
  )
}

const clock = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' })
const withDay = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })

/** The time of day, and the day unless it is today. */
function When({ time }: { time: string }) {
  const at = new Date(time)
  const isToday = at.toDateString() === new Date().toDateString()
  return (
    <time dateTime={time} title={exact(at.getTime())} className={css.figure}>
      {isToday ? clock.format(at) : `${withDay.format(at)}, ${clock.format(at)}`}
    </time>
  )
}
