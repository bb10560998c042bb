/** What is being built in the account, and what waits for it: the oldest first, each with its phase and its log. */
import { Link } from 'wouter'
import { PHASE_WORDS, phasesOf, TRIGGER_WORDS } from '../../../api/live/state.ts'
import { idOf, partsOf, placeOf } from '../../../api/names.ts'
import type { Environment, Operation } from '../../../api/types.ts'
import { Pill } from '../../../components/facts/pill.tsx'
import { Took } from '../../../components/facts/time.tsx'
import { Panel } from '../../../components/layout/panel.tsx'
import { appsPath, environmentPath } from '../../../paths.ts'
import { inOrder, summaryOf } from './order.ts'
import css from './under-way.module.css'

const MAX_SHOWN = 6

type Props = {
  account: string
  operations: readonly Operation[]
  environments: ReadonlyMap<string, Environment>
}

export function UnderWay({ account, operations, environments }: Props) {
  const builds = inOrder(operations)
  if (builds.length === 0) return null
  const more = builds.length - MAX_SHOWN
  return (
    <Panel title="Under way" actions={<span className={css.quiet}>{summaryOf(builds)}</span>} flush>
      <ul aria-label="Builds under way">
        {builds.slice(0, MAX_SHOWN).map((operation) => (
          <Row key={operation.name} operation={operation} environments={environments} />
        ))}
      </ul>
      {more > 0 && (
        <p className={css.more}>
          <Link href={`${appsPath(account)}?state=working`}>
            {more === 1 ? 'One more is' : `${more} more are`} among the environments at work
          </Link>
        </p>
      )}
    </Panel>
  )
}

function Row({ operation, environments }: { operation: Operation; environments: Props['environments'] }) {
  const { name, metadata } = operation
  const { account, app, environment } = partsOf(name)
  const place = placeOf(account, app, environment)
  const title = environments.get(place.name)?.displayName ?? environment
  const waits = metadata.phase === 'QUEUED'
  return (
    <li className={css.row}>
      <span className={css.phase}>
        <Pill tone={waits ? 'idle' : 'busy'} icon={waits ? 'clock' : undefined}>
          {PHASE_WORDS[metadata.phase]}
        </Pill>
        <Steps operation={operation} />
      </span>
      <span className={css.where}>
        <Link href={environmentPath(place)} className={css.name}>
          {app} / {title}
        </Link>
        <span className={css.quiet}>
          {TRIGGER_WORDS[metadata.trigger]}
          {waits ? ', waiting for ' : ', for '}
          <Took from={metadata.createTime} />
        </span>
      </span>
      <Link href={environmentPath(place, `builds/${idOf(metadata.build)}`)} className={css.log}>
        Follow the log<span className="sr-only"> of {`${app} / ${title}`}</span>
      </Link>
    </li>
  )
}

/** How far it is, as a bar of its steps; the phase beside it says the same. */
function Steps({ operation: { metadata } }: { operation: Operation }) {
  // Without the first one, which is to wait.
  const phases = phasesOf(metadata.trigger).slice(1)
  const at = phases.indexOf(metadata.phase)
  return (
    <span className={css.steps} aria-hidden="true">
      {phases.map((phase, index) => (
        <span key={phase} className={index < at ? css.done : index === at ? css.now : css.ahead} />
      ))}
    </span>
  )
}
