/**
 * A figure as a chart. For keyboards and screen readers it is a slider over time: left and right move the cursor, which
 * all charts of the page share, and the value at the cursor is announced.
 */
import { type KeyboardEvent, useCallback, useEffect, useMemo, useRef } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import type { Traffic } from '../../../api/types.ts'
import { columnsOf, type Figure, reading } from '../figures.ts'
import { readColours, useScheme } from './colours.ts'
import { moved } from './cursor.ts'
import css from './plot.module.css'
import { plotOptions } from './plot-options.ts'
import { stepWords } from './ticks.ts'

type Props = {
  figure: Figure
  traffic: Traffic
  cursor: number | undefined
  onCursor(index: number | undefined): void
}

export function Plot({ figure, traffic, cursor, onCursor }: Props) {
  const { points, stepSeconds } = traffic
  const host = usePicture({ figure, traffic, cursor, onCursor })
  const shown = Math.min(cursor ?? points.length - 1, points.length - 1)
  const point = points[shown]

  function onKeyDown(event: KeyboardEvent) {
    const next = moved(event.key, cursor, points.length)
    if (next === null) return
    event.preventDefault()
    onCursor(next)
  }

  return (
    <div
      ref={host}
      className={css.plot}
      role="slider"
      tabIndex={0}
      aria-label={`${figure.title} over time`}
      aria-valuemin={0}
      aria-valuemax={points.length - 1}
      aria-valuenow={shown}
      aria-valuetext={point && `${stepWords(point.time, stepSeconds)}: ${reading(figure, point)}`}
      onKeyDown={onKeyDown}
      onBlur={() => onCursor(undefined)}
    />
  )
}

/** Draws into the referenced element. New colours need a new chart; numbers, size and cursor are updated in place. */
function usePicture({ figure, traffic, cursor, onCursor }: Props) {
  const host = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(undefined)
  const scheme = useScheme()
  const { stepSeconds } = traffic
  const count = traffic.points.length
  const data = useMemo(() => columnsOf(figure, traffic), [figure, traffic])
  const now = useRef({ data, cursor, onCursor })
  // The first effect, so that those after it see the current values.
  useEffect(() => {
    now.current = { data, cursor, onCursor }
  })

  const placeCursor = useCallback((of: uPlot) => {
    const time = now.current.cursor === undefined ? undefined : now.current.data[0][now.current.cursor]
    of.setCursor(time === undefined ? AWAY : { left: of.valToPos(time, 'x'), top: 0 }, false)
  }, [])

  // biome-ignore lint/correctness/useExhaustiveDependencies: the colours depend on the scheme
  useEffect(() => {
    const element = host.current
    if (!element) return
    const sizeNow = () => ({ width: element.clientWidth, height: element.clientHeight })
    const made = new uPlot(
      plotOptions({
        figure,
        count,
        stepSeconds,
        colours: readColours(element),
        font: `12px ${getComputedStyle(element).fontFamily}`,
        size: sizeNow(),
        onCursor: (index) => now.current.cursor !== index && now.current.onCursor(index),
        onDrawn: placeCursor,
      }),
      now.current.data,
      element,
    )
    plot.current = made
    const watch = new ResizeObserver(() => made.setSize(sizeNow()))
    watch.observe(element)
    return () => {
      watch.disconnect()
      made.destroy()
      plot.current = undefined
    }
  }, [figure, count, stepSeconds, scheme, placeCursor])

  useEffect(() => plot.current?.setData(data), [data])
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when the cursor moves
  useEffect(() => {
    if (plot.current?.status === 1) placeCursor(plot.current)
  }, [cursor, placeCursor])

  return host
}

const AWAY = { left: -10, top: -10 }
