/** One figure over time: its total, the value at the cursor, the chart, and the same numbers as a table. */
import { useId } from 'react'
import type { Traffic } from '../../../api/types.ts'
import { Skeleton } from '../../../components/feedback/skeleton.tsx'
import { type Figure, linesIn, reading, valueText, wholeOf } from '../figures.ts'
import css from './chart.module.css'
import { Plot } from './plot.tsx'
import { PointTable } from './point-table.tsx'
import { stepBegin } from './ticks.ts'

type Props = {
  figure: Figure
  /** Undefined while it is being fetched. */
  traffic: Traffic | undefined
  /** The step of the cursor, the same in all charts; without one, only the totals are shown. */
  cursor: number | undefined
  onCursor(index: number | undefined): void
}

export function Chart({ figure, traffic, cursor, onCursor }: Props) {
  const id = useId()
  const { title, about, lines } = figure
  return (
    <section className={`${css.chart} ${lines.length > 1 ? css.wide : ''}`} aria-labelledby={id}>
      <div className={css.head}>
        <h2 id={id} className={css.title}>
          {title}
        </h2>
        <p className={css.reading}>
          {/* An empty line would have another height than one with text. */}
          {traffic && cursor !== undefined ? <Reading figure={figure} traffic={traffic} cursor={cursor} /> : '\u00a0'}
        </p>
      </div>
      <p className={css.totals}>
        {traffic ? <Totals figure={figure} totals={traffic.totals} /> : <Skeleton width={6} />}
      </p>
      <p className={css.about}>{about}</p>
      {traffic ? (
        <>
          <Plot figure={figure} traffic={traffic} cursor={cursor} onCursor={onCursor} />
          <PointTable figure={figure} traffic={traffic} />
        </>
      ) : (
        <div className={css.coming} />
      )}
    </section>
  )
}

type ReadingProps = { figure: Figure; traffic: Traffic; cursor: number }

function Reading({ figure, traffic: { points, stepSeconds }, cursor }: ReadingProps) {
  const point = points[cursor] ?? points.at(-1)
  if (!point) return null
  return (
    <>
      {stepBegin(point.time, stepSeconds)}: <strong>{reading(figure, point)}</strong>
    </>
  )
}

function Totals({ figure, totals }: { figure: Figure; totals: Traffic['totals'] }) {
  const isStack = figure.kind === 'stack'
  return (
    <>
      {isStack && <span>{figure.text(wholeOf(figure, totals))}</span>}
      {linesIn(figure, totals).map((line) => (
        <span key={line.label} className={isStack ? css.part : css.total}>
          {figure.lines.length > 1 && (
            <span className={css.label}>
              <span
                className={`${isStack ? css.block : css.sample} ${css[line.tone]} ${line.isDashed ? css.dashed : ''}`}
              />
              {line.label}
            </span>
          )}
          {valueText(figure, line.of(totals))}
        </span>
      ))}
    </>
  )
}
