/**
 * Which of the things that a page shows may be different, once the service says that a resource changed. Things are kept
 * under their resource name, lists under the name of the collection.
 */

const ENVIRONMENT = /^accounts\/[^/]+\/apps\/[^/]+\/environments\/[^/]+/
const APP = /^accounts\/[^/]+\/apps\/[^/]+$/
const MADE_BY_OPERATIONS = /^\/(?:builds|deployments)(?:\/[^/]+)?$/

/** A list over all apps of an account: whatever happens in any of them may change it. */
export const isOverAllApps = (key: string): boolean => /^accounts\/[^/]+\/apps\/-\//.test(key)

/** Whether what is kept under `key` may be different after a change of `name`. */
export function isAffected(key: string, name: string): boolean {
  if (key === name || key === parentOf(name)) return true
  // What was found out about domains is about those that there were.
  if (key === `${name}:check`) return true
  if (isOverAllApps(key)) return name.startsWith(key.slice(0, key.indexOf('-/')))
  const environment = ENVIRONMENT.exec(name)?.[0]
  // An app that is gone takes its environments with it.
  if (environment === undefined) return APP.test(name) && key === `${name}/environments`
  // Whatever happens in an environment may change what is told of it: its state, its deployment, whether it works.
  if (key === environment || key === parentOf(environment)) return true
  // The end of an operation shows in what it made, whether or not that is told of as well.
  const isOperation = name.startsWith(`${environment}/operations/`)
  return isOperation && key.startsWith(`${environment}/`) && MADE_BY_OPERATIONS.test(key.slice(environment.length))
}

const parentOf = (name: string): string | undefined => /^(.+)\/[^/]+$/.exec(name)?.[1]
