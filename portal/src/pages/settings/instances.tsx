/** How many instances of the app run. */
import { useState } from 'react'
import type { Environment } from '../../api/types.ts'
import { Button, ExternalLink } from '../../components/controls/button.tsx'
import { Form, FormActions, isAllInFields, TextField } from '../../components/controls/field.tsx'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { useSettings } from '../../components/feedback/use-settings.ts'
import { Fact, Facts, Panel } from '../../components/layout/panel.tsx'
import { wholeNumber } from './whole-number.ts'

const LABELS = {
  minInstances: 'Instances that always run',
  maxInstances: 'Instances at most',
  requestsPerInstance: 'Requests in flight for each instance',
} as const
type Field = keyof typeof LABELS
const FIELDS = Object.keys(LABELS) as Field[]

const HINTS: Record<Field, string> = {
  minInstances: '0 to 16. With 0, the app sleeps without visitors, and the next one waits for its start.',
  maxInstances: '1 to 16. With 1, there is never a second instance.',
  requestsPerInstance: '1 to 1,000. Above this number, another instance is started.',
}

export function Instances({ environment, canWrite }: { environment: Environment; canWrite: boolean }) {
  return (
    <Panel title="Instances">
      <p>
        An instance is one running copy of the app. Each has its own memory and its own written files. With more
        visitors at the same time, more instances are started. They are stopped again when there are fewer. A change
        applies at once, and nothing is built.{' '}
        <ExternalLink href="/docs/guides/instances">More about instances</ExternalLink>
      </p>
      {canWrite ? (
        <Change key={FIELDS.map((field) => environment[field]).join(' ')} environment={environment} />
      ) : (
        <Facts>
          {FIELDS.map((field) => (
            <Fact key={field} name={LABELS[field]}>
              {environment[field]}
            </Fact>
          ))}
        </Facts>
      )}
    </Panel>
  )
}

function Change({ environment }: { environment: Environment }) {
  const [typed, setTyped] = useState(() => valuesOf((field) => String(environment[field])))
  const next = valuesOf((field) => wholeNumber(typed[field]))
  const isSame = FIELDS.every((field) => next[field] === environment[field])

  const settings = useSettings(environment, (now) => FIELDS.every((field) => now[field] === environment[field]))

  function faultOf(field: Field): string | undefined {
    const { minInstances: min, maxInstances: max } = next
    if (next[field] === undefined) return 'must be a whole number'
    const isAbove = field === 'minInstances' && min !== undefined && max !== undefined && min > max
    return isAbove ? `must not be more than "${LABELS.maxInstances}": lower this number, or raise that one` : undefined
  }
  const isRight = FIELDS.every((field) => faultOf(field) === undefined)

  async function submit() {
    if (isRight && !isSame) await settings.save(next)
  }

  return (
    <Form label="Instances" onSubmit={submit}>
      {FIELDS.map((field) => (
        <TextField
          key={field}
          label={LABELS[field]}
          name={field}
          inputMode="numeric"
          autoComplete="off"
          value={typed[field]}
          problem={settings.problem}
          fault={faultOf(field)}
          hint={HINTS[field]}
          onChange={({ target }) => {
            settings.reset()
            setTyped({ ...typed, [field]: target.value })
          }}
        />
      ))}
      {!isAllInFields(settings.problem, FIELDS) && <ProblemNote problem={settings.problem} />}
      <FormActions>
        <Button type="submit" busy={settings.isBusy} disabled={!isRight || isSame}>
          Save
        </Button>
      </FormActions>
    </Form>
  )
}

const valuesOf = <T,>(of: (field: Field) => T) =>
  Object.fromEntries(FIELDS.map((field) => [field, of(field)])) as Record<Field, T>
