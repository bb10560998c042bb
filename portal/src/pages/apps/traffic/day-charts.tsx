/**
 * Requests, hit ratio and errors of the last day as three small charts, which lead to the page with large ones. Until they
 * are fetched, their place is empty and as large.
 */
import { Link } from 'wouter'
import type { Place } from '../../../api/names.ts'
import { environmentPath } from '../../../paths.ts'
import { percent, shortNumber } from '../../usage/disk/share.ts'
import { type Day, inWords } from './day.ts'
import css from './day-charts.module.css'
import { bars, line, SIZE } from './spark.ts'

type Props = { place: Place; day: Day | undefined }

export function DayCharts({ place, day }: Props) {
  if (!day) return <span className={css.charts} aria-hidden="true" />
  const { requests, hitRatio, errors, hours } = day
  const usage = environmentPath(place, 'usage')
  if (hitRatio === null) {
    return (
      <Link href={usage} className={css.none}>
        <span className="sr-only">Usage: </span>
        {inWords(day)} in 24 hours
      </Link>
    )
  }
  return (
    <Link href={usage} className={css.charts} title="In the last 24 hours">
      <span className="sr-only">Usage, in the last 24 hours: {inWords(day)}</span>
      <Chart word="requests" figure={shortNumber(requests)} path={bars(hours.requests)} look={css.requests} />
      <Chart word="hits" figure={percent(hitRatio)} path={line(hours.hitRatio)} look={css.hits} />
      <Chart
        word={errors === 1 ? 'error' : 'errors'}
        figure={shortNumber(errors)}
        path={bars(hours.errors)}
        look={css.errors}
      />
    </Link>
  )
}

type ChartProps = { word: string; figure: string; path: string; look: string | undefined }

function Chart({ word, figure, path, look }: ChartProps) {
  return (
    <span className={css.chart} aria-hidden="true">
      <span className={css.words}>
        <span className={css.figure}>{figure}</span> {word}
      </span>
      <svg
        className={css.drawing}
        viewBox={`0 0 ${SIZE.width} ${SIZE.height}`}
        preserveAspectRatio="none"
        aria-hidden="true"
      >
        {path && <path d={path} className={look} vectorEffect="non-scaling-stroke" />}
      </svg>
    </span>
  )
}
