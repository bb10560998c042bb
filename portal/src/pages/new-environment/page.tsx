/** Creates an environment, and opens its page at once, which shows the progress. */
import { useState } from 'react'
import { useLocation } from 'wouter'
import { call } from '../../api/client.ts'
import { useAction, useList } from '../../api/data.ts'
import { headland } from '../../api/headland.ts'
import { partsOf, placeOf } from '../../api/names.ts'
import type { Environment, NewEnvironment, Operation, ShellVariable } from '../../api/types.ts'
import { Button, ButtonLink } from '../../components/controls/button.tsx'
import { Curl } from '../../components/controls/curl.tsx'
import { Form, FormActions, isAllInFields, TextField } from '../../components/controls/field.tsx'
import { kindByName } from '../../components/facts/kinds.ts'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { Page } from '../../components/layout/page.tsx'
import type { AccountPageProps } from '../../page-props.ts'
import { appPath, appsPath, environmentPath } from '../../paths.ts'
import { useSession } from '../../session/session.tsx'
import { NotFound } from '../not-found.tsx'
import { type Variable, VariableRows } from './variable-rows.tsx'

const FIELDS = ['displayName', 'branch', 'cmsEnvironment', 'rootDirectory']

export default function NewEnvironmentPage({ app = '' }: AccountPageProps) {
  const { account, canWrite } = useSession()
  const [, go] = useLocation()
  const [displayName, setDisplayName] = useState('')
  const [branch, setBranch] = useState('')
  const [chosenCms, setCms] = useState<string>()
  const [rootDirectory, setRootDirectory] = useState('')
  const [variables, setVariables] = useState<Variable[]>([])

  const environments = `accounts/${account}/apps/${app}/environments`
  const { items: others } = useList<Environment>(environments, 'environments', { pageSize: 1 })
  // The API requires a name; without a CMS any will do. The default is that of the previous environment, or of the app.
  const suggestedCms = others?.[0]?.cmsEnvironment ?? app
  const cmsEnvironment = chosenCms?.trim() || suggestedCms
  const given = variables.filter(({ key }) => key !== '')
  const body: NewEnvironment = {
    displayName,
    branch: branch.trim() || 'uploadable',
    cmsEnvironment,
    ...(rootDirectory ? { rootDirectory } : {}),
    ...(given.length > 0 ? { shellVariables: given.map(({ id: _, ...variable }) => variable) } : {}),
  }
  const create = useAction(() => call<Operation>(`/v1/${environments}`, { method: 'POST', body }), {
    refreshes: [environments],
  })

  if (!canWrite)
    return <NotFound title="New environment" detail="You may look, but not create: ask an owner for another role." />

  async function submit() {
    const operation = await create.run()
    if (operation) go(environmentPath(placeOf(account, app, partsOf(operation.name).environment)))
  }

  return (
    <Page
      title="New environment"
      crumbs={[
        { text: 'Apps', href: appsPath(account) },
        { text: app, href: appPath(account, app) },
      ]}
    >
      <Form label="New environment" onSubmit={submit}>
        <TextField
          label="Name"
          name="displayName"
          value={displayName}
          onChange={(event) => setDisplayName(event.target.value)}
          problem={create.problem}
          hint="For people: Production, Staging."
          maxLength={100}
          autoComplete="off"
          required
        />
        <TextField
          label="Git branch (optional)"
          name="branch"
          value={branch}
          onChange={(event) => setBranch(event.target.value)}
          problem={create.problem}
          hint="Pushes to it are deployed here: main. Without one, archives are uploaded."
          maxLength={200}
          autoComplete="off"
          autoCapitalize="none"
          mono
        />
        <TextField
          label="CMS install (optional)"
          name="cmsEnvironment"
          value={chosenCms ?? suggestedCms}
          placeholder={suggestedCms}
          onChange={(event) => setCms(event.target.value)}
          problem={create.problem}
          hint="Your name for the content-management install that this environment shows. Any name will do."
          maxLength={100}
          autoComplete="off"
        />
        <TextField
          label="Folder of the app (optional)"
          name="rootDirectory"
          value={rootDirectory}
          onChange={(event) => setRootDirectory(event.target.value)}
          problem={create.problem}
          hint="Where it lies in the archive, for a monorepo: apps/web. Empty for the top."
          autoComplete="off"
          autoCapitalize="none"
          mono
        />
        <VariableRows variables={variables} onChange={setVariables} problem={create.problem} />
        {!isAllInFields(create.problem, FIELDS) && <ProblemNote problem={create.problem} />}
        <FormActions>
          <Button kind="primary" type="submit" busy={create.isBusy}>
            Create environment
          </Button>
          <ButtonLink href={appPath(account, app)}>Cancel</ButtonLink>
        </FormActions>
        <Curl
          command={headland(['envs', 'create', displayName || 'Production'], {
            account,
            app,
            cms: cmsEnvironment,
            branch: branch.trim() || undefined,
            root: rootDirectory || undefined,
          })}
          method="POST"
          path={`/v1/${environments}`}
          body={hidden(body)}
        />
      </Form>
    </Page>
  )
}

/** The body for the terminal command, with the values of secrets masked. */
const hidden = ({ shellVariables, ...body }: NewEnvironment): NewEnvironment => ({
  ...body,
  ...(shellVariables ? { shellVariables: shellVariables.map(withoutSecret) } : {}),
})

function withoutSecret(variable: ShellVariable): ShellVariable {
  const { key, kind = kindByName(key) } = variable
  return kind === 'SECRET' ? { ...variable, value: '…' } : variable
}
