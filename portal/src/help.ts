/** The documentation that the service itself serves, and which page of it belongs to a page of the portal. */

export const DOCS = '/docs/'

/** By the part of the address that follows the account, the app or the environment; the first that fits is taken. */
export const HELP: readonly (readonly [page: RegExp, help: string])[] = [
  [/\/settings\/webhooks$/, '/docs/guides/webhooks'],
  [/\/settings\/variables$/, '/docs/guides/variables'],
  [/\/settings\/domains$/, '/docs/guides/domains'],
  [/\/triggers$/, '/docs/guides/webhooks'],
  [/\/builds\/[^/]+$/, '/docs/troubleshooting'],
  [/\/environments\/[^/]+(?:\/(?:builds|deployments|logs))?$/, '/docs/guides/deploy'],
  [/\/new-app$|\/new-environment$/, '/docs/guides/deploy'],
  [/^\/[^/]+\/api-access$/, '/docs/guides/api'],
  [/^\/[^/]+\/usage$/, '/docs/reference/limits'],
]

export const helpFor = (location: string): string => HELP.find(([page]) => page.test(location))?.[1] ?? DOCS

/** An address of the documentation, and of nothing else, whatever an answer says. */
export const isHelp = (address: unknown): address is string =>
  typeof address === 'string' && /^\/docs\/[\w#/-]*$/.test(address)
