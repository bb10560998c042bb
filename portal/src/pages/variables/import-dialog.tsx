/** Imports a `.env` file: previews the changes, then adds them to the unsaved changes. */
import { useMemo, useRef, useState } from 'react'
import type { Problem } from '../../api/problem.ts'
import { Button } from '../../components/controls/button.tsx'
import { Dialog, DialogActions } from '../../components/controls/dialog.tsx'
import { AreaField } from '../../components/controls/field.tsx'
import { counted } from '../../components/facts/format.ts'
import { KIND_WORDS, kindByName } from '../../components/facts/kinds.ts'
import { Pill, type Tone } from '../../components/facts/pill.tsx'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import css from './import-dialog.module.css'
import { type Effect, type Previewed, previewOf, wantedOf } from './import-preview.ts'
import { type EnvEntry, type EnvFault, parseEnv } from './parse-env.ts'

/** Twice the limit of an environment: a larger file is not a file of variables. */
const MAX_FILE_BYTES = 1024 * 1024

type Props = {
  /** Values as they would be saved now; undefined while they are fetched. */
  current: ReadonlyMap<string, string | undefined> | undefined
  problem: Problem | undefined
  onImport(entries: readonly EnvEntry[]): void
  onClose(): void
}

export function ImportDialog({ current, problem, onImport, onClose }: Props) {
  const [text, setText] = useState('')
  const [fault, setFault] = useState<string>()
  const chooser = useRef<HTMLInputElement>(null)
  const file = useMemo(() => parseEnv(text), [text])
  const previewed = useMemo(() => current && previewOf(file.entries, current), [file, current])
  const wanted = previewed ? wantedOf(previewed) : []

  async function choose(chosen: File | undefined) {
    if (!chosen) return
    const isSmall = chosen.size <= MAX_FILE_BYTES
    setFault(isSmall ? undefined : `${chosen.name} is too large to be a file of variables.`)
    if (isSmall) setText(await chosen.text())
  }

  function take() {
    onImport(wanted)
    onClose()
  }

  return (
    <Dialog title="Import variables" onClose={onClose} wide>
      <AreaField
        label="Content of a .env file"
        name="env"
        mono
        rows={8}
        value={text}
        fault={fault}
        placeholder={'# One a line\nCMS_URL=https://cms.example.com\nSECRET="two words"'}
        hint="It is read here and not sent anywhere before you save. References such as ${OTHER} stay as they are written."
        autoComplete="off"
        onChange={(event) => {
          setFault(undefined)
          setText(event.target.value)
        }}
      />
      <div>
        <Button icon="folder" small onClick={() => chooser.current?.click()}>
          Choose a file
        </Button>
        <input
          ref={chooser}
          type="file"
          hidden
          aria-label="File with variables"
          onChange={(event) => {
            choose(event.target.files?.[0])
            // The same file can be chosen again after it was edited.
            event.target.value = ''
          }}
        />
      </div>
      <ProblemNote problem={problem} title="The saved values cannot be compared" />
      {previewed && previewed.length + file.faults.length > 0 && <Preview previewed={previewed} faults={file.faults} />}
      <DialogActions>
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="primary" disabled={wanted.length === 0} onClick={take}>
          {wanted.length === 0 ? 'Nothing to import' : `Take ${counted(wanted.length, 'variable')}`}
        </Button>
      </DialogActions>
    </Dialog>
  )
}

const SHOWN: Record<Effect, { tone: Tone; word: string }> = {
  new: { tone: 'good', word: 'New' },
  changed: { tone: 'warn', word: 'Changed' },
  same: { tone: 'idle', word: 'Unchanged' },
  refused: { tone: 'bad', word: 'Refused' },
}

function Preview({ previewed, faults }: { previewed: readonly Previewed[]; faults: readonly EnvFault[] }) {
  const counts = (Object.keys(SHOWN) as Effect[]).flatMap((effect) => {
    const count = previewed.filter((each) => each.effect === effect).length
    return count > 0 ? `${count} ${SHOWN[effect].word.toLowerCase()}` : []
  })
  return (
    <section aria-label="What the import changes" className={css.preview}>
      <p role="status">
        {[...counts, ...(faults.length > 0 ? [`${counted(faults.length, 'line')} not understood`] : [])].join(', ')}
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard (WCAG 2.1.1) */}
      <ul className={css.list} tabIndex={0} aria-label="Variables of the file">
        {faults.map(({ line, text, why }) => (
          <li key={`fault ${line}`} className={css.entry}>
            <Pill tone="bad">Line {line}</Pill>
            <span className={css.words}>
              <code>{text.trim()}</code> {why}
            </span>
          </li>
        ))}
        {previewed.map(({ key, effect, why }) => (
          <li key={key} className={css.entry}>
            <Pill tone={SHOWN[effect].tone}>{SHOWN[effect].word}</Pill>
            <span className={css.words}>
              <code>{key}</code> {effect === 'new' ? KIND_WORDS[kindByName(key)].toLowerCase() : why}
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}
