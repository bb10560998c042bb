/** Whether a variable is a secret. */
import type { VariableKind } from '../../api/types.ts'
import { KIND_WORDS } from '../facts/kinds.ts'
import css from './kind-select.module.css'

type Props = { label: string; kind: VariableKind; disabled?: boolean; onChange(kind: VariableKind): void }

export function KindSelect({ label, kind, disabled = false, onChange }: Props) {
  return (
    <select
      className={css.select}
      aria-label={label}
      value={kind}
      disabled={disabled}
      onChange={(event) => onChange(event.target.value as VariableKind)}
    >
      {Object.entries(KIND_WORDS).map(([value, text]) => (
        <option key={value} value={value}>
          {text}
        </option>
      ))}
    </select>
  )
}
