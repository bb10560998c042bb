/** Chooses the time range. Each range has an address of its own, so that it can be bookmarked and shared. */
import { Link, useLocation } from 'wouter'
import css from './range-choice.module.css'
import { RANGES, type Range } from './ranges.ts'

export function RangeChoice({ range }: { range: Range }) {
  const [location] = useLocation()
  return (
    <nav className={css.choice} aria-label="Time range">
      {RANGES.map(({ id, short }) => (
        <Link
          key={id}
          href={`${location}?range=${id}`}
          className={css.link}
          aria-current={id === range.id ? 'true' : undefined}
        >
          {short}
        </Link>
      ))}
    </nav>
  )
}
