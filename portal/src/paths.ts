/** The addresses of the portal's pages. */
import type { Place } from './api/names.ts'

export const appsPath = (account: string) => `/${account}/apps`
export const newAppPath = (account: string) => `/${account}/new-app`
export const appPath = (account: string, app: string) => `/${account}/apps/${app}`
export const newEnvironmentPath = (account: string, app: string) => `/${account}/apps/${app}/new-environment`
export const accountPath = (account: string, section: AccountSection) => `/${account}/${section}`
type AccountSection = 'users' | 'api-access' | 'certificates' | 'notifications' | 'usage' | 'audit' | 'cluster'
/** No account can have a name of two letters. */
export const mePath = '/me'

/** `section` as in `builds`, or `builds/<id>`; without one, the overview. */
export const environmentPath = ({ account, app, environment }: Place, section = '') =>
  `/${account}/apps/${app}/environments/${environment}${section ? `/${section}` : ''}`
