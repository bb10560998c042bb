export { type App, type Apps, createApps, newestAppId } from './apps.ts'
export { type CmsInstalls, createCmsInstalls } from './cms-installs.ts'
export { createDomains, type Domain, type DomainList, type Domains } from './domains.ts'
export type { Environment, EnvironmentChange, EnvironmentHead, RoutableEnvironment } from './environment-rows.ts'
export { createEnvironments, type Environments } from './environments.ts'
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
export { previewName } from './preview-name.ts'
export { allVariables, createPreviewRecords, type PreviewRecord, type PreviewRecords } from './previews.ts'
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
