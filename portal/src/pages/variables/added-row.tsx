/** A variable that is not saved yet: a name, a kind and a value. */
import { useEffect, useId, useRef } from 'react'
import { Button } from '../../components/controls/button.tsx'
import { KindSelect } from '../../components/controls/kind-select.tsx'
import { kindByName } from '../../components/facts/kinds.ts'
import { Pill } from '../../components/facts/pill.tsx'
import { sentenceOf } from '../../components/feedback/fault-words.ts'
import { type Row, withAddedChanged, withoutAdded } from './draft.ts'
import css from './row.module.css'
import type { UsedDraft } from './use-draft.ts'
import type { RowFaults } from './use-save.ts'
import { ValueField } from './value-field.tsx'

type Props = { row: Row; change: UsedDraft['change']; faults: RowFaults; isBusy: boolean }

export function AddedRow({ row: { id, key, value = '', kind = kindByName(key) }, change, faults, isBusy }: Props) {
  const name = useRef<HTMLInputElement>(null)
  const faultId = useId()
  const called = key === '' ? 'new variable' : key

  // A row that the user added takes the focus; rows of an import do not.
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs on mount only
  useEffect(() => {
    if (key === '' && value === '') name.current?.focus()
  }, [])

  function remove(button: HTMLElement) {
    const row = button.closest('li')
    const beside = row?.previousElementSibling ?? row?.nextElementSibling
    beside?.querySelector('button')?.focus()
    change((before) => withoutAdded(before, id))
  }

  return (
    <li className={css.row} data-state="added">
      <div className={css.name}>
        <input
          ref={name}
          className={css.input}
          aria-label="Name of the new variable"
          aria-invalid={faults.key ? true : undefined}
          aria-describedby={faults.key ? faultId : undefined}
          placeholder="NAME"
          value={key}
          readOnly={isBusy}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          onChange={(event) =>
            change((before) => withAddedChanged(before, id, { key: event.target.value.replaceAll(/\s/g, '') }))
          }
        />
        {faults.key && (
          <p id={faultId} className={css.fault}>
            {sentenceOf('Name', faults.key)}
          </p>
        )}
      </div>
      <ValueField
        label={`Value of ${called}`}
        placeholder="value"
        value={value}
        fault={faults.value}
        readOnly={isBusy}
        onChange={(typed) => change((before) => withAddedChanged(before, id, { value: typed }))}
      />
      <div className={css.kind}>
        <KindSelect
          label={`Kind of ${called}`}
          kind={kind}
          disabled={isBusy}
          onChange={(chosen) => change((before) => withAddedChanged(before, id, { kind: chosen }))}
        />
      </div>
      <div className={css.actions}>
        <Pill tone="good" icon="plus">
          New
        </Pill>
        <Button small kind="quiet" onClick={(event) => remove(event.currentTarget)}>
          Remove<span className="sr-only"> {called}</span>
        </Button>
      </div>
    </li>
  )
}
