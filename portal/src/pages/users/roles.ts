/** What each role may do, in words. The weakest comes first. */
import type { Role } from '../../api/types.ts'

export const ROLES: readonly { role: Role; word: string; about: string }[] = [
  { role: 'viewer', word: 'Viewer', about: 'Sees everything but the values of secrets. Changes nothing.' },
  { role: 'developer', word: 'Developer', about: 'Also deploys, and changes apps and environments.' },
  { role: 'owner', word: 'Owner', about: 'Also manages access: users and API access.' },
]

export const roleWord = (role: Role): string => ROLES.find((each) => each.role === role)?.word ?? role
