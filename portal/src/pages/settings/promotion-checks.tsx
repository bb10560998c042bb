/** What is asked of a new version before visitors get it, and what a broken page does. */
import { useState } from 'react'
import type { Environment } from '../../api/types.ts'
import { Button } from '../../components/controls/button.tsx'
import { Form, FormActions, isAllInFields, SelectField, TextField } from '../../components/controls/field.tsx'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { useSettings } from '../../components/feedback/use-settings.ts'
import { Fact, Facts, Panel } from '../../components/layout/panel.tsx'
import { wholeNumber } from './whole-number.ts'

type Checks = Environment['promotionChecks']

const MODES = [
  { value: 'AUTO', text: 'Warn in the first 30 days, hold afterwards' },
  { value: 'BLOCK', text: 'Hold it: it goes live by hand only' },
  { value: 'WARN', text: 'Make it live with a warning' },
  { value: 'OFF', text: 'Ask for no pages' },
] as const

const FIELDS = ['promotionChecks.pages', 'promotionChecks.timeoutSeconds'] as const

export function PromotionChecks({ environment, canWrite }: { environment: Environment; canWrite: boolean }) {
  const { promotionChecks } = environment
  return (
    <Panel title="Checked promotion">
      <p>
        Before a new version goes live, it is asked for the pages that visitors ask for most, beside the live one. A
        page that worked before and does not now is broken.
      </p>
      {canWrite ? (
        <Change key={JSON.stringify(promotionChecks)} environment={environment} />
      ) : (
        <Facts>
          <Fact name="A version with broken pages">
            {MODES.find(({ value }) => value === promotionChecks.mode)?.text}
          </Fact>
          <Fact name="Pages">
            {promotionChecks.pages}, within {promotionChecks.timeoutSeconds} s
          </Fact>
        </Facts>
      )}
    </Panel>
  )
}

function Change({ environment }: { environment: Environment }) {
  const { promotionChecks: before } = environment
  const [mode, setMode] = useState(before.mode)
  const [pages, setPages] = useState(String(before.pages))
  const [seconds, setSeconds] = useState(String(before.timeoutSeconds))
  const next = { mode, pages: wholeNumber(pages), timeoutSeconds: wholeNumber(seconds) }
  const isReadable = next.pages !== undefined && next.timeoutSeconds !== undefined
  const isSame = JSON.stringify(next) === JSON.stringify(settableOf(before))

  const settings = useSettings(
    environment,
    (now) => JSON.stringify(settableOf(now.promotionChecks)) === JSON.stringify(settableOf(before)),
  )

  async function submit() {
    if (isReadable && !isSame) await settings.save({ promotionChecks: next })
  }

  return (
    <Form label="Checked promotion" onSubmit={submit}>
      <SelectField
        label="A version with broken pages"
        name="promotionChecks.mode"
        options={MODES}
        value={mode}
        problem={settings.problem}
        onChange={({ target }) => setMode(target.value as Checks['mode'])}
      />
      <TextField
        label="Pages that are asked for"
        name={FIELDS[0]}
        inputMode="numeric"
        autoComplete="off"
        value={pages}
        problem={settings.problem}
        fault={next.pages === undefined ? 'must be a whole number' : undefined}
        hint="1 to 200, the most visited of the last day."
        onChange={({ target }) => setPages(target.value)}
      />
      <TextField
        label="Seconds that the check may take"
        name={FIELDS[1]}
        inputMode="numeric"
        autoComplete="off"
        value={seconds}
        problem={settings.problem}
        fault={next.timeoutSeconds === undefined ? 'must be a whole number' : undefined}
        hint="5 to 600. Pages that were not reached by then are left out."
        onChange={({ target }) => setSeconds(target.value)}
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

/** What can be set, with keys in a fixed order, so that two of them can be compared as text. */
const settableOf = ({ mode, pages, timeoutSeconds }: Checks) => ({ mode, pages, timeoutSeconds })
