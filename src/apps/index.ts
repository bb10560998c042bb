export { type App, type Apps, createApps, newestAppId } from './apps.ts'
export { type CmsInstalls, createCmsInstalls } from './cms-installs.ts'
export { createDomains, type Domain, type DomainList, type Domains } from './domains.ts'
export {
  createEnvironments,
  type Environment,
  type EnvironmentChange,
  type EnvironmentHead,
  type Environments,
  type RoutableEnvironment,
} from './environments.ts'
export {
  appEtag,
  domainsEtag,
  environmentEtag,
  etagOf,
  type Preconditions,
  requireEtag,
  variableEtag,
} from './etags.ts'
export { notifyBelow } from './notify-below.ts'
export {
  type CookieKeys,
  checkAddresses,
  checkProtection,
  createCookieKeys,
  NO_PROTECTION,
  type StoredProtection,
  shownProtection,
} from './protection.ts'
export { createTokens, type Tokens, type TokenUse } from './tokens.ts'
export { createVariables, type SealedVariable, type Variables } from './variables.ts'
