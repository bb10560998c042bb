/** The previews of an app: environments of a branch, with what is done with them. */
import { useState } from 'react'
import { Link } from 'wouter'
import { call } from '../../api/client.ts'
import { useResource } from '../../api/data.ts'
import { environmentState } from '../../api/live/state.ts'
import { partsOf, placeOf, timeOfId } from '../../api/names.ts'
import type { Deployment, Environment } from '../../api/types.ts'
import { Button, ExternalLink } from '../../components/controls/button.tsx'
import { useConfirm } from '../../components/controls/confirm.tsx'
import { StatePill } from '../../components/facts/state-pill.tsx'
import { Time } from '../../components/facts/time.tsx'
import { useToast } from '../../components/feedback/toasts.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import { type Column, Table } from '../../components/layout/table.tsx'
import { environmentPath } from '../../paths.ts'
import css from './previews.module.css'
import { Promote } from './promote.tsx'

type Props = {
  previews: readonly Environment[]
  /** Environments that a preview can be promoted to. */
  targets: readonly Environment[]
  canWrite: boolean
  refresh(): void
}

export function Previews({ previews, targets, canWrite, refresh }: Props) {
  const [promoted, setPromoted] = useState<Environment>()
  const remove = useRemove(refresh)

  const actions = (preview: Environment) => (
    <span className={css.actions}>
      <Button
        small
        aria-label={`Promote ${preview.displayName}`}
        disabled={preview.deployment === '' || targets.length === 0}
        onClick={() => setPromoted(preview)}
      >
        Promote
      </Button>
      <Button small aria-label={`Delete ${preview.displayName}`} onClick={() => remove(preview)}>
        Delete
      </Button>
    </span>
  )
  const columns: Column<Environment>[] = [
    { head: 'Branch', grow: true, cell: (preview) => <Branch preview={preview} /> },
    { head: 'State', cell: (preview) => <StatePill shown={environmentState(preview)} /> },
    { head: 'Deployed', cell: ({ deployment }) => <Deployed at={timeOfId(deployment)} /> },
    { head: 'Expires', cell: ({ preview }) => preview && <Time at={preview.expireTime} /> },
    ...(canWrite ? [{ head: 'Actions', quiet: true, cell: actions }] : []),
  ]
  return (
    <Panel title="Previews" flush>
      <Table label="Previews" columns={columns} items={previews} keyOf={({ name }) => name} />
      {promoted && <Promote preview={promoted} targets={targets} onClose={() => setPromoted(undefined)} />}
    </Panel>
  )
}

const Deployed = ({ at }: { at: Date | undefined }) => (at ? <Time at={at} /> : 'never')

function Branch({ preview: { name, displayName, url, deployment } }: { preview: Environment }) {
  const { account, app, environment } = partsOf(name)
  return (
    <span className={css.stack}>
      <Link href={environmentPath(placeOf(account, app, environment))}>{displayName}</Link>
      {deployment !== '' && <LastCommit deployment={deployment} />}
      {url && <ExternalLink href={url}>{url.replace(/^https?:\/\//, '')}</ExternalLink>}
    </span>
  )
}

/** The commit that is live, where it was sent. */
function LastCommit({ deployment }: { deployment: string }) {
  const { data } = useResource<Deployment>(deployment)
  const sha = data?.commit?.sha.slice(0, 7)
  if (!data?.message && !sha) return null
  return (
    <span className={css.detail}>
      {sha && <code>{sha}</code>} {data?.message}
    </span>
  )
}

function useRemove(refresh: () => void) {
  const confirm = useConfirm()
  const say = useToast()
  return ({ name, displayName }: Environment) =>
    confirm({
      title: `Delete the preview ${displayName}?`,
      stops: [
        'Its address stops answering. What was promoted from it stays. The next deployment of the branch makes it again.',
      ],
      label: 'Delete preview',
      async run() {
        await call(`/v1/${name}`, { method: 'DELETE' })
        refresh()
        say(`${displayName} is being deleted.`)
      },
    })
}
