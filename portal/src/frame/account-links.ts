/** The pages of an account, and that of operators, as the bar at the top and the user menu link to them. */
import { accountPath, appsPath, newAppPath } from '../paths.ts'
import type { Known } from '../session/session.tsx'

type AccountLink = {
  text: string
  href: string
  /** Pages that belong to it although their address is not below `href`. */
  below?: readonly string[]
}

type Session = Pick<Known, 'account' | 'isOperator' | 'canOwn'>

export const accountLinks = ({ account, isOperator, canOwn }: Session): AccountLink[] => [
  { text: 'Apps', href: appsPath(account), below: [newAppPath(account)] },
  { text: 'Users', href: accountPath(account, 'users') },
  { text: 'API access', href: accountPath(account, 'api-access') },
  { text: 'Certificates', href: accountPath(account, 'certificates') },
  { text: 'Notifications', href: accountPath(account, 'notifications') },
  { text: 'Usage', href: accountPath(account, 'usage') },
  ...(canOwn ? [{ text: 'Audit log', href: accountPath(account, 'audit') }] : []),
  ...(isOperator ? [{ text: 'Cluster', href: accountPath(account, 'cluster') }] : []),
]
