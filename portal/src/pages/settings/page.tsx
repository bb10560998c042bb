/** The general settings of an environment, and its deletion. */
import { useQueryClient } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { useLocation } from 'wouter'
import { call } from '../../api/client.ts'
import { useAction, useResource } from '../../api/data.ts'
import type { Place } from '../../api/names.ts'
import { saveEnvironment } from '../../api/save.ts'
import type { Environment } from '../../api/types.ts'
import { Button } from '../../components/controls/button.tsx'
import { useConfirm } from '../../components/controls/confirm.tsx'
import { Form, FormActions, isAllInFields, TextField } from '../../components/controls/field.tsx'
import { OperationProgress } from '../../components/facts/operation.tsx'
import { MeanwhileNote } from '../../components/feedback/meanwhile.tsx'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { SkeletonRows } from '../../components/feedback/skeleton.tsx'
import { useToast } from '../../components/feedback/toasts.tsx'
import { Page } from '../../components/layout/page.tsx'
import { Fact, Facts, Panel } from '../../components/layout/panel.tsx'
import type { EnvironmentPageProps } from '../../page-props.ts'
import { appPath } from '../../paths.ts'
import { useSession } from '../../session/session.tsx'
import { Badge } from './badge.tsx'
import { ContentSnapshots } from './content-snapshots.tsx'
import { Instances } from './instances.tsx'
import { LearnedCaching } from './learned-caching.tsx'
import { PromotionChecks } from './promotion-checks.tsx'
import { SuspiciousOutput } from './suspicious-output.tsx'
import { Visibility } from './visibility.tsx'

const LABELS = {
  displayName: 'Name',
  branch: 'Git branch',
  cmsEnvironment: 'CMS install',
  rootDirectory: 'Folder of the app',
} as const
type Field = keyof typeof LABELS
const FIELDS = Object.keys(LABELS) as Field[]

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
      {environment && <Visibility environment={environment} canWrite={canWrite} />}
      {environment && <Badge environment={environment} canWrite={canWrite} />}
      {environment && <Instances environment={environment} canWrite={canWrite} />}
      {environment && <LearnedCaching environment={environment} canWrite={canWrite} />}
      {environment && <SuspiciousOutput environment={environment} canWrite={canWrite} />}
      {environment && <PromotionChecks environment={environment} canWrite={canWrite} />}
      {environment && <ContentSnapshots environment={environment} canWrite={canWrite} />}
      {canWrite && environment && environment.state !== 'DELETING' && (
        <Delete place={place} environment={environment} />
      )}
    </Page>
  )
}

const Read = ({ environment }: { environment: Environment }) => (
  <Facts>
    <Fact name="Name">{environment.displayName}</Fact>
    <Fact name="Git branch">{environment.branch === 'uploadable' ? 'none' : environment.branch}</Fact>
    <Fact name="CMS install">{environment.cmsEnvironment}</Fact>
    <Fact name="Folder of the app">{environment.rootDirectory || 'the top of the archive'}</Fact>
  </Facts>
)

function Change({ environment }: { environment: Environment }) {
  const { name } = environment
  const client = useQueryClient()
  const [draft, setDraft] = useState<Partial<Record<Field, string>>>({})
  const [meanwhile, setMeanwhile] = useState<{ before: Environment; now: Environment }>()
  const mine = FIELDS.filter((field) => draft[field] !== undefined && draft[field] !== environment[field])
  // The version that the user sees while editing: after the first edit, changes of other users do not update it.
  const seen = useRef(environment)
  if (mine.length === 0) seen.current = environment

  const save = useAction(
    async (before: Environment) => {
      const body = Object.fromEntries(mine.map((field) => [field, draft[field]]))
      const isUntouched = (now: Environment) => mine.every((field) => now[field] === before[field])
      const saved = await saveEnvironment(name, before.etag, body, isUntouched)
      if ('operation' in saved) await client.refetchQueries({ queryKey: [name], exact: true })
      return saved
    },
    { refreshes: [name, `${name}/operations`] },
  )

  async function submit(before = seen.current) {
    // Another user has saved the same values.
    if (mine.length === 0) return discard()
    const saved = await save.run(before)
    if (!saved) return
    setMeanwhile('now' in saved ? { before, now: saved.now } : undefined)
    if ('operation' in saved) setDraft({})
  }

  function discard() {
    setMeanwhile(undefined)
    setDraft({})
  }

  const input = (field: Field) => ({
    label: LABELS[field],
    name: field,
    value: draft[field] ?? environment[field],
    problem: save.problem,
    autoComplete: 'off',
    onChange: (event: { target: { value: string } }) => setDraft({ ...draft, [field]: event.target.value }),
  })

  return (
    <Form label="Environment" onSubmit={() => submit()}>
      <TextField {...input('displayName')} maxLength={100} required />
      <TextField
        {...input('branch')}
        maxLength={200}
        required
        mono
        autoCapitalize="none"
        hint="Pushes to it are deployed here: main. Write uploadable for none."
      />
      <TextField
        {...input('cmsEnvironment')}
        maxLength={100}
        required
        hint="The app is started again with it, without a build."
      />
      <TextField
        {...input('rootDirectory')}
        mono
        hint="Where it lies in the archive; empty for the top. Counts from the next build on."
      />
      {!isAllInFields(save.problem, FIELDS) && <ProblemNote problem={save.problem} />}
      {meanwhile ? (
        <MeanwhileNote
          changes={changesOf(meanwhile, mine)}
          saveLabel="Save mine on top"
          isBusy={save.isBusy}
          onSave={() => submit(meanwhile.now)}
          onDiscard={discard}
        />
      ) : (
        <FormActions>
          <Button kind="primary" type="submit" busy={save.isBusy} disabled={mine.length === 0}>
            Save
          </Button>
        </FormActions>
      )}
      {save.data && 'operation' in save.data && <OperationProgress name={save.data.operation.name} />}
    </Form>
  )
}

const changesOf = ({ before, now }: { before: Environment; now: Environment }, mine: readonly Field[]) =>
  FIELDS.filter((field) => now[field] !== before[field]).map((field) => ({
    name: LABELS[field],
    words: now[field] === '' ? 'is empty now' : `is now ${now[field]}`,
    isMine: mine.includes(field),
  }))

function Delete({ place, environment }: { place: Place; environment: Environment }) {
  const confirm = useConfirm()
  const say = useToast()
  const [, go] = useLocation()

  const ask = () =>
    confirm({
      title: `Delete ${environment.displayName}?`,
      stops: [
        `Its site stops answering: ${[environment.url, ...environment.domains].join(', ')}.`,
        'Its builds, deployments, variables, domains and webhooks are deleted for good.',
      ],
      word: environment.displayName,
      label: 'Delete environment',
      async run() {
        await call(`/v1/${place.name}`, { method: 'DELETE', ifMatch: environment.etag })
        go(appPath(place.account, place.app))
        say(`${environment.displayName} is being deleted.`)
      },
    })

  return (
    <Panel title="Delete this environment">
      <p>Its site stops at once. This cannot be undone.</p>
      <div>
        <Button kind="danger" onClick={ask}>
          Delete environment
        </Button>
      </div>
    </Panel>
  )
}
