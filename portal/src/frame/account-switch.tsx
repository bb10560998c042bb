/** The current account; a select field for users of several. */
import { useLocation } from 'wouter'
import { appsPath } from '../paths.ts'
import { useSession } from '../session/session.tsx'
import css from './account-switch.module.css'

export function AccountSwitch() {
  const { account, accounts } = useSession()
  const [, go] = useLocation()
  if (accounts.length < 2) return <span className={css.single}>{account}</span>
  return (
    <select
      className={css.choice}
      aria-label="Account"
      value={account}
      onChange={(event) => go(appsPath(event.target.value))}
    >
      {accounts.map((each) => (
        <option key={each}>{each}</option>
      ))}
    </select>
  )
}
