/** The environment variables of an app: those of the tenant, and those of the service, which cannot be overridden. */
import {
  allVariables,
  type CmsInstalls,
  type Environment,
  type SealedVariable,
  type Tokens,
  type Variables,
} from '../../apps/index.ts'

export type AppVariables = {
  /** Set by the tenant. */
  own: Record<string, string>
  /** Set by the service. */
  metadata: Record<string, string>
  /** Values that must not appear in a log. */
  secrets: string[]
}

type Parts = {
  variables: Variables
  cmsInstalls: CmsInstalls
  tokens: Pick<Tokens, 'of'>
  /** Where apps call the service. */
  inApp: { appsApi: string; kvStore: string }
}

export function createAppVariables({ variables, cmsInstalls, tokens, inApp }: Parts) {
  return async function appVariables(
    environment: Environment,
    sealed: readonly SealedVariable[],
    buildId: string,
    when: 'build' | 'run',
  ): Promise<AppVariables> {
    const own = variables.open(environment.id, sealed)
    // A variable that became a secret after the deployment was made is masked in its log too.
    const secretsToday = new Set(allVariables(environment).flatMap(({ key, kind }) => (kind === 'SECRET' ? key : [])))
    const secrets = own.filter(({ key, kind }) => kind === 'SECRET' || secretsToday.has(key))
    const [apiToken, kvToken] = [tokens.of(environment.id, 'apps-api'), tokens.of(environment.id, 'kv-store')]
    const cmsUrl = await cmsInstalls.urlOf(environment.accountId, environment.cmsEnvironment)
    return {
      own: Object.fromEntries(own.map(({ key, value }) => [key, value])),
      metadata: {
        HEADLESS_METADATA: 'true',
        // A build has nothing to purge or to keep, and does not reach the service.
        ...(when === 'build'
          ? { HEADLESS_METADATA_BUILD: 'true' }
          : {
              HEADLESS_APPS_API_URL_ADDRESS: inApp.appsApi,
              HEADLESS_APPS_API_TOKEN: apiToken,
              HEADLESS_KV_STORE_URL: inApp.kvStore,
              HEADLESS_KV_STORE_TOKEN: kvToken,
              // Has the hook in the app say what its answers are made of.
              ...(environment.learnedCaching ? { HEADLAND_CONTENT_TAGS: 'on' } : {}),
            }),
        HEADLESS_METADATA_BUILD_ID: buildId,
        HEADLESS_METADATA_ENV_ID: environment.id,
        HEADLESS_METADATA_ENV_BRANCH: environment.branch,
        HEADLESS_CMS_ENVIRONMENT: environment.cmsEnvironment,
        ...(cmsUrl === undefined ? {} : { HEADLESS_CMS_URL: cmsUrl, NEXT_PUBLIC_WORDPRESS_URL: cmsUrl }),
      },
      secrets: [...secrets.map(({ value }) => value), apiToken, kvToken],
    }
  }
}

export type GetAppVariables = ReturnType<typeof createAppVariables>
