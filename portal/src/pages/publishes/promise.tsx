/** How long a publish may take before it counts as late. */
import { useState } from 'react'
import type { Environment } from '../../api/types.ts'
import { Button } from '../../components/controls/button.tsx'
import { Form, FormActions, isAllInFields, TextField } from '../../components/controls/field.tsx'
import { duration } from '../../components/facts/format.ts'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { useSettings } from '../../components/feedback/use-settings.ts'
import { Panel } from '../../components/layout/panel.tsx'
import { promiseIn } from './words.ts'

const FIELDS = ['publishPromiseSeconds'] as const

type Props = { environment: Environment; canWrite: boolean }

export function Promised({ environment, canWrite }: Props) {
  const { publishPromiseSeconds: promised } = environment
  return (
    <Panel title="Promise">
      <p>
        A publish that takes longer, from the call until every edge answers with what is new, is marked as late, and is
        a notice for those who take it.
      </p>
      {canWrite ? (
        <Change key={String(promised)} environment={environment} />
      ) : (
        <p>{promised === null ? 'Nothing is promised.' : `Promised: ${duration(promised)}.`}</p>
      )}
    </Panel>
  )
}

function Change({ environment }: { environment: Environment }) {
  const { publishPromiseSeconds: before } = environment
  const [text, setText] = useState(before === null ? '' : String(before))
  const next = promiseIn(text)

  const settings = useSettings(environment, (now) => now.publishPromiseSeconds === before)

  async function submit() {
    if (next !== undefined && next !== before) await settings.save({ publishPromiseSeconds: next })
  }

  return (
    <Form label="Promise" onSubmit={submit}>
      <TextField
        label="Seconds"
        name={FIELDS[0]}
        inputMode="numeric"
        autoComplete="off"
        value={text}
        problem={settings.problem}
        fault={next === undefined ? 'must be a whole number of seconds' : undefined}
        hint="Empty: nothing is promised."
        onChange={({ target }) => setText(target.value)}
      />
      {!isAllInFields(settings.problem, FIELDS) && <ProblemNote problem={settings.problem} />}
      <FormActions>
        <Button type="submit" busy={settings.isBusy} disabled={next === undefined || next === before}>
          Save
        </Button>
      </FormActions>
    </Form>
  )
}
