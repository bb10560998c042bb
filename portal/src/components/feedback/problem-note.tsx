/** An error in the words of the API, with its reason code, which the documentation lists. */
import type { Problem } from '../../api/problem.ts'
import { Button, ExternalLink } from '../controls/button.tsx'
import { Icon } from '../layout/icon.tsx'
import { WithCode } from '../layout/with-code.tsx'
import css from './problem-note.module.css'

type Props = { problem: Problem | undefined; onRetry?: (() => void) | undefined; title?: string }

export function ProblemNote({ problem, onRetry, title }: Props) {
  if (!problem) return null
  const fields = Object.entries(problem.fields)
  return (
    <div className={css.note} role="alert">
      <Icon name="warning" />
      <div className={css.body}>
        {title && <strong>{title}</strong>}
        <p className={css.message}>
          <WithCode text={problem.message} />
        </p>
        {fields.length > 1 && (
          <ul className={css.fields}>
            {fields.map(([field, description]) => (
              <li key={field}>
                <code>{field}</code>: {description}
              </li>
            ))}
          </ul>
        )}
        <p className={css.reason}>
          <code>{problem.reason}</code> {problem.help && <ExternalLink href={problem.help}>Help</ExternalLink>}
          {problem.requestId && problem.status >= 500 && (
            <>
              {' '}
              request <code>{problem.requestId}</code>
            </>
          )}
        </p>
      </div>
      {onRetry && (
        <Button small onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  )
}
