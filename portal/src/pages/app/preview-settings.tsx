/** What the previews of an app get, and for how long they stay. */
import { useState } from 'react'
import { call } from '../../api/client.ts'
import { useAction } from '../../api/data.ts'
import type { App, Environment } from '../../api/types.ts'
import { Button, ExternalLink } from '../../components/controls/button.tsx'
import { Form, FormActions, SelectField, TextField } from '../../components/controls/field.tsx'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { useToast } from '../../components/feedback/toasts.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import { wholeNumber } from '../settings/whole-number.ts'

type Props = { app: App; environments: readonly Environment[] }

export function PreviewSettings({ app, environments }: Props) {
  return (
    <Panel title="Settings of previews">
      <p>
        A push to a branch that no environment names, and <code>headland deploy --preview</code>, make an environment of
        that branch. Search engines do not list it.{' '}
        <ExternalLink href="/docs/guides/previews">More about previews</ExternalLink>
      </p>
      <Change key={app.etag} app={app} environments={environments} />
    </Panel>
  )
}

function Change({ app: { name, etag, previews }, environments }: Props) {
  const say = useToast()
  const [draft, setDraft] = useState({
    ...previews,
    maxCount: String(previews.maxCount),
    idleDays: String(previews.idleDays),
  })
  const next = { ...draft, maxCount: wholeNumber(draft.maxCount), idleDays: wholeNumber(draft.idleDays) }
  const isSame = JSON.stringify(next) === JSON.stringify(previews)
  const isRight = next.maxCount !== undefined && next.idleDays !== undefined
  const save = useAction(() => call<App>(`/v1/${name}`, { method: 'PATCH', body: { previews: next, etag } }), {
    refreshes: [name],
  })
  function change(part: Partial<typeof draft>) {
    save.reset()
    setDraft({ ...draft, ...part })
  }
  async function submit() {
    if (isRight && !isSame && (await save.run())) say('Saved.')
  }
  const faultOf = (value: number | undefined) => (value === undefined ? 'must be a whole number' : undefined)

  return (
    <Form label="Settings of previews" onSubmit={submit}>
      <SelectField
        label="Branches without an environment"
        name="enabled"
        value={draft.enabled ? 'yes' : 'no'}
        onChange={({ target }) => change({ enabled: target.value === 'yes' })}
        options={[
          { value: 'yes', text: 'Get a preview' },
          { value: 'no', text: 'Are not deployed' },
        ]}
      />
      <SelectField
        label="Variables and protection from"
        name="environment"
        value={draft.environment}
        onChange={({ target }) => change({ environment: target.value })}
        options={[
          { value: '', text: 'The production environment, else the oldest' },
          ...environments.map(({ name: value, displayName: text }) => ({ value, text })),
        ]}
      />
      <SelectField
        label="Secrets"
        name="secrets"
        value={draft.secrets ? 'yes' : 'no'}
        onChange={({ target }) => change({ secrets: target.value === 'yes' })}
        options={[
          { value: 'no', text: 'Are left out' },
          { value: 'yes', text: 'Are included: all who can push a branch can read them' },
        ]}
      />
      <TextField
        label="Previews at most"
        name="maxCount"
        inputMode="numeric"
        autoComplete="off"
        value={draft.maxCount}
        fault={faultOf(next.maxCount)}
        hint="1 to 100."
        onChange={({ target }) => change({ maxCount: target.value })}
      />
      <TextField
        label="Days without a deployment and a visit"
        name="idleDays"
        inputMode="numeric"
        autoComplete="off"
        value={draft.idleDays}
        fault={faultOf(next.idleDays)}
        hint="1 to 365. Then the preview is deleted."
        onChange={({ target }) => change({ idleDays: target.value })}
      />
      <ProblemNote problem={save.problem} />
      <FormActions>
        <Button type="submit" busy={save.isBusy} disabled={!isRight || isSame}>
          Save
        </Button>
      </FormActions>
    </Form>
  )
}
