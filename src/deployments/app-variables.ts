/** What an app finds in its environment: the caller's variables, and what the service tells it, which cannot be overridden. */
import type { CmsInstalls, Environment, SealedVariable, Variables } from '../apps/index.ts'

export type AppVariables = {
  /** What the tenant has set, and nothing else. */
  own: Record<string, string>
  /** What the service tells. */
  metadata: Record<string, string>
  /** What must not be seen in a log. */
  secrets: string[]
}

type Parts = { variables: Variables; cmsInstalls: CmsInstalls }

export function createAppVariables({ variables, cmsInstalls }: Parts) {
  return async function appVariables(
    environment: Environment,
    sealed: readonly SealedVariable[],
    buildId: string,
    when: 'build' | 'run',
  ): Promise<AppVariables> {
    const own = variables.open(environment.id, sealed)
    const cmsUrl = await cmsInstalls.urlOf(environment.accountId, environment.cmsEnvironment)
    return {
      own: Object.fromEntries(own.map(({ key, value }) => [key, value])),
      metadata: {
        HEADLESS_METADATA: 'true',
        ...(when === 'build' ? { HEADLESS_METADATA_BUILD: 'true' } : {}),
        HEADLESS_METADATA_BUILD_ID: buildId,
        HEADLESS_METADATA_ENV_ID: environment.id,
        HEADLESS_METADATA_ENV_BRANCH: environment.branch,
        HEADLESS_CMS_ENVIRONMENT: environment.cmsEnvironment,
        ...(cmsUrl === undefined ? {} : { HEADLESS_CMS_URL: cmsUrl, NEXT_PUBLIC_WORDPRESS_URL: cmsUrl }),
      },
      secrets: own.map(({ value }) => value),
    }
  }
}

export type GetAppVariables = ReturnType<typeof createAppVariables>
