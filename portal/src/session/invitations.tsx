/** Invitations of the user who is logged in. An account is hidden from a user until they accept. */
import { useQueryClient } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import { useAction } from '../api/data.ts'
import { idOf } from '../api/names.ts'
import { SESSION_KEY } from '../api/session-key.ts'
import type { Invitation, Session } from '../api/types.ts'
import { Button } from '../components/controls/button.tsx'
import { Time } from '../components/facts/time.tsx'
import { ProblemNote } from '../components/feedback/problem-note.tsx'
import { useToast } from '../components/feedback/toasts.tsx'
import { Icon } from '../components/layout/icon.tsx'
import css from './invitations.module.css'

export function Invitations({ invitations }: { invitations: readonly Invitation[] }) {
  if (invitations.length === 0) return null
  return (
    <section className={css.list} aria-label="Invitations">
      {invitations.map((invitation) => (
        <Asked key={invitation.name} invitation={invitation} />
      ))}
    </section>
  )
}

const AS_ROLE = { viewer: 'a viewer', developer: 'a developer', owner: 'an owner' } as const

function Asked({ invitation }: { invitation: Invitation }) {
  const { name, role, inviter, createTime } = invitation
  const account = idOf(invitation.account)
  const client = useQueryClient()
  const say = useToast()
  const answer = useAction((verb: 'accept' | 'decline') => call<Session>(`/v1/${name}:${verb}`, { method: 'POST' }), {
    // If the invitation was withdrawn meanwhile, this removes it from the page.
    refreshes: [...SESSION_KEY],
  })

  async function give(verb: 'accept' | 'decline') {
    const session = await answer.run(verb)
    if (!session) return
    say(verb === 'accept' ? `You belong to ${account} now.` : `You declined the invitation of ${account}.`)
    client.setQueryData(SESSION_KEY, session)
  }

  return (
    <div className={css.note}>
      <Icon name="plus" className={css.sign} />
      <div className={css.words}>
        <p>
          The account <strong>{account}</strong> invites you to join as {AS_ROLE[role]}.
        </p>
        <p className={css.detail}>
          {inviter ? `${inviter} asked` : 'Asked'} <Time at={createTime} />. Accept only if you know the account: your
          command line can deploy to every account that you belong to.
        </p>
        <ProblemNote problem={answer.problem} />
      </div>
      <div className={css.buttons}>
        <Button aria-label={`Decline the invitation of ${account}`} onClick={() => give('decline')}>
          Decline
        </Button>
        <Button busy={answer.isBusy} aria-label={`Accept the invitation of ${account}`} onClick={() => give('accept')}>
          Accept
        </Button>
      </div>
    </div>
  )
}
