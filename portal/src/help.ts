/** Maps each page of the portal to the page of the documentation, which the service itself serves. */

export const DOCS = '/docs/'

/** By the part of the address that follows the account, the app or the environment; the first that fits is taken. */
export const HELP: readonly (readonly [page: RegExp, help: string])[] = [
  [/\/settings\/webhooks$/, '/docs/guides/webhooks'],
  [/\/settings\/repository$/, '/docs/guides/repositories'],
  [/\/settings\/schedules$/, '/docs/guides/schedules'],
  [/\/settings\/variables$/, '/docs/guides/variables'],
  [/\/settings\/domains$/, '/docs/guides/domains'],
  [/\/triggers$/, '/docs/guides/webhooks'],
  [/\/publishes$/, '/docs/guides/publish-times'],
  [/\/builds\/[^/]+$/, '/docs/troubleshooting'],
  [/\/environments\/[^/]+(?:\/(?:builds|deployments|logs))?$/, '/docs/guides/deploy'],
  [/\/new-app$|\/new-environment$/, '/docs/guides/deploy'],
  [/^\/[^/]+\/api-access$/, '/docs/guides/api'],
  [/^\/[^/]+\/certificates$/, '/docs/guides/https'],
  [/^\/[^/]+\/audit$/, '/docs/guides/audit-log'],
  [/^\/[^/]+\/notifications$/, '/docs/guides/notices'],
  [/^\/[^/]+\/cluster$/, '/docs/operate/cluster'],
  [/^\/[^/]+\/usage$/, '/docs/reference/limits'],
]

export const helpFor = (location: string): string => HELP.find(([page]) => page.test(location))?.[1] ?? DOCS

/** Accepts only addresses of the documentation, so that a link in a response cannot lead elsewhere. */
export const isHelp = (address: unknown): address is string =>
  typeof address === 'string' && /^\/docs\/[\w#/-]*$/.test(address)
