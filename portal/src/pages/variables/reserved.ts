/**
 * The variables that the service itself sets for every app; it refuses others with these names. A copy, as no code of
 * the service is built into the portal; a test compares it with the contract.
 */
export const RESERVED: readonly string[] = [
  'PORT',
  'HOST',
  'NODE_ENV',
  'PWD',
  'OLDPWD',
  'SHLVL',
  'HEADLESS_METADATA',
  'HEADLESS_METADATA_BUILD',
  'HEADLESS_METADATA_BUILD_ID',
  'HEADLESS_METADATA_ENV_ID',
  'HEADLESS_METADATA_ENV_BRANCH',
  'HEADLESS_APPS_API_URL_ADDRESS',
  'HEADLESS_APPS_API_TOKEN',
  'HEADLESS_KV_STORE_URL',
  'HEADLESS_KV_STORE_TOKEN',
  'HEADLESS_CMS_ENVIRONMENT',
]

export const isReserved = (key: string): boolean => RESERVED.includes(key)
