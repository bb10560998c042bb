/** One variable that the service has. The value of a secret is hidden unless it is asked for, and can be replaced unseen. */
import { useRef, useState } from 'react'
import type { VariableKind } from '../../api/types.ts'
import { Button } from '../../components/controls/button.tsx'
import { CopyButton } from '../../components/controls/copy.tsx'
import { KindSelect } from '../../components/controls/kind-select.tsx'
import { KIND_WORDS } from '../../components/facts/kinds.ts'
import { Pill } from '../../components/facts/pill.tsx'
import { type Row, withKind, withoutChange, withRemoved, withValue } from './draft.ts'
import css from './row.module.css'
import type { UsedDraft } from './use-draft.ts'
import type { RowFaults } from './use-save.ts'
import { ValueField } from './value-field.tsx'

type Props = {
  row: Row
  /** The kind that the service has. */
  stored: VariableKind
  /** The value that the service has, where it is to be seen. */
  shown: string | undefined
  /** Nothing for those who may only look. */
  change: UsedDraft['change'] | undefined
  faults: RowFaults
  isBusy: boolean
}

export function VariableRow({ row, stored, shown, change, faults, isBusy }: Props) {
  const { key, state, value, kind = stored } = row
  const [isOpen, setOpen] = useState(false)
  // The service takes a secret as plain only together with its value.
  const needsValue = stored === 'SECRET' && kind === 'PLAIN'
  const isEdited = change && (isOpen || value !== undefined || needsValue) && state !== 'removed'

  const actions = useRef<HTMLDivElement>(null)

  function set(work: typeof withRemoved) {
    setOpen(false)
    change?.((before) => work(before, key))
    // The button that was pressed gives way to another, and must not take the focus with it.
    requestAnimationFrame(() => actions.current?.querySelector('button')?.focus())
  }

  function choose(chosen: VariableKind) {
    change?.((before) => {
      const next = withKind(before, key, chosen, stored)
      const isRevealed = stored === 'SECRET' && chosen === 'PLAIN'
      if (shown === undefined || (value !== undefined && value !== shown)) return next
      return withValue(next, key, shown, isRevealed ? undefined : shown)
    })
  }

  return (
    <li className={css.row} data-state={state}>
      <div className={css.name}>
        <code className={css.key}>{key}</code>
        {state === 'changed' && <Pill tone="warn">Changed</Pill>}
        {state === 'removed' && <Pill tone="bad">To be deleted</Pill>}
        {faults.key && <p className={css.fault}>{faults.key}</p>}
      </div>
      {isEdited ? (
        <ValueField
          label={`New value of ${key}`}
          placeholder={placeholderOf(shown, needsValue)}
          value={value ?? shown ?? ''}
          fault={faults.value}
          isFocused={isOpen}
          readOnly={isBusy}
          onChange={(typed) => {
            // It stays open when what is typed happens to be what was there.
            setOpen(true)
            change((before) => withValue(before, key, typed, needsValue ? undefined : shown))
          }}
        />
      ) : (
        <Value text={shown} name={key} />
      )}
      <div className={css.kind}>
        {change && state !== 'removed' ? (
          <KindSelect label={`Kind of ${key}`} kind={kind} disabled={isBusy} onChange={choose} />
        ) : (
          KIND_WORDS[kind]
        )}
      </div>
      {change && (
        <div ref={actions} className={css.actions}>
          {!isEdited && state !== 'removed' && (
            <Button small kind="quiet" onClick={() => setOpen(true)}>
              Edit<span className="sr-only"> {key}</span>
            </Button>
          )}
          {state !== 'kept' || isEdited ? (
            <Button small onClick={() => set(withoutChange)}>
              {state === 'kept' ? 'Close' : 'Undo'}
              <span className="sr-only"> {key}</span>
            </Button>
          ) : (
            <Button small kind="quiet" onClick={() => set(withRemoved)}>
              Delete<span className="sr-only"> {key}</span>
            </Button>
          )}
        </div>
      )}
    </li>
  )
}

function placeholderOf(shown: string | undefined, needsValue: boolean): string {
  if (needsValue) return 'Its value, for everybody to see'
  return shown === undefined ? 'New value; untouched, the one it has stays' : ''
}

function Value({ text, name }: { text: string | undefined; name: string }) {
  if (text === undefined)
    return (
      <span className={css.hidden}>
        <span aria-hidden="true">••••••••</span>
        <span className="sr-only">value hidden</span>
      </span>
    )
  return (
    <span className={css.value}>
      {text === '' ? <span className={css.hidden}>empty</span> : <code className={css.text}>{text}</code>}
      {text !== '' && <CopyButton text={text} what={`the value of ${name}`} />}
    </span>
  )
}
