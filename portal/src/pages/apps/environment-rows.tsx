/** The environments of one app, a line each: name, state, address, and when it was last deployed. */
import { Link } from 'wouter'
import { environmentState } from '../../api/live/state.ts'
import { partsOf, placeOf, timeOfId } from '../../api/names.ts'
import type { Environment } from '../../api/types.ts'
import { ExternalLink } from '../../components/controls/button.tsx'
import { StatePill } from '../../components/facts/state-pill.tsx'
import { Time } from '../../components/facts/time.tsx'
import { environmentPath } from '../../paths.ts'
import css from './environment-rows.module.css'

export function EnvironmentRows({ environments, label }: { environments: readonly Environment[]; label: string }) {
  return (
    <ul className={css.rows} aria-label={label}>
      {environments.map((environment) => (
        <EnvironmentRow key={environment.name} environment={environment} />
      ))}
    </ul>
  )
}

function EnvironmentRow({ environment }: { environment: Environment }) {
  const { name, displayName, url, deployment } = environment
  const { account, app, environment: id } = partsOf(name)
  const deployed = timeOfId(deployment)
  return (
    <li className={css.row}>
      <Link href={environmentPath(placeOf(account, app, id))} className={css.name}>
        {displayName}
      </Link>
      <span className={css.state}>
        <StatePill shown={environmentState(environment)} />
      </span>
      <span className={css.url}>
        {url && <ExternalLink href={url}>{url.replace(/^https?:\/\//, '')}</ExternalLink>}
      </span>
      <span className={css.time}>
        {deployed ? (
          <>
            deployed <Time at={deployed} />
          </>
        ) : (
          'never deployed'
        )}
      </span>
    </li>
  )
}
