/** Why a build failed, what to do about it, and the line of the log that shows it. */
import type { Build } from '../../api/types.ts'
import { Button, ExternalLink } from '../../components/controls/button.tsx'
import { Icon } from '../../components/layout/icon.tsx'
import { WithCode } from '../../components/layout/with-code.tsx'
import { isHelp } from '../../help.ts'
import css from './failure.module.css'

type Failure = NonNullable<Build['failure']>

export function FailureNote({ failure, onJump }: { failure: Failure; onJump(line: number): void }) {
  const { reason, cause, retryable, message, logLine, todo, page, changes } = failure
  return (
    <section className={css.failure} aria-label="Why it failed">
      <div className={css.head}>
        <Icon name="warning" />
        <h2 className={css.message}>
          <WithCode text={message} />
        </h2>
      </div>
      <div className={css.body}>
        {todo && (
          <p>
            <WithCode text={todo} />
          </p>
        )}
        <p className={css.quiet}>
          <code>{reason}</code> {cause} {retryable && 'Trying again may help.'}
        </p>
        {changes.length > 0 && (
          <div>
            <h3>Since the last build that went well</h3>
            <ul className={css.changes}>
              {changes.map((change) => (
                <li key={change}>{change}</li>
              ))}
            </ul>
          </div>
        )}
        <div className={css.foot}>
          {logLine > 0 && (
            <Button icon="down" onClick={() => onJump(logLine)}>
              Jump to line {logLine}
            </Button>
          )}
          {isHelp(page) && <ExternalLink href={page}>Help with this failure</ExternalLink>}
        </div>
      </div>
    </section>
  )
}

/** Why the first of two attempts failed: shown while the second goes on, and beside a success. */
export function FirstFailureNote({ build: { firstFailure } }: { build: Build }) {
  if (!firstFailure) return null
  return (
    <section className={css.first} aria-label="Why it is tried once more">
      <Icon name="warning" />
      <p>
        <code>{firstFailure.reason}</code> <WithCode text={firstFailure.message} /> {firstFailure.retriedBecause}
      </p>
    </section>
  )
}
