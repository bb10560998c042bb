/** Resource names, and what can be derived from them. */

/** An environment, with its app and account. */
export type Place = { account: string; app: string; environment: string; name: string }

export const placeOf = (account: string, app: string, environment: string): Place => ({
  account,
  app,
  environment,
  name: `accounts/${account}/apps/${app}/environments/${environment}`,
})

/** The last part: `accounts/a/apps/b` is `b`. */
export const idOf = (name: string): string => name.slice(name.lastIndexOf('/') + 1)

/** `accounts/a/apps/b/environments/c` → { account: 'a', app: 'b', environment: 'c' }. */
export function partsOf(name: string): { account: string; app: string; environment: string } {
  const [, account = '', , app = '', , environment = ''] = name.split('/')
  return { account, app, environment }
}

/** When a resource was made: its id is a UUID of version 7, which begins with the time in milliseconds (RFC 9562). */
export function timeOfId(name: string): Date | undefined {
  const hex = idOf(name).replaceAll('-', '')
  return /^[0-9a-f]{12}7[0-9a-f]{19}$/.test(hex) ? new Date(Number.parseInt(hex.slice(0, 12), 16)) : undefined
}

/** Ids are long and begin with a time: their ends differ. */
export const shortId = (name: string): string => idOf(name).slice(-8)

/** As git abbreviates commits. */
export const shortSha = (sha: string): string => sha.slice(0, 7)

/** For the message of an upload, in characters. */
export const MESSAGE_MAX_LENGTH = 300

/** True for the build id that means "nothing was built". */
export const isNoBuild = (build: string): boolean => build.endsWith('/no_build')
