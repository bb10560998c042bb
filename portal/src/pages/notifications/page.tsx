/** Where the account is told of failed builds, crash loops and the like. */
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import { useAction, useList } from '../../api/data.ts'
import type { IssuedNotificationTarget, NotificationDelivery, NotificationTarget } from '../../api/types.ts'
import { Button } from '../../components/controls/button.tsx'
import { useConfirm } from '../../components/controls/confirm.tsx'
import { More } from '../../components/controls/more.tsx'
import { Pill } from '../../components/facts/pill.tsx'
import { Empty } from '../../components/feedback/empty.tsx'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { SkeletonRows } from '../../components/feedback/skeleton.tsx'
import { useToast } from '../../components/feedback/toasts.tsx'
import { Page } from '../../components/layout/page.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import { type Column, Table } from '../../components/layout/table.tsx'
import type { AccountPageProps } from '../../page-props.ts'
import { useSession } from '../../session/session.tsx'
import { Kept, ShownOnce } from '../api-access/shown-once.tsx'
import { Deliveries, LastDelivery } from './deliveries.tsx'
import css from './page.module.css'
import { TargetForm } from './target-form.tsx'
import { aboutWords, deliveryWords, placeWords } from './words.ts'

export default function NotificationsPage(_: AccountPageProps) {
  const { account, canWrite, canOwn } = useSession()
  const path = `accounts/${account}/notificationTargets`
  const targets = useList<NotificationTarget>(path, 'notificationTargets')
  const [editing, setEditing] = useState<NotificationTarget | 'new'>()
  const [issued, setIssued] = useState<IssuedNotificationTarget>()
  const [chosen, setChosen] = useState('')
  const { test, enable, regenerate, remove } = useChanges(path, setIssued)
  const { items, problem } = targets
  const shown = items?.find(({ name }) => name === chosen) ?? items?.[0]

  const actions = (target: NotificationTarget) => {
    const { displayName, enabled, kind, name } = target
    const runTest = () => {
      setChosen(name)
      test.run(target)
    }
    return (
      <span className={css.actions}>
        {canWrite && (
          <Button small aria-label={`Send a test to ${displayName}`} busy={test.isBusy} onClick={runTest}>
            Send a test
          </Button>
        )}
        <Button small aria-label={`Show what was sent to ${displayName}`} onClick={() => setChosen(name)}>
          Log
        </Button>
        {canOwn && (
          <>
            <Button small aria-label={`Change ${displayName}`} onClick={() => setEditing(target)}>
              Change
            </Button>
            <Button
              small
              aria-label={`Switch ${displayName} ${enabled ? 'off' : 'on'}`}
              busy={enable.isBusy}
              onClick={() => enable.run(target)}
            >
              {enabled ? 'Switch off' : 'Switch on'}
            </Button>
            {kind === 'WEBHOOK' && (
              <Button small aria-label={`New key for ${displayName}`} onClick={() => regenerate(target)}>
                New key
              </Button>
            )}
            <Button small aria-label={`Delete ${displayName}`} onClick={() => remove(target)}>
              Delete
            </Button>
          </>
        )}
      </span>
    )
  }
  const columns: Column<NotificationTarget>[] = [
    { head: 'To', cell: (target) => <Target target={target} /> },
    { head: 'About', grow: true, cell: (target) => <About target={target} /> },
    { head: 'Last', cell: (target) => <State target={target} /> },
    { head: 'Actions', quiet: true, cell: actions },
  ]
  const make = (
    <Button kind="primary" icon="plus" onClick={() => setEditing('new')}>
      New target
    </Button>
  )

  return (
    <Page title="Notifications" actions={canOwn && items?.length !== 0 && make}>
      <p className={css.hint}>
        Messages to a chat, a mailbox or a server of yours when a build fails, an app crashes or a limit is near.{' '}
        <a href="/docs/guides/notices">Guide</a>
      </p>
      {issued?.secret && <Secret target={issued} secret={issued.secret} onDone={() => setIssued(undefined)} />}
      <ProblemNote problem={test.problem ?? enable.problem} />
      <ProblemNote problem={problem} onRetry={targets.refresh} />
      {items?.length === 0 && (
        <Empty title="No targets yet" action={canOwn && make}>
          Builds that a CMS or a schedule asked for fail when none of you looks. A target tells the team.
          {canOwn ? '' : ' Owners of the account make them.'}
        </Empty>
      )}
      {(items ? items.length > 0 : !problem) && (
        <Panel flush>
          {items ? (
            <Table label="Notification targets" columns={columns} items={items} keyOf={({ name }) => name} />
          ) : (
            <SkeletonRows count={3} />
          )}
        </Panel>
      )}
      <More of={targets}>Show more</More>
      {shown && <Deliveries key={shown.name} target={shown} />}
      {editing && (
        <TargetForm
          path={path}
          {...(editing === 'new' ? {} : { target: editing })}
          onClose={() => setEditing(undefined)}
          onSaved={(target) => {
            setEditing(undefined)
            setChosen(target.name)
            if (target.secret) setIssued(target)
          }}
        />
      )}
    </Page>
  )
}

function Target({ target }: { target: NotificationTarget }) {
  return (
    <span className={css.stack}>
      <span className={css.name}>{target.displayName}</span>
      <span className={css.detail}>{placeWords(target)}</span>
    </span>
  )
}

function About({ target: { noticeKinds, apps } }: { target: NotificationTarget }) {
  return (
    <span className={css.stack}>
      <span>{aboutWords(noticeKinds)}</span>
      {apps.length > 0 && <span className={css.detail}>of {apps.join(', ')}</span>}
    </span>
  )
}

function State({ target }: { target: NotificationTarget }) {
  if (target.enabled) return <LastDelivery target={target} />
  return (
    <span className={css.stack}>
      <Pill tone="idle">Off</Pill>
      {target.disabledReason === 'GONE' && <span className={css.detail}>It answered that it is gone</span>}
    </span>
  )
}

type SecretProps = { target: IssuedNotificationTarget; secret: string; onDone(): void }

function Secret({ target, secret, onDone }: SecretProps) {
  return (
    <ShownOnce key={secret} title={`The key of ${target.displayName}`} onDone={onDone}>
      <p>Your server checks the signature of each call with it. Keep it now: it is shown this once.</p>
      <Kept text={secret} what="the key" />
    </ShownOnce>
  )
}

function useChanges(path: string, onIssued: (target: IssuedNotificationTarget) => void) {
  const client = useQueryClient()
  const refresh = () => client.invalidateQueries({ queryKey: [path] })
  const say = useToast()
  const confirm = useConfirm()
  const test = useAction(
    async ({ name, displayName }: NotificationTarget) => {
      const sent = await call<NotificationDelivery>(`/v1/${name}:test`, { method: 'POST' })
      client.invalidateQueries({ queryKey: [`${name}/deliveries`] })
      const { word, why } = deliveryWords(sent)
      if (sent.state === 'DELIVERED') say(`The test arrived at ${displayName}.`)
      else say(`The test did not arrive. ${why || word}`, { tone: 'bad' })
    },
    { refreshes: [path] },
  )
  const enable = useAction(
    async ({ name, displayName, enabled }: NotificationTarget) => {
      await call(`/v1/${name}`, { method: 'PATCH', body: { enabled: !enabled } })
      say(enabled ? `Nothing is sent to ${displayName} any more.` : `${displayName} is told again.`)
    },
    { refreshes: [path] },
  )
  const regenerate = ({ name, displayName }: NotificationTarget) =>
    confirm({
      title: `Make a new key for ${displayName}?`,
      children: 'Calls are signed with the new key and, for a day, with the present one too. Give it to your server.',
      stops: ['In a day, a server that knows only the present key refuses the calls.'],
      label: 'Make a new key',
      async run() {
        onIssued(await call<IssuedNotificationTarget>(`/v1/${name}:regenerateSecret`, { method: 'POST' }))
        await refresh()
      },
    })
  const remove = ({ name, displayName }: NotificationTarget) =>
    confirm({
      title: `Delete ${displayName}?`,
      stops: ['Nothing is sent to it any more, and the log of what was sent is deleted.'],
      label: 'Delete target',
      async run() {
        await call(`/v1/${name}`, { method: 'DELETE' })
        await refresh()
        say(`${displayName} is deleted.`)
      },
    })
  return { test, enable, regenerate, remove }
}
