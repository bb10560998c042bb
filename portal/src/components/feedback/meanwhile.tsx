/**
 * Shown when another user saved the same thing meanwhile: what they changed, and the two ways to continue. No input is
 * lost.
 */
import { Button } from '../controls/button.tsx'
import { Pill } from '../facts/pill.tsx'
import { Icon } from '../layout/icon.tsx'
import css from './meanwhile.module.css'

export type MeanwhileChange = {
  name: string
  /** What happened to it, as in `was deleted`. */
  words: string
  /** The reader has changed it, too. */
  isMine: boolean
}

type Props = {
  changes: readonly MeanwhileChange[]
  /** On the button that saves. */
  saveLabel: string
  isBusy: boolean
  onSave(): void
  onDiscard(): void
}

const MAX_SHOWN = 8

export function MeanwhileNote({ changes, saveLabel, isBusy, onSave, onDiscard }: Props) {
  // The reader has to decide only about what both changed.
  const sorted = changes.toSorted((a, b) => Number(b.isMine) - Number(a.isMine))
  const rest = sorted.length - MAX_SHOWN
  return (
    <div className={css.note} role="alert">
      <Icon name="warning" />
      <div className={css.body}>
        <strong>Another user saved changes meanwhile. Yours are not saved yet, and not lost.</strong>
        <ul className={css.changes}>
          {sorted.slice(0, MAX_SHOWN).map(({ name, words, isMine }) => (
            <li key={name} className={css.change}>
              <span>
                <code>{name}</code> {words}
              </span>
              {isMine && <Pill tone="warn">You changed it, too</Pill>}
            </li>
          ))}
          {rest > 0 && <li className={css.change}>and {rest} more</li>}
        </ul>
        <p className={css.quiet}>
          {sorted.some(({ isMine }) => isMine)
            ? 'Saving yours on top replaces what you both changed, and keeps everything else of theirs.'
            : 'Saving yours on top keeps theirs.'}
        </p>
        <div className={css.actions}>
          <Button onClick={onDiscard}>Discard mine</Button>
          <Button kind="primary" busy={isBusy} onClick={onSave}>
            {saveLabel}
          </Button>
        </div>
      </div>
    </div>
  )
}
