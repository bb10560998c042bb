/** Why a build failed, what to do about it, and the line of the log that shows it. */
import type { Build } from '../../api/types.ts'
import { isHelp } from '../../help.ts'
import { Button, ExternalLink } from '../../parts/button.tsx'
import { Icon } from '../../parts/icon.tsx'
import css from './failure.module.css'

type Failure = NonNullable<Build['failure']>

const FAULTS: Record<Failure['fault'], string> = {
  app: 'The cause is in the app.',
  caller: 'The cause is in what was asked for.',
  service: 'The cause is in the service, not in the app.',
}

export function FailureNote({ failure, onJump }: { failure: Failure; onJump(line: number): void }) {
  const { reason, fault, retryable, message, logLine, todo, page, changes } = failure
  return (
    <section className={css.failure} aria-label="Why it failed">
      <div className={css.head}>
        <Icon name="warning" />
        <h2 className={css.message}>{message}</h2>
      </div>
      <div className={css.body}>
        {todo && <p>{todo}</p>}
        <p className={css.quiet}>
          <code>{reason}</code> {FAULTS[fault]} {retryable && 'Trying again may help.'}
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
