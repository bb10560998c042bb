/** One row of a log. All of it is rendered as text: the output of a program never becomes markup. */
import { memo } from 'react'
import type { Line } from './lines.ts'
import css from './log-line.module.css'
import { piecesOf } from './search.ts'

type Props = {
  line: Line
  query: string
  /** The line that the address names, or where the search is. */
  isTarget: boolean
  /** The line that shows why a build failed. */
  isFailing: boolean
  onChoose(number: number): void
}

export const LogLine = memo(function LogLine({ line, query, isTarget, isFailing, onChoose }: Props) {
  const { number, time, stream, text } = line
  return (
    <div
      className={`${css.row} ${css[stream]} ${isFailing ? css.failing : ''}`}
      aria-current={isTarget ? 'true' : undefined}
      data-line={number}
    >
      {/* Not reachable by the Tab key, as there are thousands: a search leads to the same address. */}
      <a
        className={css.number}
        href={`#L${number}`}
        tabIndex={-1}
        aria-label={`Line ${number}`}
        onClick={(event) => {
          event.preventDefault()
          onChoose(number)
        }}
      >
        {number}
      </a>
      <time className={css.time}>{clockOf(time)}</time>
      <Mark stream={stream} isFailing={isFailing} />
      <span className={css.text}>
        {query === ''
          ? text
          : piecesOf(text, query).map(({ text: piece, isFound }, index) =>
              // biome-ignore lint/suspicious/noArrayIndexKey: a piece is identified by its position
              isFound ? <mark key={index}>{piece}</mark> : <span key={index}>{piece}</span>,
            )}
      </span>
    </div>
  )
})

/** Says in words what the colour shows: output to stderr, a message of the service, the line of the failure. */
function Mark({ stream, isFailing }: { stream: Line['stream']; isFailing: boolean }) {
  const [sign, words] = isFailing
    ? ['here', 'the line that shows the failure: ']
    : stream === 'stderr'
      ? ['err', 'stderr: ']
      : ['', '']
  return (
    <span className={css.mark}>
      <span aria-hidden="true">{sign}</span>
      {words && <span className="sr-only">{words}</span>}
    </span>
  )
}

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' })

const clockOf = (time: number): string => (Number.isFinite(time) ? clock.format(time) : '')

/** Has the layout of a row, at full width. */
export function Probe() {
  return (
    <div className={`${css.row} ${css.wraps} ${css.probe}`} aria-hidden="true">
      <span className={css.number} />
      <span className={css.time} />
      <span className={css.mark} />
      <span className={css.text} data-probe>
        <span className={css.ruler}>{'0'.repeat(10)}</span>
      </span>
    </div>
  )
}

export function HeadingRow({ text }: { text: string }) {
  return <div className={css.heading}>{text}</div>
}
