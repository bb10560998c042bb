/** The new URLs, which are shown once. They can be copied without being displayed. */
import { useEffect, useRef, useState } from 'react'
import type { IssuedWebhookSet, WebhookAction } from '../../api/types.ts'
import { Button } from '../../components/controls/button.tsx'
import { CopyButton } from '../../components/controls/copy.tsx'
import { Icon } from '../../components/layout/icon.tsx'
import { ACTION_WORDS, masked } from './actions.ts'
import css from './issued.module.css'

export function Issued({ set, onDone }: { set: IssuedWebhookSet; onDone(): void }) {
  const [shown, setShown] = useState<WebhookAction>()
  const title = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    // After the closed dialog has returned the focus.
    const timer = setTimeout(() => title.current?.focus())
    return () => clearTimeout(timer)
  }, [])

  return (
    <section className={css.issued} aria-labelledby="issued-title">
      <div className={css.head}>
        <Icon name="warning" />
        <div>
          <h2 id="issued-title" ref={title} tabIndex={-1} className={css.title}>
            Copy the URLs now
          </h2>
          <p>
            They are shown this once and cannot be shown again: only a digest of them is kept. Each works without a
            password, so treat them as secrets.
          </p>
        </div>
      </div>
      <ul className={css.urls}>
        {set.webhooks.map(({ action, url }) => {
          const { name } = ACTION_WORDS[action]
          return (
            <li key={action} className={css.entry}>
              <span className={css.name}>{name}</span>
              <code className={css.url} data-action={action}>
                {shown === action ? url : masked(url)}
              </code>
              <span className={css.buttons}>
                <Button
                  small
                  kind="quiet"
                  aria-pressed={shown === action}
                  onClick={() => setShown(shown === action ? undefined : action)}
                >
                  {shown === action ? 'Hide' : 'Show'}
                  <span className="sr-only"> the URL for {name}</span>
                </Button>
                <CopyButton text={url} what={`the URL for ${name}`} />
              </span>
            </li>
          )
        })}
      </ul>
      <div>
        <Button onClick={onDone}>I have copied what I need</Button>
      </div>
    </section>
  )
}
