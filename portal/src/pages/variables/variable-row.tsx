/**
 * One saved variable. The value of a secret is hidden until the user shows it, and can be replaced without showing it.
 */
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
  /** The saved kind. */
  stored: VariableKind
  /** The saved value, if it is visible. */
  shown: string | undefined
  /** Undefined for viewers. */
  change: UsedDraft['change'] | undefined
  faults: RowFaults
  isBusy: boolean
}

export function VariableRow({ row, stored, shown, change, faults, isBusy }: Props) {
  const { key, state, value, kind = stored } = row
  const [isOpen, setOpen] = useState(false)
  // The service accepts the change from secret to plain only together with the value.
  const needsValue = stored === 'SECRET' && kind === 'PLAIN'
  const isEdited = change && (isOpen || value !== undefined || needsValue) && state !== 'removed'

  const actions = useRef<HTMLDivElement>(null)

  function set(work: typeof withRemoved) {
    setOpen(false)
    change?.((before) => work(before, key))
    // The pressed button is replaced by another, which must get the focus.
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
            // The field stays open when the typed value equals the saved one.
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
  if (needsValue) return 'Its value, visible to all users'
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
