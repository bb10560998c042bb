/** Looks for a text in the log: Enter goes to the next line that holds it, Shift and Enter to the one before. */
import { Button } from '../components/controls/button.tsx'
import field from '../components/controls/search-field.module.css'
import { number } from '../components/facts/format.ts'
import { Icon } from '../components/layout/icon.tsx'
import css from './log-search.module.css'

type Props = {
  query: string
  onQuery(query: string): void
  /** Which line of those that hold it is shown, from 1; 0 for none yet. */
  place: number
  count: number
  onStep(direction: 1 | -1): void
}

export function LogSearch({ query, onQuery, place, count, onStep }: Props) {
  return (
    <search className={css.search}>
      <div className={field.search}>
        <Icon name="search" className={field.sign} />
        <input
          type="search"
          data-search
          className={`${field.input} ${css.input}`}
          aria-label="Search in the log"
          placeholder="Search in the log"
          spellCheck={false}
          value={query}
          onChange={(event) => onQuery(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === 'Escape') onQuery('')
            if (event.key === 'Enter') onStep(event.shiftKey ? -1 : 1)
          }}
        />
        {query === '' && (
          <span className={field.key} aria-hidden="true">
            /
          </span>
        )}
        <output className={css.count}>{query === '' ? '' : inWords(place, count)}</output>
      </div>
      <div className={css.steps}>
        <Button small icon="up" title="Previous (Shift+Enter)" disabled={count === 0} onClick={() => onStep(-1)}>
          <span className="sr-only">Previous line found</span>
        </Button>
        <Button small icon="down" title="Next (Enter)" disabled={count === 0} onClick={() => onStep(1)}>
          <span className="sr-only">Next line found</span>
        </Button>
      </div>
    </search>
  )
}

function inWords(place: number, count: number): string {
  if (count === 0) return 'Not found'
  return place === 0 ? `${number(count)} found` : `${number(place)} of ${number(count)}`
}
