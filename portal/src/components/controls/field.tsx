/**
 * Form fields: a label that is always visible, a hint, and the error that the API returned for the field. The form
 * passes `problem` to each field, which shows the part that names it.
 */
import {
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
  useId,
} from 'react'
import type { Problem } from '../../api/problem.ts'
import { sentenceOf } from '../feedback/fault-words.ts'
import css from './field.module.css'

type Common = {
  label: string
  hint?: ReactNode
  /** Its name in the request, as in `displayName`: errors of the API refer to it. */
  name: string
  problem?: Problem | undefined
  /** An error that the form itself found. */
  fault?: string | undefined
}

function useParts({ name, hint, problem, fault }: Common) {
  const id = useId()
  const wrong = fault ?? problem?.fields[name]
  const described = [hint ? `${id}-hint` : '', wrong ? `${id}-fault` : ''].filter(Boolean).join(' ')
  return {
    id,
    wrong,
    attributes: {
      id,
      name,
      'aria-invalid': wrong ? true : undefined,
      'aria-describedby': described || undefined,
    } as const,
  }
}

function Frame({
  id,
  label,
  hint,
  wrong,
  children,
}: {
  id: string
  label: string
  hint?: ReactNode
  wrong: string | undefined
  children: ReactNode
}) {
  return (
    <div className={css.field}>
      <label htmlFor={id} className={css.label}>
        {label}
      </label>
      {children}
      {wrong && (
        <p id={`${id}-fault`} className={css.fault}>
          {sentenceOf(label, wrong)}
        </p>
      )}
      {hint && (
        <p id={`${id}-hint`} className={css.hint}>
          {hint}
        </p>
      )}
    </div>
  )
}

type TextProps = Common & Omit<InputHTMLAttributes<HTMLInputElement>, 'name' | 'id'> & { mono?: boolean }

export function TextField({ label, hint, name, problem, fault, mono, ...rest }: TextProps) {
  const { id, wrong, attributes } = useParts({ label, hint, name, problem, fault })
  return (
    <Frame id={id} label={label} hint={hint} wrong={wrong}>
      <input
        type="text"
        spellCheck={false}
        {...rest}
        {...attributes}
        className={`${css.input} ${mono ? css.mono : ''}`}
      />
    </Frame>
  )
}

type AreaProps = Common & Omit<TextareaHTMLAttributes<HTMLTextAreaElement>, 'name' | 'id'> & { mono?: boolean }

export function AreaField({ label, hint, name, problem, fault, mono, ...rest }: AreaProps) {
  const { id, wrong, attributes } = useParts({ label, hint, name, problem, fault })
  return (
    <Frame id={id} label={label} hint={hint} wrong={wrong}>
      <textarea
        rows={5}
        spellCheck={false}
        {...rest}
        {...attributes}
        className={`${css.input} ${css.area} ${mono ? css.mono : ''}`}
      />
    </Frame>
  )
}

type SelectProps = Common &
  Omit<SelectHTMLAttributes<HTMLSelectElement>, 'name' | 'id'> & { options: readonly { value: string; text: string }[] }

export function SelectField({ label, hint, name, problem, fault, options, ...rest }: SelectProps) {
  const { id, wrong, attributes } = useParts({ label, hint, name, problem, fault })
  return (
    <Frame id={id} label={label} hint={hint} wrong={wrong}>
      <select {...rest} {...attributes} className={css.input}>
        {options.map(({ value, text }) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </Frame>
  )
}

/** Whether every error is already shown beside a field, so that it need not be repeated above the form. */
export const isAllInFields = (problem: Problem | undefined, names: readonly string[]): boolean =>
  problem !== undefined &&
  Object.keys(problem.fields).length > 0 &&
  Object.keys(problem.fields).every((field) => names.includes(field))

export function Form({ children, onSubmit, label }: { children: ReactNode; onSubmit(): void; label: string }) {
  return (
    <form
      className={css.form}
      aria-label={label}
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        onSubmit()
      }}
    >
      {children}
    </form>
  )
}

export function FormActions({ children }: { children: ReactNode }) {
  return <div className={css.actions}>{children}</div>
}
