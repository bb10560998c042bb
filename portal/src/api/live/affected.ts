/**
 * Which cached resources may be outdated after an event about a changed resource. Resources are cached under their
 * resource name, lists under the name of the collection.
 */

const ENVIRONMENT = /^accounts\/[^/]+\/apps\/[^/]+\/environments\/[^/]+/
const APP = /^accounts\/[^/]+\/apps\/[^/]+$/
const MADE_BY_OPERATIONS = /^\/(?:builds|deployments)(?:\/[^/]+)?$/

const OVER_ALL_APPS = /^(accounts\/[^/]+\/)(?:apps\/-\/|runningOperations$)/

/** A list over all apps of an account: any change in any of them may affect it. */
export const isOverAllApps = (key: string): boolean => OVER_ALL_APPS.test(key)

/** Whether what is cached under `key` may be outdated after a change of `name`. */
export function isAffected(key: string, name: string): boolean {
  if (key === name || key === parentOf(name)) return true
  // Checks of domains are outdated when the list of domains may have changed.
  if (key === `${name}:check`) return true
  const [, account] = OVER_ALL_APPS.exec(key) ?? []
  if (account !== undefined) return name.startsWith(`${account}apps/`)
  const environment = ENVIRONMENT.exec(name)?.[0]
  // A deleted app has no environments.
  if (environment === undefined) return APP.test(name) && key === `${name}/environments`
  // Any change in an environment may affect the environment itself: its state and its deployment.
  if (key === environment || key === parentOf(environment)) return true
  // The end of an operation affects its build and deployment, even if no event names them.
  const isOperation = name.startsWith(`${environment}/operations/`)
  return isOperation && key.startsWith(`${environment}/`) && MADE_BY_OPERATIONS.test(key.slice(environment.length))
}

const parentOf = (name: string): string | undefined => /^(.+)\/[^/]+$/.exec(name)?.[1]
