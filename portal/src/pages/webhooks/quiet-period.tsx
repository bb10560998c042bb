/** How long a build waits for a burst of calls to end. */
import { useState } from 'react'
import { call } from '../../api/client.ts'
import { useAction } from '../../api/data.ts'
import type { WebhookSet } from '../../api/types.ts'
import { Button } from '../../components/controls/button.tsx'
import { Form, FormActions, isAllInFields, TextField } from '../../components/controls/field.tsx'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { useToast } from '../../components/feedback/toasts.tsx'
import { Fact, Facts, Panel } from '../../components/layout/panel.tsx'
import css from './page.module.css'
import { wholeSeconds } from './whole-seconds.ts'

const FIELDS = ['quietSeconds', 'maxQuietSeconds'] as const

type Props = { set: WebhookSet; canWrite: boolean }

export function QuietPeriod({ set, canWrite }: Props) {
  return (
    <Panel title="Quiet period">
      <p className={css.quiet}>
        An editor who saves ten times in a minute gets two builds: one that begins with the first save, and one after
        it. With a quiet period, a build begins after this time without a call. A purge never waits.
      </p>
      {canWrite ? (
        <Change set={set} />
      ) : (
        <Facts>
          <Fact name="Quiet for">
            {set.quietSeconds === 0 ? 'Builds begin at once' : `${set.quietSeconds} seconds`}
          </Fact>
          <Fact name="At most">{set.maxQuietSeconds} seconds</Fact>
        </Facts>
      )}
    </Panel>
  )
}

function Change({ set }: { set: WebhookSet }) {
  const say = useToast()
  const [typed, setTyped] = useState({
    quietSeconds: String(set.quietSeconds),
    maxQuietSeconds: String(set.maxQuietSeconds),
  })
  const seconds = {
    quietSeconds: wholeSeconds(typed.quietSeconds),
    maxQuietSeconds: wholeSeconds(typed.maxQuietSeconds),
  }
  const save = useAction(() => call<WebhookSet>(`/v1/${set.name}`, { method: 'PATCH', body: seconds }), {
    refreshes: [set.name],
  })
  const isReadable = FIELDS.every((field) => seconds[field] !== undefined)
  const isSame = FIELDS.every((field) => seconds[field] === set[field])

  const input = (field: (typeof FIELDS)[number]) => ({
    name: field,
    inputMode: 'numeric' as const,
    autoComplete: 'off',
    value: typed[field],
    problem: save.problem,
    fault: seconds[field] === undefined ? 'must be a whole number of seconds' : undefined,
    onChange: (event: { target: { value: string } }) => {
      save.reset()
      setTyped({ ...typed, [field]: event.target.value })
    },
  })

  async function submit() {
    if (isReadable && !isSame && (await save.run())) say('The quiet period is saved.')
  }

  return (
    <Form label="Quiet period" onSubmit={submit}>
      <TextField
        label="Seconds without a call"
        hint="0 to 300. With 0, a build begins at once."
        {...input('quietSeconds')}
      />
      <TextField
        label="Seconds after the first call, at most"
        hint="0 to 3,600. However many calls come, the build begins then."
        {...input('maxQuietSeconds')}
      />
      {!isAllInFields(save.problem, FIELDS) && <ProblemNote problem={save.problem} />}
      <FormActions>
        <Button type="submit" busy={save.isBusy} disabled={!isReadable || isSame}>
          Save
        </Button>
      </FormActions>
    </Form>
  )
}
