/** The environments of one app, each with its name and address, its state, and its last day. */
import { Link } from 'wouter'
import { environmentState } from '../../api/live/state.ts'
import { partsOf, placeOf, timeOfId } from '../../api/names.ts'
import type { Environment } from '../../api/types.ts'
import { ExternalLink } from '../../components/controls/button.tsx'
import { StatePill } from '../../components/facts/state-pill.tsx'
import { Time } from '../../components/facts/time.tsx'
import { environmentPath } from '../../paths.ts'
import css from './environment-rows.module.css'
import { DayCharts } from './traffic/day-charts.tsx'
import type { DayOf } from './traffic/use-traffic.ts'

type Props = {
  environments: readonly Environment[]
  label: string
  /** Undefined until it is known. */
  dayOf: DayOf | undefined
}

export function EnvironmentRows({ environments, label, dayOf }: Props) {
  return (
    <ul className={css.rows} aria-label={label}>
      {environments.map((environment) => (
        <EnvironmentRow key={environment.name} environment={environment} dayOf={dayOf} />
      ))}
    </ul>
  )
}

function EnvironmentRow({ environment, dayOf }: { environment: Environment; dayOf: DayOf | undefined }) {
  const { name, displayName, url, deployment } = environment
  const { account, app, environment: id } = partsOf(name)
  const place = placeOf(account, app, id)
  const deployed = timeOfId(deployment)
  return (
    <li className={css.row}>
      <span className={css.what}>
        <Link href={environmentPath(place)} className={css.name}>
          {displayName}
        </Link>
        <span className={css.url}>
          {url && <ExternalLink href={url}>{url.replace(/^https?:\/\//, '')}</ExternalLink>}
        </span>
      </span>
      <span className={css.state}>
        <StatePill shown={environmentState(environment)} />
        <span className={css.time}>
          {deployed ? (
            <>
              deployed <Time at={deployed} />
            </>
          ) : (
            'never deployed'
          )}
        </span>
      </span>
      {deployed && (
        <span className={css.day}>
          <DayCharts place={place} day={dayOf?.(name)} />
        </span>
      )}
    </li>
  )
}
