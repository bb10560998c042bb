/** Says that search engines do not list an environment, although it has a domain of its own: it may be the public site. */
import { Link } from 'wouter'
import type { Place } from '../../api/names.ts'
import type { Environment } from '../../api/types.ts'
import { environmentPath } from '../../paths.ts'
import { Icon } from '../layout/icon.tsx'
import css from './pin-note.module.css'

export function HiddenNote({ place, environment }: { place: Place; environment: Environment | undefined }) {
  if (!environment || environment.production || environment.domains.length === 0) return null
  return (
    <section className={css.note} aria-label="Not listed by search engines">
      <Icon name="warning" />
      <div className={css.body}>
        <strong>Search engines are told not to list this environment.</strong>
        <p>
          It has a domain, and is not marked as production. If the public should find it, change{' '}
          <Link href={environmentPath(place, 'settings')}>Visibility under General</Link>.
        </p>
      </div>
    </section>
  )
}
