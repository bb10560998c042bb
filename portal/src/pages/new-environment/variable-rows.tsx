/** Variables for the first build; later they have a page of their own. */
import { useEffect, useRef } from 'react'
import type { Problem } from '../../api/problem.ts'
import type { VariableKind } from '../../api/types.ts'
import { Button } from '../../components/controls/button.tsx'
import { KindSelect } from '../../components/controls/kind-select.tsx'
import { kindByName } from '../../components/facts/kinds.ts'
import { sentenceOf } from '../../components/feedback/fault-words.ts'
import css from './variable-rows.module.css'

/** Without a kind, the name decides. */
export type Variable = { id: number; key: string; value: string; kind?: VariableKind }

type Props = { variables: readonly Variable[]; onChange(variables: Variable[]): void; problem: Problem | undefined }

export function VariableRows({ variables, onChange, problem }: Props) {
  const next = useRef(0)
  const last = useRef<HTMLInputElement>(null)
  const before = useRef(variables.length)

  // A row that the user added takes the focus.
  useEffect(() => {
    if (variables.length > before.current) last.current?.focus()
    before.current = variables.length
  }, [variables.length])

  const set = (id: number, change: Partial<Variable>) =>
    onChange(variables.map((each) => (each.id === id ? { ...each, ...change } : each)))

  return (
    <fieldset className={css.rows}>
      <legend className={css.legend}>Variables (optional)</legend>
      {variables.map(({ id, key, value, kind = kindByName(key) }, index) => (
        <div key={id} className={css.row}>
          <input
            className={css.input}
            aria-label={`Name of variable ${index + 1}`}
            placeholder="NAME"
            value={key}
            autoComplete="off"
            autoCapitalize="none"
            spellCheck={false}
            ref={index === variables.length - 1 ? last : undefined}
            onChange={(event) => set(id, { key: event.target.value.trim() })}
          />
          <input
            className={css.input}
            aria-label={`Value of variable ${index + 1}`}
            type={kind === 'SECRET' ? 'password' : 'text'}
            placeholder="value"
            value={value}
            autoComplete="off"
            onChange={(event) => set(id, { value: event.target.value })}
          />
          <KindSelect
            label={`Kind of variable ${index + 1}`}
            kind={kind}
            onChange={(chosen) => set(id, { kind: chosen })}
          />
          <Button
            kind="quiet"
            icon="cross"
            aria-label={`Remove variable ${index + 1}`}
            onClick={() => onChange(variables.filter((each) => each.id !== id))}
          >
            <span className="sr-only">Remove</span>
          </Button>
          {faultOf(problem, index) && <p className={css.fault}>{faultOf(problem, index)}</p>}
        </div>
      ))}
      <div>
        <Button small icon="plus" onClick={() => onChange([...variables, { id: next.current++, key: '', value: '' }])}>
          Add a variable
        </Button>
      </div>
    </fieldset>
  )
}

const LABELS: Readonly<Record<string, string>> = { key: 'Name', value: 'Value', kind: 'Kind' }

function faultOf(problem: Problem | undefined, index: number): string | undefined {
  const start = `shellVariables[${index}]`
  const [field, fault] = Object.entries(problem?.fields ?? {}).find(([name]) => name.startsWith(start)) ?? []
  return fault && sentenceOf(LABELS[field?.slice(start.length + 1) ?? ''] ?? 'It', fault)
}
