/**
 * Shows a log while it is written: follows its end, pauses when the reader scrolls up, finds a text, goes to a line.
 * Screen readers get a region to read instead of an announcement for every line; the page announces the progress.
 */
import { type ReactNode, useCallback, useDeferredValue, useEffect, useMemo, useRef, useState } from 'react'
import { Button } from '../components/controls/button.tsx'
import { ProblemNote } from '../components/feedback/problem-note.tsx'
import { type Target, writeLine } from './address.ts'
import type { Line } from './lines.ts'
import { HeadingRow, LogLine, Probe } from './log-line.tsx'
import { LogSearch } from './log-search.tsx'
import { Download, StateNote } from './log-state.tsx'
import css from './log-view.module.css'
import { createRows, isHeading, type Row } from './rows.ts'
import { createSearch } from './search.ts'
import { readWraps, writeWraps } from './setting.ts'
import { useLog } from './use-log.ts'
import { useScroller } from './use-scroller.ts'

/** Both of these stay the same from one render to the next. */
export type Grouping = { groupOf(line: Line): string; textOf(group: string): string }

type Props = {
  /** Where it is read, as `/v1/…/log`. Another address needs another key. */
  address: string
  label: string
  fileName: string
  grouping: Grouping
  isWanted?: ((line: Line) => boolean) | undefined
  /** Stands before the search. */
  filter?: ReactNode
  failingLine?: number | undefined
  target?: Target | undefined
  /** Shown where there is no line. */
  empty: ReactNode
}

export function LogView(props: Props) {
  const { address, label, grouping, isWanted, failingLine = 0, target, empty } = props
  const log = useLog(address)
  const { lines } = log
  const [wraps, setWraps] = useState(readWraps)
  const [query, setQuery] = useState('')
  const looked = useDeferredValue(query)
  const [chosen, setChosen] = useState(target?.number ?? 0)
  const wanted = useRef(target)

  const rows = useMemo(() => createRows(lines, { isWanted, groupOf: grouping.groupOf }), [lines, isWanted, grouping])
  const scroller = useScroller(rows, { wraps, follows: target === undefined })
  const search = useMemo(() => createSearch(rows, looked), [rows, looked])
  search.update()

  const { goTo, element } = scroller
  const choose = useCallback((number: number) => {
    setChosen(number)
    writeLine(number)
  }, [])

  const isFirst = useRef(true)
  useEffect(() => {
    if (isFirst.current || !target) {
      isFirst.current = false
      return
    }
    wanted.current = target
    choose(target.number)
    element.current?.scrollIntoView({ block: 'nearest' })
    element.current?.focus({ preventScroll: true })
  }, [target, choose, element])

  // The address may name a line that has not arrived yet.
  useEffect(() => {
    if (wanted.current && goTo(wanted.current.number)) wanted.current = undefined
  })

  function step(direction: 1 | -1) {
    const isInside = search.placeOf(chosen) > 0
    const next = search.next(isInside ? chosen : scroller.topLine() - direction, direction)
    if (next === undefined) return
    choose(next)
    goTo(next)
  }

  const shown: Row[] = []
  for (let index = scroller.first; index < scroller.end; index++) shown.push(rows.at(index) as Row)
  const isOver = log.state === 'over'
  const isMissing = wanted.current !== undefined && !rows.has(wanted.current.number)

  return (
    <div className={css.log}>
      <div className={css.toolbar}>
        {props.filter}
        <LogSearch
          query={query}
          onQuery={setQuery}
          place={search.placeOf(chosen)}
          count={search.count()}
          onStep={step}
        />
        <div className={css.buttons}>
          <Button
            small
            aria-pressed={wraps}
            onClick={() => {
              setWraps(!wraps)
              writeWraps(!wraps)
            }}
          >
            Wrap lines
          </Button>
          <Download address={address} fileName={props.fileName} />
        </div>
      </div>
      {log.state === 'refused' && <ProblemNote problem={log.problem} onRetry={log.retry} />}
      <div className={css.stage}>
        {/* biome-ignore-start lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard (WCAG 2.1.1) */}
        <section
          ref={scroller.element}
          className={css.scroller}
          aria-label={label}
          tabIndex={0}
          onScroll={scroller.onScroll}
        >
          {/* biome-ignore-end lint/a11y/noNoninteractiveTabindex: see above */}
          <div ref={scroller.probe}>
            <Probe />
          </div>
          <div
            className={`${css.content} ${wraps ? css.wraps : ''}`}
            style={{ height: scroller.height, ...(wraps ? {} : { minWidth: `${lines.longest() + 26}ch` }) }}
          >
            <div ref={scroller.drawn} className={css.drawn} style={{ transform: `translateY(${scroller.top}px)` }}>
              {shown.map((row) =>
                isHeading(row) ? (
                  <HeadingRow key={`before ${row.number}`} text={grouping.textOf(row.group)} />
                ) : (
                  <LogLine
                    key={row.number}
                    line={row}
                    query={looked}
                    isTarget={row.number === chosen}
                    isFailing={row.number === failingLine}
                    onChoose={choose}
                  />
                ),
              )}
            </div>
          </div>
          {rows.count() === 0 && (isOver || log.state === 'following') && (
            <div className={css.empty}>{lines.count() === 0 ? empty : 'No line passes the filter.'}</div>
          )}
        </section>
        {!scroller.isFollowing && rows.count() > 0 && (
          <div className={css.follow}>
            <Button small kind="primary" icon="down" onClick={scroller.follow}>
              {isOver ? 'To the end' : 'Follow'}
            </Button>
          </div>
        )}
      </div>
      <StateNote
        log={log}
        isFollowing={scroller.isFollowing}
        missing={isMissing ? wanted.current?.number : undefined}
      />
    </div>
  )
}
