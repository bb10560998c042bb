/** Settings → Webhooks: three URLs that a CMS, a cron job or a person calls, created and deleted together. */
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { Link } from 'wouter'
import { call } from '../../api/client.ts'
import { useAction, useList, useResource } from '../../api/data.ts'
import type { Environment, IssuedWebhookSet, RecordedTrigger, WebhookSet } from '../../api/types.ts'
import { Button } from '../../components/controls/button.tsx'
import { useConfirm } from '../../components/controls/confirm.tsx'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { SkeletonRows } from '../../components/feedback/skeleton.tsx'
import { useToast } from '../../components/feedback/toasts.tsx'
import { Page } from '../../components/layout/page.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import type { EnvironmentPageProps } from '../../page-props.ts'
import { environmentPath } from '../../paths.ts'
import { useSession } from '../../session/session.tsx'
import { whatStops } from './actions.ts'
import { Help } from './help.tsx'
import { Issued } from './issued.tsx'
import { NoWebhooks } from './no-webhooks.tsx'
import css from './page.module.css'
import { QuietPeriod } from './quiet-period.tsx'
import { WebhookTable } from './webhook-table.tsx'

const RECENT = 20

export default function WebhooksPage({ place }: EnvironmentPageProps) {
  const session = useSession()
  const name = `${place.name}/webhooks`
  const { data: environment } = useResource<Environment>(place.name)
  const canWrite = session.canWrite && environment?.state !== 'DELETING'
  const { data, problem, refresh } = useResource<WebhookSet>(name)
  const isNone = problem?.reason === 'WEBHOOKS_NOT_FOUND'
  const set = isNone ? undefined : data
  const triggers = useRecentTriggers(place.name, refresh)
  const { issued, issue, forget } = useIssued(name, set)
  const create = useAction(() => call<IssuedWebhookSet>(`/v1/${name}`, { method: 'POST' }), { refreshes: [name] })
  const replace = useReplace(name, issue, refresh)

  return (
    <Page title="Webhooks">
      {!set && !isNone && <ProblemNote problem={problem} onRetry={refresh} />}
      {issued && <Issued key={issued.regenerateTime} set={issued} onDone={forget} />}
      {isNone && (
        <NoWebhooks
          place={place}
          canWrite={canWrite}
          isBusy={create.isBusy}
          onCreate={async () => issue(await create.run())}
        />
      )}
      <ProblemNote problem={create.problem} />
      {!isNone && (
        <Panel
          title="Webhooks"
          flush
          actions={
            canWrite &&
            set && (
              <>
                <Button small onClick={() => replace.regenerate(set, triggers)}>
                  Regenerate all
                </Button>
                <Button small kind="danger" onClick={() => replace.remove(set, triggers)}>
                  Delete all
                </Button>
              </>
            )
          }
        >
          {set ? <WebhookTable set={set} /> : <SkeletonRows count={3} height={64} />}
        </Panel>
      )}
      {set && (
        <>
          <p className={css.quiet}>
            Every call is in the ledger of <Link href={environmentPath(place, 'triggers')}>triggers</Link>. A URL that
            is lost or known to others is replaced by new ones: Regenerate all.
          </p>
          <QuietPeriod key={`${set.quietSeconds} ${set.maxQuietSeconds}`} set={set} canWrite={canWrite} />
          <Help place={place} />
        </>
      )}
    </Page>
  )
}

/** The URLs that were just created: kept on this page only, until they are replaced or deleted. */
function useIssued(name: string, set: WebhookSet | undefined) {
  const client = useQueryClient()
  const [issued, setIssued] = useState<IssuedWebhookSet>()
  const isRight = issued && set && Date.parse(issued.regenerateTime) >= Date.parse(set.regenerateTime)
  return {
    issued: isRight ? issued : undefined,
    forget: () => setIssued(undefined),
    issue(next: IssuedWebhookSet | undefined) {
      if (!next) return
      setIssued(next)
      const webhooks = next.webhooks.map(({ action }) => ({ action }))
      client.setQueryData<WebhookSet>([name], { ...next, webhooks })
    },
  }
}

/** Regenerates or deletes the URLs, after a warning about what stops working. */
function useReplace(name: string, onIssued: (set: IssuedWebhookSet) => void, onRemoved: () => void) {
  const confirm = useConfirm()
  const say = useToast()
  return {
    regenerate: ({ webhooks }: WebhookSet, triggers: readonly RecordedTrigger[]) =>
      confirm({
        title: 'Regenerate all webhooks?',
        children: 'All three get new URLs, which have to be given to whatever calls them.',
        stops: [
          'The current URLs stop working at once: calls to them are answered with 401.',
          ...whatStops(webhooks, triggers, Date.now()),
        ],
        label: 'Regenerate all',
        async run() {
          onIssued(await call<IssuedWebhookSet>(`/v1/${name}:regenerate`, { method: 'POST' }))
          say('The webhooks have new URLs.')
        },
      }),
    remove: ({ webhooks }: WebhookSet, triggers: readonly RecordedTrigger[]) =>
      confirm({
        title: 'Delete all webhooks?',
        children: 'They can be created again, with other URLs.',
        stops: [
          'Their URLs stop working at once: calls are answered with 401, and what is published no longer reaches the site.',
          ...whatStops(webhooks, triggers, Date.now()),
        ],
        label: 'Delete all',
        async run() {
          await call(`/v1/${name}`, { method: 'DELETE' })
          onRemoved()
          say('The webhooks are deleted.')
        },
      }),
  }
}

/** The newest entries of the ledger. The webhook set contains the times of last use, so each new call refetches it. */
function useRecentTriggers(environment: string, refreshSet: () => void): readonly RecordedTrigger[] {
  const { items = [] } = useList<RecordedTrigger>(`${environment}/triggers`, 'triggers', { pageSize: RECENT })
  const newest = items[0]?.name
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs again with each new call
  useEffect(() => {
    if (newest !== undefined) refreshSet()
  }, [newest])
  return items
}
