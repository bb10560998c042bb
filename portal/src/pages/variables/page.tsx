/**
 * The variables of an environment: names and plain values are visible, secrets on demand, and all changes are saved
 * together.
 */
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { useResource } from '../../api/data.ts'
import { at, headland } from '../../api/headland.ts'
import type { Place } from '../../api/names.ts'
import type { Environment } from '../../api/types.ts'
import { Button } from '../../components/controls/button.tsx'
import { Curl } from '../../components/controls/curl.tsx'
import { kindByName } from '../../components/facts/kinds.ts'
import { OperationProgress } from '../../components/facts/operation.tsx'
import { Empty } from '../../components/feedback/empty.tsx'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { SkeletonRows } from '../../components/feedback/skeleton.tsx'
import { useToast } from '../../components/feedback/toasts.tsx'
import { Page } from '../../components/layout/page.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import type { EnvironmentPageProps } from '../../page-props.ts'
import { useSession } from '../../session/session.tsx'
import { AddedRow } from './added-row.tsx'
import { hasChanges, type NOTHING, rowsOf, withAdded, withImported } from './draft.ts'
import { ImportDialog } from './import-dialog.tsx'
import css from './page.module.css'
import { RESERVED } from './reserved.ts'
import { SaveBar } from './save-bar.tsx'
import { useBase } from './use-base.ts'
import { newRowId, useDraft } from './use-draft.ts'
import { useSave } from './use-save.ts'
import { VariableRow } from './variable-row.tsx'

export default function VariablesPage({ place }: EnvironmentPageProps) {
  const { name } = place
  const session = useSession()
  const environment = useResource<Environment>(name)
  const canWrite = session.canWrite && environment.data?.state !== 'DELETING'
  const [isShown, setShown] = useState(false)
  const [isImporting, setImporting] = useState(false)
  const full = useResource<Environment>(name, { query: { view: 'FULL' }, enabled: isShown || isImporting })
  const used = useDraft(name)
  const { draft, change } = used
  const save = useSave(name, used, useBase(name, environment.data, hasChanges(draft)))
  useLeaveWarning(hasChanges(draft))

  const keys = environment.data?.shellVariables.map(({ key }) => key)
  const stored = new Map(environment.data?.shellVariables.map((variable) => [variable.key, variable]))
  const values = new Map(full.data?.shellVariables.map(({ key, value }) => [key, value]))
  const rows = keys && rowsOf(keys, draft)

  const add = () => change((before) => withAdded(before, { id: newRowId(), key: '', value: '' }))
  const addButtons = (
    <>
      <Button icon="upload" small onClick={() => setImporting(true)}>
        Import .env
      </Button>
      <Button icon="plus" small onClick={add}>
        Add a variable
      </Button>
    </>
  )

  return (
    <Page title="Variables">
      <p className={css.intro}>
        Builds and the running app find these in their environment. Saving starts the live build again with them,
        without building. What a framework writes into pages while it builds, such as <code>NEXT_PUBLIC_…</code>,
        changes with the next Rebuild. Secrets are hidden here and in logs; plain values are visible to all users of the
        account.
      </p>
      {!rows && <ProblemNote problem={environment.problem} onRetry={environment.refresh} />}
      {isShown && <ProblemNote problem={full.problem} title="The secrets cannot be shown" />}
      {rows?.length === 0 && <NoVariables place={place} action={canWrite && addButtons} />}
      {(!rows || rows.length > 0) && (
        <Panel
          title="Variables"
          flush
          actions={
            // Before the variables are loaded, a new row could not be shown.
            canWrite &&
            rows && (
              <>
                <Button icon="eye" small aria-pressed={isShown} onClick={() => setShown(!isShown)}>
                  {isShown ? 'Hide secrets' : 'Show secrets'}
                </Button>
                {addButtons}
              </>
            )
          }
        >
          {!rows && <SkeletonRows count={4} height={52} />}
          {rows && (
            <ul className={css.rows} aria-label="Variables">
              {rows.map((row) =>
                row.state === 'added' ? (
                  <AddedRow
                    key={row.id}
                    row={row}
                    change={change}
                    faults={save.faultsOf(row.id)}
                    isBusy={save.isBusy}
                  />
                ) : (
                  <VariableRow
                    // The key changes when the value is saved, which closes an open field.
                    key={`${row.id} ${save.operation?.name ?? ''}`}
                    row={row}
                    stored={stored.get(row.key)?.kind ?? kindByName(row.key)}
                    shown={stored.get(row.key)?.value ?? (isShown ? values.get(row.key) : undefined)}
                    change={canWrite ? change : undefined}
                    faults={save.faultsOf(row.id)}
                    isBusy={save.isBusy}
                  />
                ),
              )}
            </ul>
          )}
        </Panel>
      )}
      {save.operation && <Saved key={save.operation.name} operation={save.operation.name} />}
      {keys && keys.length > 0 && canWrite && <Curl {...patchCall(place, keys)} />}
      <details className={css.reserved}>
        <summary>Variables that every app gets from the service</summary>
        <p>{RESERVED.join(', ')}. Others under these names are refused.</p>
      </details>
      {keys && canWrite && hasChanges(draft) && (
        <SaveBar keys={keys} draft={draft} isLive={environment.data?.state === 'LIVE'} save={save} />
      )}
      {isImporting && (
        <ImportDialog
          current={full.data ? currentOf(values, draft) : undefined}
          problem={full.problem}
          onClose={() => setImporting(false)}
          onImport={(entries) => change((before) => withImported(before, values, entries, newRowId))}
        />
      )}
    </Page>
  )
}

/** The operation of the save. It takes the focus, as the pressed button is gone. */
function Saved({ operation }: { operation: string }) {
  const part = useRef<HTMLDivElement>(null)
  useEffect(() => part.current?.focus(), [])
  return (
    <div ref={part} tabIndex={-1} className={css.saved}>
      <Panel title="Saved">
        <OperationProgress name={operation} />
      </Panel>
    </div>
  )
}

/** The values as they would be saved now. */
function currentOf(values: ReadonlyMap<string, string | undefined>, draft: typeof NOTHING) {
  const current = new Map([...values, ...Object.entries(draft.values)])
  for (const key of draft.removed) current.delete(key)
  for (const { key, value } of draft.added) current.set(key, value)
  return current
}

/** On leaving the page, says that the changes are kept but not saved. */
function useLeaveWarning(hasUnsaved: boolean) {
  const say = useToast()
  const latest = useRef(hasUnsaved)
  latest.current = hasUnsaved
  useEffect(
    () => () => {
      if (latest.current)
        say('Changes of variables are not saved yet. They are kept until you come back.', { tone: 'warn' })
    },
    [say],
  )
}

const patchCall = (place: Place, keys: readonly string[]) => ({
  command: headland(['variables', 'set', 'NAME=value'], at(place)),
  method: 'PATCH' as const,
  path: `/v1/${place.name}?updateMask=shellVariables`,
  body: { shellVariables: [...keys.map((key) => ({ key })), { key: 'NAME', kind: 'SECRET', value: '…' }] },
})

function NoVariables({ place, action }: { place: Place; action: ReactNode }) {
  return (
    <Empty title="No variables yet" action={action} {...(action ? { curl: patchCall(place, []) } : {})}>
      {action
        ? 'Add the addresses and keys that the app needs, one by one or from a .env file. Values are kept sealed.'
        : 'A developer or an owner can add them.'}
    </Empty>
  )
}
