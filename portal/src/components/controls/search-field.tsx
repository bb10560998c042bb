/** A search in what the page shows; `/` focuses it, Escape empties it. */
import { Icon } from '../layout/icon.tsx'
import css from './search-field.module.css'

type Props = { label: string; value: string; onChange(value: string): void }

export function SearchField({ label, value, onChange }: Props) {
  return (
    <div className={css.search}>
      <Icon name="search" className={css.sign} />
      <input
        type="search"
        data-search
        className={css.input}
        aria-label={label}
        placeholder={label}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        onKeyDown={(event) => event.key === 'Escape' && onChange('')}
      />
      <span className={css.key} aria-hidden="true">
        /
      </span>
    </div>
  )
}
