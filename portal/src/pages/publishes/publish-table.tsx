/** Publishes, each with a bar: how long it waited, was built, and took to reach visitors. */
import { Link } from 'wouter'
import { idOf, type Place } from '../../api/names.ts'
import type { Publish } from '../../api/types.ts'
import { duration } from '../../components/facts/format.ts'
import { By } from '../../components/facts/people.tsx'
import { Pill } from '../../components/facts/pill.tsx'
import { Time } from '../../components/facts/time.tsx'
import { type Column, Table } from '../../components/layout/table.tsx'
import { environmentPath } from '../../paths.ts'
import { PART_WORDS, type Part, partsOf, scaleOf } from './bars.ts'
import css from './publish-table.module.css'
import { STATES, TRIGGERS } from './words.ts'

type Props = { place: Place; publishes: readonly Publish[] }

export function PublishTable({ place, publishes }: Props) {
  const scales = { BUILD: scaleOf(publishes, 'BUILD'), PURGE: scaleOf(publishes, 'PURGE') }
  const columns: Column<Publish>[] = [
    { head: 'What', cell: (publish) => <What place={place} publish={publish} /> },
    { head: 'Time', grow: true, cell: (publish) => <Bar publish={publish} scaleMs={scales[publish.kind]} /> },
    { head: 'Visible after', align: 'right', cell: (publish) => <Visible publish={publish} /> },
    {
      head: 'Called',
      align: 'right',
      cell: ({ callTime }) => (
        <span className={css.when}>
          <Time at={callTime} />
        </span>
      ),
    },
  ]
  return (
    <>
      <Legend />
      <Table label="Publishes, newest first" columns={columns} items={publishes} keyOf={({ name }) => name} />
    </>
  )
}

/** The bars have their numbers in words; this explains their colours. */
const Legend = () => (
  <ul className={css.legend} aria-hidden="true">
    {(Object.keys(PART_WORDS) as Part[]).map((part) => (
      <li key={part} className={css.entry}>
        <span className={`${css.swatch} ${css[part]}`} />
        {PART_WORDS[part]}
      </li>
    ))}
  </ul>
)

function What({ place, publish: { trigger, build, calls, requestedBy } }: { place: Place; publish: Publish }) {
  const word = TRIGGERS[trigger] ?? trigger
  return (
    <span className={css.what}>
      <span className={css.trigger}>
        {build ? <Link href={environmentPath(place, `builds/${idOf(build)}`)}>{word}</Link> : word}
      </span>
      <By requester={requestedBy} />
      {calls > 1 && <span className={css.small}>{calls} calls</span>}
    </span>
  )
}

function Bar({ publish, scaleMs }: { publish: Publish; scaleMs: number }) {
  const parts = partsOf(publish, scaleMs)
  if (parts.length === 0) return <span className={css.small}>It did not begin.</span>
  return (
    <span className={css.time}>
      <span className={css.bar} aria-hidden="true">
        {parts.map(({ part, share, isCut }) => (
          <span
            key={part}
            className={`${css.part} ${css[part]} ${isCut ? css.cut : ''}`}
            style={{ width: `${100 * share}%` }}
          />
        ))}
      </span>
      <span className={css.words}>{parts.map(({ words }) => words).join(' · ')}</span>
      {publish.state === 'VISIBLE' && publish.untilVisitMs === undefined && (
        <span className={css.small}>No visit of a page is known yet.</span>
      )}
    </span>
  )
}

function Visible({ publish: { state, visibleMs, late, promiseSeconds, reason } }: { publish: Publish }) {
  const { word, tone } = STATES[state]
  return (
    <span className={css.visible}>
      {visibleMs === undefined ? <Pill tone={tone}>{word}</Pill> : <strong>{duration(visibleMs / 1000)}</strong>}
      {late && <Pill tone="warn">Late</Pill>}
      {late && promiseSeconds !== undefined && <span className={css.small}>promised {duration(promiseSeconds)}</span>}
      {visibleMs === undefined && reason && <code className={css.small}>{reason}</code>}
    </span>
  )
}
