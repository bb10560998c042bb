/** For a user who belongs to no account: shows their invitations; without one, an owner has to add them. */
import type { Session } from '../api/types.ts'
import { Button } from '../components/controls/button.tsx'
import { Empty } from '../components/feedback/empty.tsx'
import { Page } from '../components/layout/page.tsx'
import { Invitations } from './invitations.tsx'
import css from './no-account.module.css'
import { useLogOut } from './session.tsx'

export function NoAccount({ session: { email, invitations } }: { session: Session }) {
  const logOut = useLogOut()
  const isInvited = invitations.length > 0
  return (
    <main className={css.page}>
      <Invitations invitations={invitations} />
      <Page title="You belong to no account">
        <Empty
          title={isInvited ? 'Accept an invitation to go on.' : 'Ask an owner to add you to one.'}
          action={<Button onClick={() => logOut()}>Log out</Button>}
        >
          You are logged in as {email}.
        </Empty>
      </Page>
    </main>
  )
}
