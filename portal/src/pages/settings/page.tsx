/** What an environment is called and shows, and its end. */
import { useState } from 'react'
import { useLocation } from 'wouter'
import { call } from '../../api/client.ts'
import { useAction, useResource } from '../../api/data.ts'
import type { Place } from '../../api/names.ts'
import type { Environment, Operation } from '../../api/types.ts'
import type { EnvironmentPageProps } from '../../pages.tsx'
import { Button } from '../../parts/button.tsx'
import { useConfirm } from '../../parts/confirm.tsx'
import { Form, FormActions, isAllInFields, TextField } from '../../parts/field.tsx'
import { OperationProgress } from '../../parts/operation.tsx'
import { Page } from '../../parts/page.tsx'
import { Fact, Facts, Panel } from '../../parts/panel.tsx'
import { ProblemNote } from '../../parts/problem-note.tsx'
import { SkeletonRows } from '../../parts/skeleton.tsx'
import { useToast } from '../../parts/toasts.tsx'
import { appPath } from '../../paths.ts'
import { useSession } from '../../session/session.tsx'

const FIELDS = ['displayName', 'cmsEnvironment', 'rootDirectory'] as const

export default function SettingsPage({ place }: EnvironmentPageProps) {
  const { canWrite } = useSession()
  const { data: environment, problem, refresh } = useResource<Environment>(place.name)
  return (
    <Page title="General">
      {!environment && <ProblemNote problem={problem} onRetry={refresh} />}
      <Panel title="Environment">
        {!environment && <SkeletonRows count={4} height={64} />}
        {environment && (canWrite ? <Change environment={environment} /> : <Read environment={environment} />)}
      </Panel>
      {canWrite && environment && environment.state !== 'DELETING' && (
        <Delete place={place} environment={environment} />
      )}
    </Page>
  )
}

const Read = ({ environment }: { environment: Environment }) => (
  <Facts>
    <Fact name="Name">{environment.displayName}</Fact>
    <Fact name="CMS install">{environment.cmsEnvironment}</Fact>
    <Fact name="Folder of the app">{environment.rootDirectory || 'the top of the archive'}</Fact>
  </Facts>
)

function Change({ environment }: { environment: Environment }) {
  const { name } = environment
  const [draft, setDraft] = useState<Partial<Pick<Environment, (typeof FIELDS)[number]>>>({})
  const changed = Object.fromEntries(FIELDS.flatMap((field) => (isChanged(field) ? [[field, draft[field]]] : [])))
  const save = useAction(() => call<Operation>(`/v1/${name}`, { method: 'PATCH', body: changed }), {
    refreshes: [name, `${name}/operations`],
  })

  function isChanged(field: (typeof FIELDS)[number]): boolean {
    return draft[field] !== undefined && draft[field] !== environment[field]
  }

  async function submit() {
    if (await save.run()) setDraft({})
  }

  const input = (field: (typeof FIELDS)[number]) => ({
    name: field,
    value: draft[field] ?? environment[field],
    problem: save.problem,
    autoComplete: 'off',
    onChange: (event: { target: { value: string } }) => setDraft({ ...draft, [field]: event.target.value }),
  })

  return (
    <Form label="Environment" onSubmit={submit}>
      <TextField label="Name" {...input('displayName')} maxLength={100} required />
      <TextField
        label="CMS install"
        {...input('cmsEnvironment')}
        maxLength={100}
        required
        hint="The app is started again with it, without a build."
      />
      <TextField
        label="Folder of the app"
        {...input('rootDirectory')}
        mono
        hint="Where it lies in the archive; empty for the top. Counts from the next build on."
      />
      {!isAllInFields(save.problem, FIELDS) && <ProblemNote problem={save.problem} />}
      <FormActions>
        <Button kind="primary" type="submit" busy={save.isBusy} disabled={Object.keys(changed).length === 0}>
          Save
        </Button>
      </FormActions>
      {save.data && <OperationProgress name={save.data.name} />}
    </Form>
  )
}

function Delete({ place, environment }: { place: Place; environment: Environment }) {
  const confirm = useConfirm()
  const say = useToast()
  const [, go] = useLocation()

  const ask = () =>
    confirm({
      title: `Delete ${environment.displayName}?`,
      stops: [
        `Its site answers no more: ${[environment.url, ...environment.domains].join(', ')}.`,
        'Its builds, deployments, variables, domains and webhooks are gone for good.',
      ],
      word: environment.displayName,
      label: 'Delete environment',
      async run() {
        await call(`/v1/${place.name}`, { method: 'DELETE' })
        go(appPath(place.account, place.app))
        say(`${environment.displayName} is being deleted.`)
      },
    })

  return (
    <Panel title="Delete this environment">
      <p>Ends its site at once. Nothing can bring it back.</p>
      <div>
        <Button kind="danger" onClick={ask}>
          Delete environment
        </Button>
      </div>
    </Panel>
  )
}
