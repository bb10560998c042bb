/** Asks whether to upload files with local settings. They are sent only if the user ticks the box. */
import { useState } from 'react'
import { Button } from '../../components/controls/button.tsx'
import { Icon } from '../../components/layout/icon.tsx'
import { shown } from '../../zip/names.ts'
import css from './local-settings.module.css'
import type { Question } from './use-deploy.ts'

const MAX_NAMED = 8

export function LocalSettings({ question, onCancel }: { question: Question; onCancel(): void }) {
  const [areSent, setSent] = useState(false)
  const { localSettings, answer } = question
  const more = localSettings.length - MAX_NAMED
  return (
    <section className={css.question} aria-label="Local settings">
      <Icon name="warning" className={css.sign} />
      <div className={css.words}>
        <p>
          <strong>Local settings stay on this computer.</strong> Files like these often hold passwords and keys:
        </p>
        <ul className={css.names}>
          {localSettings.slice(0, MAX_NAMED).map(({ path }) => (
            <li key={path}>
              <code>{shown(path)}</code>
            </li>
          ))}
          {more > 0 && <li>and {more.toLocaleString('en')} more</li>}
        </ul>
        <p className={css.hint}>Set what the app needs as variables of the environment instead.</p>
        <label className={css.choice}>
          <input type="checkbox" checked={areSent} onChange={(event) => setSent(event.target.checked)} />
          Send {localSettings.length === 1 ? 'it' : 'them'} all the same
        </label>
      </div>
      <div className={css.buttons}>
        <Button onClick={onCancel}>Cancel</Button>
        <Button kind="primary" onClick={() => answer(areSent)}>
          {areSent ? 'Deploy with local settings' : 'Deploy without'}
        </Button>
      </div>
    </section>
  )
}
