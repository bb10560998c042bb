/** The user who is logged in: their accounts, password and sessions. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { idOf } from '../../api/names.ts'
import { type Problem, problemOf } from '../../api/problem.ts'
import { Button } from '../../components/controls/button.tsx'
import { useConfirm } from '../../components/controls/confirm.tsx'
import { Time } from '../../components/facts/time.tsx'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { Page } from '../../components/layout/page.tsx'
import { Fact, Facts, Panel } from '../../components/layout/panel.tsx'
import type { AccountPageProps } from '../../page-props.ts'
import { appsPath } from '../../paths.ts'
import { fetchSession, SESSION_KEY, useLogOut, useSession } from '../../session/session.tsx'
import { roleWord } from '../users/roles.ts'
import { ChangePassword } from './change-password.tsx'
import css from './page.module.css'

export default function MePage(_: AccountPageProps) {
  const { email } = useSession()
  // Always cached: this page is shown only to users who are logged in.
  const { data: session } = useQuery({ queryKey: SESSION_KEY, queryFn: fetchSession, staleTime: 60_000 })
  return (
    <Page title="Your password and sessions">
      <Panel title="You">
        <Facts>
          <Fact name="E-mail">{email}</Fact>
          <Fact name="Accounts">
            <ul className={css.accounts}>
              {session?.accounts.map(({ name, role }) => (
                <li key={name}>
                  <Link href={appsPath(idOf(name))}>{idOf(name)}</Link>, {roleWord(role).toLowerCase()}
                </li>
              ))}
            </ul>
          </Fact>
          {session && (
            <Fact name="This session">
              ends by itself <Time at={session.expireTime} />
            </Fact>
          )}
        </Facts>
      </Panel>
      <Panel title="Change the password">
        <ChangePassword email={email} />
      </Panel>
      <LogOut />
    </Page>
  )
}

function LogOut() {
  const logOut = useLogOut()
  const confirm = useConfirm()
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState<Problem>()

  async function here() {
    setBusy(true)
    await logOut().catch((error) => {
      setProblem(problemOf(error))
      setBusy(false)
    })
  }

  const everywhere = () =>
    confirm({
      title: 'Log out everywhere?',
      stops: [
        'All your sessions end at once, in every browser, this one included.',
        'API access keeps working: it has passwords of its own.',
      ],
      label: 'Log out everywhere',
      run: () => logOut(true),
    })

  return (
    <Panel title="Log out">
      <p>Lost a device, or used one that is not yours? End your sessions everywhere, then change the password.</p>
      <ProblemNote problem={problem} />
      <div className={css.buttons}>
        <Button busy={isBusy} onClick={here}>
          Log out
        </Button>
        <Button kind="danger" onClick={everywhere}>
          Log out everywhere
        </Button>
      </div>
    </Panel>
  )
}
