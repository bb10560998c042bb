/** Creates an app, and leads on to its first environment. */
import { useState } from 'react'
import { useLocation } from 'wouter'
import { call } from '../../api/client.ts'
import { useAction, useApps, useRegions } from '../../api/data.ts'
import { headland } from '../../api/headland.ts'
import { likelyRegion } from '../../api/regions.ts'
import { Button, ButtonLink } from '../../components/controls/button.tsx'
import { Curl } from '../../components/controls/curl.tsx'
import { Form, FormActions, isAllInFields, SelectField, TextField } from '../../components/controls/field.tsx'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { Page } from '../../components/layout/page.tsx'
import type { AccountPageProps } from '../../page-props.ts'
import { appsPath, newEnvironmentPath } from '../../paths.ts'
import { useSession } from '../../session/session.tsx'
import { NotFound } from '../not-found.tsx'

const FIELDS = ['appId', 'region']

export default function NewAppPage(_: AccountPageProps) {
  const { account, canWrite } = useSession()
  const [, go] = useLocation()
  const regions = useRegions()
  const [appId, setAppId] = useState('')
  const [chosen, setRegion] = useState('')
  const apps = useApps(account)
  const region = chosen || likelyRegion(regions, apps)
  const path = `/v1/accounts/${account}/apps?appId=${encodeURIComponent(appId)}`
  const body = { region, uploadable: {} }
  const create = useAction(() => call(path, { method: 'POST', body }), { refreshes: [`accounts/${account}/apps`] })
  const isTaken = create.problem?.reason === 'APP_EXISTS'

  if (!canWrite)
    return <NotFound title="New app" detail="You may look, but not create: ask an owner for another role." />

  async function submit() {
    if (await create.run()) go(newEnvironmentPath(account, appId))
  }

  return (
    <Page title="New app" crumbs={[{ text: 'Apps', href: appsPath(account) }]}>
      <Form label="New app" onSubmit={submit}>
        <TextField
          label="Name"
          name="appId"
          value={appId}
          onChange={(event) => setAppId(event.target.value)}
          problem={create.problem}
          fault={isTaken ? create.problem?.message : undefined}
          hint="1 to 40 letters, digits, hyphens and underscores. It cannot be changed later."
          maxLength={40}
          autoComplete="off"
          autoCapitalize="none"
          required
          mono
        />
        {regions?.length !== 1 && (
          <SelectField
            label="Region"
            name="region"
            value={region}
            onChange={(event) => setRegion(event.target.value)}
            options={(regions ?? []).map(({ name, displayName }) => ({ value: name, text: displayName }))}
            problem={create.problem}
            hint="Where all environments of the app are hosted."
          />
        )}
        {!isTaken && !isAllInFields(create.problem, FIELDS) && <ProblemNote problem={create.problem} />}
        <FormActions>
          <Button kind="primary" type="submit" busy={create.isBusy}>
            Create app
          </Button>
          <ButtonLink href={appsPath(account)}>Cancel</ButtonLink>
        </FormActions>
        <Curl
          command={headland(['apps', 'create', appId || 'my-app'], { account, region: region.replace('regions/', '') })}
          method="POST"
          path={path}
          body={body}
        />
      </Form>
    </Page>
  )
}
