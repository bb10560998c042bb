/** Unsaved changes, at the bottom of the window. */
import { Button } from '../../components/controls/button.tsx'
import { useConfirm } from '../../components/controls/confirm.tsx'
import { MeanwhileNote } from '../../components/feedback/meanwhile.tsx'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { type Counts, countsOf, type Draft } from './draft.ts'
import css from './save-bar.module.css'
import type { Save } from './use-save.ts'

type Props = { keys: readonly string[]; draft: Draft; isLive: boolean; save: Save }

export function SaveBar({ keys, draft, isLive, save }: Props) {
  const confirm = useConfirm()
  const discard = () =>
    confirm({
      title: 'Discard the changes?',
      children: `What is not saved is lost: ${inWords(countsOf(keys, draft))}.`,
      label: 'Discard changes',
      async run() {
        save.discard()
      },
    })

  return (
    <section className={css.bar} aria-label="Changes that are not saved">
      <ProblemNote problem={save.problem} title="Nothing was saved" />
      {save.meanwhile && (
        <MeanwhileNote
          changes={save.meanwhile.map(({ key, what, isMine }) => ({ name: key, words: `was ${what}`, isMine }))}
          saveLabel={isLive ? 'Save mine on top and start again' : 'Save mine on top'}
          isBusy={save.isBusy}
          onSave={save.runOnTop}
          onDiscard={discard}
        />
      )}
      <div className={css.line}>
        <p className={css.words} role="status">
          <strong>Not saved:</strong> {inWords(countsOf(keys, draft))}
        </p>
        {!save.meanwhile && (
          <>
            <Button onClick={discard}>Discard</Button>
            <Button kind="primary" busy={save.isBusy} onClick={save.run}>
              {isLive ? 'Save and start again' : 'Save'}
            </Button>
          </>
        )}
      </div>
    </section>
  )
}

/** `2 new, 1 changed`. */
function inWords({ added, changed, removed }: Counts): string {
  const words = [added && `${added} new`, changed && `${changed} changed`, removed && `${removed} deleted`]
  return words.filter(Boolean).join(', ')
}
