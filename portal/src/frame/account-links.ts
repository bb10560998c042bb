/** The pages of an account, as the bar at the top and the user menu link to them. */
import { accountPath, appsPath, newAppPath } from '../paths.ts'

type AccountLink = {
  text: string
  href: string
  /** Pages that belong to it although their address is not below `href`. */
  below?: readonly string[]
}

export const accountLinks = (account: string): AccountLink[] => [
  { text: 'Apps', href: appsPath(account), below: [newAppPath(account)] },
  { text: 'Users', href: accountPath(account, 'users') },
  { text: 'API access', href: accountPath(account, 'api-access') },
  { text: 'Certificates', href: accountPath(account, 'certificates') },
  { text: 'Usage', href: accountPath(account, 'usage') },
]
