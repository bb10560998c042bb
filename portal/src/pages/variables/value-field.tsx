/** The field of a value. Keys and certificates have several lines, so it grows with its content. */
import { useEffect, useId, useRef } from 'react'
import { sentenceOf } from '../../components/feedback/fault-words.ts'
import css from './row.module.css'

type Props = {
  label: string
  placeholder: string
  value: string
  fault: string | undefined
  readOnly: boolean
  isFocused?: boolean
  onChange(value: string): void
}

const MAX_ROWS = 8

export function ValueField({ label, placeholder, value, fault, readOnly, isFocused = false, onChange }: Props) {
  const field = useRef<HTMLTextAreaElement>(null)
  const faultId = useId()

  useEffect(() => {
    if (isFocused) field.current?.focus()
  }, [isFocused])

  return (
    <div className={css.field}>
      <textarea
        ref={field}
        className={css.input}
        rows={Math.min(value.split('\n').length, MAX_ROWS)}
        aria-label={label}
        aria-invalid={fault ? true : undefined}
        aria-describedby={fault ? faultId : undefined}
        placeholder={placeholder}
        value={value}
        readOnly={readOnly}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        onChange={(event) => onChange(event.target.value)}
      />
      {fault && (
        <p id={faultId} className={css.fault}>
          {sentenceOf('Value', fault)}
        </p>
      )}
    </div>
  )
}
