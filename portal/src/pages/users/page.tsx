/** The users of this account and their roles. */
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import { useList } from '../../api/data.ts'
import type { AddedUser, User } from '../../api/types.ts'
import { Button } from '../../components/controls/button.tsx'
import { useConfirm } from '../../components/controls/confirm.tsx'
import { More } from '../../components/controls/more.tsx'
import { Pill } from '../../components/facts/pill.tsx'
import { Time } from '../../components/facts/time.tsx'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { SkeletonRows } from '../../components/feedback/skeleton.tsx'
import { useToast } from '../../components/feedback/toasts.tsx'
import { Page } from '../../components/layout/page.tsx'
import { Fact, Facts, Panel } from '../../components/layout/panel.tsx'
import { type Column, Table } from '../../components/layout/table.tsx'
import type { AccountPageProps } from '../../page-props.ts'
import { SESSION_KEY, useSession } from '../../session/session.tsx'
import { Kept, ShownOnce } from '../api-access/shown-once.tsx'
import { AddUser } from './add-user.tsx'
import { ChangeRole } from './change-role.tsx'
import css from './page.module.css'
import { roleWord } from './roles.ts'

export default function UsersPage(_: AccountPageProps) {
  const { account, email, canOwn } = useSession()
  const users = useList<User>(`accounts/${account}/users`, 'users')
  const [isAdding, setAdding] = useState(false)
  const [added, setAdded] = useState<AddedUser>()
  const [changing, setChanging] = useState<User>()
  const remove = useRemove(account, email)

  const columns: Column<User>[] = [
    {
      head: 'E-mail',
      grow: true,
      cell: (user) => (
        <span className={css.who}>
          {user.email}
          {user.email === email && <span className={css.you}>you</span>}
          {user.state === 'INVITED' && (
            <Pill tone="idle" icon="clock">
              Invited
            </Pill>
          )}
        </span>
      ),
    },
    { head: 'Role', cell: ({ role }) => roleWord(role) },
    {
      head: 'Added',
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
            cell: (user: User) => (
              <span className={css.actions}>
                <Button small aria-label={`Change the role of ${user.email}`} onClick={() => setChanging(user)}>
                  Change role
                </Button>
                {user.state === 'INVITED' ? (
                  <Button small aria-label={`Withdraw the invitation of ${user.email}`} onClick={() => remove(user)}>
                    Withdraw
                  </Button>
                ) : (
                  <Button small aria-label={`Remove ${user.email}`} onClick={() => remove(user)}>
                    Remove
                  </Button>
                )}
              </span>
            ),
          },
        ]
      : []),
  ]

  return (
    <Page
      title="Users"
      actions={
        canOwn && (
          <Button kind="primary" icon="plus" onClick={() => setAdding(true)}>
            Add user
          </Button>
        )
      }
    >
      {!canOwn && <p className={css.hint}>Owners add users and change their roles.</p>}
      {added && <Added user={added} onDone={() => setAdded(undefined)} />}
      <ProblemNote problem={users.problem} onRetry={users.refresh} />
      {(users.items || !users.problem) && (
        <Panel flush>
          {users.items ? (
            <Table label="Users" columns={columns} items={users.items} keyOf={({ name }) => name} />
          ) : (
            <SkeletonRows count={3} />
          )}
        </Panel>
      )}
      <More of={users}>Show more</More>
      {isAdding && (
        <AddUser
          account={account}
          onClose={() => setAdding(false)}
          onAdded={(user) => {
            setAdding(false)
            setAdded(user)
          }}
        />
      )}
      {changing && (
        <ChangeRole
          account={account}
          user={changing}
          isSelf={changing.email === email}
          onClose={() => setChanging(undefined)}
        />
      )}
    </Page>
  )
}

/** A new user gets a password; a user of another account already has one, and gets an invitation. */
function Added({ user, onDone }: { user: AddedUser; onDone(): void }) {
  if (user.password === undefined) {
    return (
      <ShownOnce key={user.name} title={`${user.email} is invited`} onDone={onDone} done="Close">
        <p>
          They are a user already, with a password of their own. No mail is sent: ask them to log in. They belong to the
          account once they accept.
        </p>
      </ShownOnce>
    )
  }
  return (
    <ShownOnce key={user.name} title={`${user.email} is added`} onDone={onDone}>
      <p>Pass the password on now: it is shown this once. They can change it after they log in.</p>
      <Facts>
        <Fact name="E-mail">
          <Kept text={user.email} what="the e-mail" />
        </Fact>
        <Fact name="Password">
          <Kept text={user.password} what="the password" />
        </Fact>
      </Facts>
    </ShownOnce>
  )
}

function useRemove(account: string, self: string): (user: User) => void {
  const confirm = useConfirm()
  const say = useToast()
  const client = useQueryClient()
  const refresh = (email: string) =>
    client.invalidateQueries({ queryKey: email === self ? SESSION_KEY : [`accounts/${account}/users`] })

  const withdraw = ({ name, email }: User) =>
    confirm({
      title: `Withdraw the invitation of ${email}?`,
      stops: ['They can no longer accept it. You may invite them again.'],
      label: 'Withdraw invitation',
      async run() {
        await call(`/v1/${name}`, { method: 'DELETE' })
        refresh(email)
        say(`The invitation of ${email} is withdrawn.`)
      },
    })

  const remove = ({ name, email }: User) =>
    confirm({
      title: `Remove ${email}?`,
      stops: [
        email === self
          ? 'This is you: you leave the account at once, and only an owner can bring you back.'
          : `They lose access to the account ${account} at once, also where they are logged in now.`,
        'If they belong to no other account, their password is deleted: if they are added again, they get another.',
        'API access that they know of keeps working; revoke it if they should not have it.',
      ],
      label: 'Remove user',
      async run() {
        await call(`/v1/${name}`, { method: 'DELETE' })
        refresh(email)
        say(`${email} is removed.`)
      },
    })

  return (user) => (user.state === 'INVITED' ? withdraw(user) : remove(user))
}
