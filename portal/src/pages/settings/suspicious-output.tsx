/** When a rebuild is held: if a server could not be reached, and if pages are missing. */
import { useState } from 'react'
import type { Environment } from '../../api/types.ts'
import { Button } from '../../components/controls/button.tsx'
import { Form, FormActions, isAllInFields, SelectField, TextField } from '../../components/controls/field.tsx'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { useSettings } from '../../components/feedback/use-settings.ts'
import { Fact, Facts, Panel } from '../../components/layout/panel.tsx'
import { wholeNumber } from './whole-number.ts'

type Limits = Environment['suspiciousOutput']

const ACTIONS = [
  { value: 'HOLD', text: 'Hold it: it goes live by hand only' },
  { value: 'WARN', text: 'Make it live with a warning' },
] as const

const FIELDS = ['suspiciousOutput.maxLostPagesPercent', 'suspiciousOutput.minLostPages'] as const

export function SuspiciousOutput({ environment, canWrite }: { environment: Environment; canWrite: boolean }) {
  const { suspiciousOutput } = environment
  return (
    <Panel title="Suspicious output">
      <p>
        A rebuild looks wrong where it could not reach a server that the variables name, such as the CMS, or where many
        pages of the live deployment are missing in it. An upload goes live in any case, with a warning.
      </p>
      {canWrite ? (
        <Change key={JSON.stringify(suspiciousOutput)} environment={environment} />
      ) : (
        <Facts>
          <Fact name="A rebuild that looks wrong">
            {ACTIONS.find(({ value }) => value === suspiciousOutput.action)?.text}
          </Fact>
          <Fact name="Lost pages">
            more than {suspiciousOutput.maxLostPagesPercent} %, and at least {suspiciousOutput.minLostPages}
          </Fact>
        </Facts>
      )}
    </Panel>
  )
}

function Change({ environment }: { environment: Environment }) {
  const { suspiciousOutput: before } = environment
  const [action, setAction] = useState(before.action)
  const [percent, setPercent] = useState(String(before.maxLostPagesPercent))
  const [pages, setPages] = useState(String(before.minLostPages))
  const next = { action, maxLostPagesPercent: wholeNumber(percent), minLostPages: wholeNumber(pages) }
  const isReadable = next.maxLostPagesPercent !== undefined && next.minLostPages !== undefined
  const isSame = JSON.stringify(next) === JSON.stringify(limitsOf(before))

  const settings = useSettings(
    environment,
    (now) => JSON.stringify(limitsOf(now.suspiciousOutput)) === JSON.stringify(limitsOf(before)),
  )

  async function submit() {
    if (isReadable && !isSame) await settings.save({ suspiciousOutput: next })
  }

  return (
    <Form label="Suspicious output" onSubmit={submit}>
      <SelectField
        label="A rebuild that looks wrong"
        name="suspiciousOutput.action"
        options={ACTIONS}
        value={action}
        problem={settings.problem}
        onChange={({ target }) => setAction(target.value as Limits['action'])}
      />
      <TextField
        label="Pages that may be lost, in percent"
        name={FIELDS[0]}
        inputMode="numeric"
        autoComplete="off"
        value={percent}
        problem={settings.problem}
        fault={next.maxLostPagesPercent === undefined ? 'must be a whole number' : undefined}
        hint="0 to 100 of the pages of the live deployment. 100: lost pages are ignored."
        onChange={({ target }) => setPercent(target.value)}
      />
      <TextField
        label="Lost pages, at least"
        name={FIELDS[1]}
        inputMode="numeric"
        autoComplete="off"
        value={pages}
        problem={settings.problem}
        fault={next.minLostPages === undefined ? 'must be a whole number' : undefined}
        hint="With fewer lost pages, a rebuild never looks wrong."
        onChange={({ target }) => setPages(target.value)}
      />
      {!isAllInFields(settings.problem, FIELDS) && <ProblemNote problem={settings.problem} />}
      <FormActions>
        <Button type="submit" busy={settings.isBusy} disabled={!isReadable || isSame}>
          Save
        </Button>
      </FormActions>
    </Form>
  )
}

/** With keys in a fixed order, so that two of them can be compared as text. */
const limitsOf = ({ action, maxLostPagesPercent, minLostPages }: Limits): Limits => ({
  action,
  maxLostPagesPercent,
  minLostPages,
})
