/** Programs that call the API: each has a user id and a password of its own. */
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import { curlOf, quoted } from '../../api/curl.ts'
import { useList } from '../../api/data.ts'
import { headland } from '../../api/headland.ts'
import type { Credential, IssuedCredential } from '../../api/types.ts'
import { Button } from '../../components/controls/button.tsx'
import { useConfirm } from '../../components/controls/confirm.tsx'
import { CopyText } from '../../components/controls/copy.tsx'
import { More } from '../../components/controls/more.tsx'
import { Time } from '../../components/facts/time.tsx'
import { Empty } from '../../components/feedback/empty.tsx'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { SkeletonRows } from '../../components/feedback/skeleton.tsx'
import { useToast } from '../../components/feedback/toasts.tsx'
import { Page } from '../../components/layout/page.tsx'
import { Fact, Facts, Panel } from '../../components/layout/panel.tsx'
import { type Column, Table } from '../../components/layout/table.tsx'
import type { AccountPageProps } from '../../page-props.ts'
import { useSession } from '../../session/session.tsx'
import { roleWord } from '../users/roles.ts'
import { Generate } from './generate.tsx'
import css from './page.module.css'
import { Kept, ShownOnce } from './shown-once.tsx'

export default function ApiAccessPage(_: AccountPageProps) {
  const { account, canOwn } = useSession()
  const credentials = useList<Credential>(`accounts/${account}/credentials`, 'credentials')
  const [isGenerating, setGenerating] = useState(false)
  const [issued, setIssued] = useState<IssuedCredential>()
  const revoke = useRevoke(account)
  const { items, problem } = credentials

  const columns: Column<Credential>[] = [
    { head: 'Name', grow: true, cell: ({ displayName }) => <span className={css.name}>{displayName}</span> },
    { head: 'User id', cell: ({ userId }) => <CopyText text={userId} what="the user id" /> },
    { head: 'Role', cell: ({ role }) => roleWord(role) },
    {
      head: 'Created',
      cell: ({ createTime }) => (
        <span className={css.when}>
          <Time at={createTime} />
        </span>
      ),
    },
    ...(canOwn
      ? [
          {
            head: 'Actions',
            quiet: true,
            cell: (credential: Credential) => (
              <Button small aria-label={`Revoke ${credential.displayName}`} onClick={() => revoke(credential)}>
                Revoke
              </Button>
            ),
          },
        ]
      : []),
  ]

  const generate = (
    <Button kind="primary" icon="plus" onClick={() => setGenerating(true)}>
      Generate API access
    </Button>
  )

  return (
    <Page title="API access" actions={canOwn && items?.length !== 0 && generate}>
      <p className={css.hint}>
        For programs, such as a CI job. {canOwn ? '' : 'Owners generate and revoke it. '}
        <a href="/docs">API reference</a>, <a href="/docs/guides/api">guide</a>
      </p>
      {issued && <Issued credential={issued} account={account} onDone={() => setIssued(undefined)} />}
      <ProblemNote problem={problem} onRetry={credentials.refresh} />
      {items?.length === 0 && (
        <Empty title="No API access yet" action={canOwn && generate}>
          {canOwn
            ? 'Generate a user id and a password for each program that calls the API, so that each can be revoked alone. '
            : 'An owner can generate a user id and a password for a program. '}
          On the machine itself, <code>headland credentials create --account {account}</code> does the same.
        </Empty>
      )}
      {(items ? items.length > 0 : !problem) && (
        <Panel flush>
          {items ? (
            <Table label="API access" columns={columns} items={items} keyOf={({ name }) => name} />
          ) : (
            <SkeletonRows count={3} />
          )}
        </Panel>
      )}
      <More of={credentials}>Show more</More>
      {isGenerating && (
        <Generate
          account={account}
          onClose={() => setGenerating(false)}
          onIssued={(credential) => {
            setGenerating(false)
            setIssued(credential)
          }}
        />
      )}
    </Page>
  )
}

function Issued({ credential, account, onDone }: { credential: IssuedCredential; account: string; onDone(): void }) {
  const { displayName, userId, password } = credential
  const lines = [`export HEADLAND_API_USER=${quoted(userId)}`, `export HEADLAND_API_PASSWORD=${quoted(password)}`]
  return (
    <ShownOnce key={userId} title={`API access for ${displayName}`} onDone={onDone}>
      <p>Keep the password now: it is shown this once.</p>
      <Facts>
        <Fact name="User id">
          <Kept text={userId} what="the user id" />
        </Fact>
        <Fact name="Password">
          <Kept text={password} what="the password" />
        </Fact>
        <Fact name="For a terminal">
          <Kept text={lines.join('\n')} what="the lines for a terminal" />
        </Fact>
        <Fact name="A first command">
          <Kept text={headland(['apps'], { account, url: location.origin })} what="a first command" />
        </Fact>
        <Fact name="A first call">
          <Kept text={curlOf({ path: `/v1/accounts/${account}/apps` }, location.origin)} what="a first call" />
        </Fact>
      </Facts>
    </ShownOnce>
  )
}

function useRevoke(account: string): (credential: Credential) => void {
  const confirm = useConfirm()
  const say = useToast()
  const client = useQueryClient()
  return ({ name, displayName, userId }) =>
    confirm({
      title: `Revoke ${displayName}?`,
      stops: [
        `Whatever calls the API with the user id ${userId}, such as a CI job, is answered with 401 from now on.`,
        'Its password cannot be brought back.',
      ],
      label: 'Revoke',
      async run() {
        await call(`/v1/${name}`, { method: 'DELETE' })
        client.invalidateQueries({ queryKey: [`accounts/${account}/credentials`] })
        say(`${displayName} is revoked.`)
      },
    })
}
