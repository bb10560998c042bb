/** Follows one operation to its end: its steps, why it failed, and a button to cancel it. */
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { call } from '../../api/client.ts'
import { useAction, useResource } from '../../api/data.ts'
import {
  isOfBuild,
  operationState,
  outcomeOf,
  problemOfOperation,
  stepsOf,
  TRIGGER_WORDS,
  waitingRefreshMs,
} from '../../api/live/state.ts'
import { idOf, partsOf, placeOf } from '../../api/names.ts'
import type { Build, Operation } from '../../api/types.ts'
import { environmentPath } from '../../paths.ts'
import { useSession } from '../../session/session.tsx'
import { Button } from '../controls/button.tsx'
import { ProblemNote } from '../feedback/problem-note.tsx'
import css from './operation.module.css'
import { By, Sent } from './people.tsx'
import { Phases } from './phases.tsx'
import { StatePill } from './state-pill.tsx'
import { Time, Took } from './time.tsx'

type Props = { operation: Operation /** Beside the state. */; actions?: ReactNode }

/**
 * `known` is the operation as a list returned it: shown until the operation itself, which has more fields, is fetched.
 */
export function OperationProgress({ name, known }: { name: string; known?: Operation }) {
  const { data = known } = useResource<Operation>(name, {
    refreshMs: (now) => waitingRefreshMs(now?.metadata.waiting),
  })
  return data ? <OperationView operation={data} /> : null
}

export function OperationView({ operation, actions }: Props) {
  const { metadata, name, done } = operation
  const { account, app, environment } = partsOf(name)
  const place = placeOf(account, app, environment)
  const outcome = outcomeOf(operation)
  const { data: build } = useResource<Build>(metadata.build, { enabled: isOfBuild(operation) })
  const end = outcome === 'running' || outcome === 'well' ? outcome : 'stopped'
  const reached = stepsOf(metadata.trigger, metadata.phase, end, build?.durations)
  // All steps of a held build succeeded.
  const steps =
    outcome === 'held'
      ? reached.map((step) => (step.state === 'failed' ? { ...step, state: 'done' as const } : step))
      : reached

  return (
    <section className={css.operation} aria-label={`${TRIGGER_WORDS[metadata.trigger]} operation`}>
      <div className={css.head}>
        <div className={css.what}>
          <StatePill shown={operationState(operation)} />
          <strong>{TRIGGER_WORDS[metadata.trigger]}</strong>
          <By requester={metadata.requestedBy} />
          <span className={css.when}>
            <Time at={metadata.createTime} />
            {!done && (
              <>
                , for <Took from={metadata.createTime} />
              </>
            )}
            {(metadata.triggerCount ?? 0) > 1 && `, satisfies ${metadata.triggerCount} calls`}
          </span>
          {metadata.waiting && !done && <span className={css.waiting}>{metadata.waiting.message}</span>}
        </div>
        <div className={css.actions}>
          {isOfBuild(operation) && (
            <Link href={environmentPath(place, `builds/${idOf(metadata.build)}`)}>
              {done ? 'Log' : 'Follow the log'}
            </Link>
          )}
          {actions}
          {!done && <Cancel operation={operation} />}
        </div>
      </div>
      <Sent message={metadata.message} commit={metadata.commit} />
      {steps.length > 0 && <Phases steps={steps} label={`Steps of the ${TRIGGER_WORDS[metadata.trigger]}`} />}
      {(outcome === 'failed' || outcome === 'held') && <ProblemNote problem={problemOfOperation(operation)} />}
    </section>
  )
}

function Cancel({ operation: { name } }: { operation: Operation }) {
  const { canWrite } = useSession()
  const cancel = useAction(() => call(`/v1/${name}:cancel`, { method: 'POST' }), { refreshes: [name] })
  if (!canWrite) return null
  return (
    <>
      <ProblemNote problem={cancel.problem} />
      <Button small busy={cancel.isBusy} onClick={() => cancel.run()}>
        Cancel
      </Button>
    </>
  )
}
