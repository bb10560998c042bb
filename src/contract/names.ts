/** Patterns of names, and the path-like resource names that are made of them. */
import { LIMITS } from './limits.ts'
import { string } from './schema.ts'

export const REGIONS = {
  'US-C': 'US Central',
  'AUS-SE': 'Australia Southeast',
  UK: 'United Kingdom',
  'EU-W': 'Europe West',
} as const

/** The build id that means "nothing was built". */
export const NO_BUILD = 'no_build'

const uuid7 = '^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$'

const id = (description: string) =>
  string({
    pattern: uuid7,
    'x-form': 'must be an id as the service gives it, such as 01a1df1b-dc8d-76d9-8c01-a1b0dc8fbb67',
    description,
  })

/** A visible, well-formed line of text: no control character or line separator, no half of a surrogate pair, not blank. */
export const lineOfText = '^(?=.*\\S)[^\\p{Cc}\\p{Cs}\\p{Zl}\\p{Zp}]*$'

export const LINE_OF_TEXT = 'must be one line of text that is not blank'

export const accountName = string({
  pattern: '^[a-z][a-z0-9-]{1,38}[a-z0-9]$',
  'x-form':
    'must have 3 to 40 lower-case letters, digits and hyphens, begin with a letter, and end with a letter or digit',
  description: '3 to 40 lower-case letters, digits and hyphens; starts with a letter, ends with a letter or digit.',
})
export const appName = string({
  pattern: `^[A-Za-z0-9][A-Za-z0-9_-]{0,${LIMITS.appNameLength - 1}}$`,
  'x-form': `must have 1 to ${LIMITS.appNameLength} letters, digits, hyphens and underscores, and begin with a letter or digit`,
  description:
    '1 to 40 letters, digits, hyphens and underscores, starting with a letter or digit; unique in the account whatever the case.',
})
export const environmentId = id('Id of the environment, given by the service.')
export const operationId = id('Id of the operation, given by the service.')
export const buildId = id('Id of the build, given by the service.')
export const deploymentId = id('Id of the deployment, given by the service.')
export const userId = id('Id of the user in this account, given by the service.')
export const invitationId = id('Id of the invitation, given by the service.')
export const credentialId = id('Id of the credential: its userId.')
export const certificateId = id('Id of the certificate, given by the service.')
export const scheduleId = id('Id of the schedule, given by the service.')
export const notificationTargetId = id('Id of the notification target, given by the service.')
export const exampleId = string({
  pattern: '^[a-z][a-z0-9-]{0,39}$',
  'x-form': 'must be the name of an example, such as welcome',
  description: 'Name of the example, such as `welcome`.',
})

export const commitSha = string({
  pattern: '^(?:[0-9a-f]{40}|[0-9a-f]{64})$',
  'x-form': 'must have 40 hexadecimal digits, or 64 of SHA-256',
  description: 'Id of a git commit, whole: 40 hexadecimal digits, or 64 of SHA-256.',
})

/** The rules of `git check-ref-format --branch`. */
export const branchName = string({
  minLength: 1,
  maxLength: LIMITS.branchLength,
  pattern:
    '^(?![-/.]|HEAD$|@$)(?!.*(?:/\\.|\\.\\.|//|@\\{|\\.lock/))(?!.*(?:/|\\.|\\.lock)$)[^\\p{Cc}\\p{Cs}\\p{Zl}\\p{Zp} ~^:?*\\[\\\\]+$',
  'x-form': 'must be `uploadable`, or the name of a git branch, such as main or feature/login',
  description: 'The git branch whose pushes are deployed here; `uploadable` for none.',
})

/** The branch of an environment that no push deploys to. */
export const UPLOADABLE = 'uploadable'

export const displayName = string({
  minLength: 1,
  maxLength: LIMITS.textLength,
  pattern: lineOfText,
  'x-form': LINE_OF_TEXT,
  description: 'One line of text that people read.',
})
export const cmsEnvironmentName = string({
  minLength: 1,
  maxLength: LIMITS.textLength,
  pattern: lineOfText,
  'x-form': LINE_OF_TEXT,
  description: 'Name of the content-management install that the environment connects to.',
})
export const variableKey = string({
  pattern: `^[A-Za-z_][A-Za-z0-9_]{0,${LIMITS.variableKeyLength - 1}}$`,
  'x-form': `must have 1 to ${LIMITS.variableKeyLength} letters, digits and underscores, and must not begin with a digit`,
  description: 'Name of the variable: letters, digits and underscores, not starting with a digit.',
})
export const rootDirectory = string({
  maxLength: LIMITS.rootDirectoryLength,
  pattern: '^(?!/)(?!.*(?:^|/)\\.\\.(?:/|$))[^\\\\\\p{Cc}\\p{Cs}\\p{Zl}\\p{Zp}]*$',
  'x-form': 'must be a folder within the archive, such as apps/web, without a slash at its beginning and without ..',
  description: 'Folder of the archive that holds the app, relative, without `..`; empty for the top.',
})

/** Variables that the service sets for every app. A caller's value would never be used, so it is refused. */
export const RESERVED_VARIABLES: readonly string[] = [
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

/** As short as git abbreviates commits. */
export const shortSha = (sha: string): string => sha.slice(0, 7)

/** The beginning of a digest identifies an archive. */
export const shortDigest = (digest: string): string => digest.replace(/^sha256:/, '').slice(0, 8)

/** Names that differ only in case are the same name. Every name is ASCII, so lower case is enough. */
export const fold = (name: string): string => name.toLowerCase()

export type AppPath = { account: string; app: string }
export type EnvironmentPath = AppPath & { environment: string }

export const exampleResource = (id: string) => `examples/${id}`
export const accountResource = (account: string) => `accounts/${account}`
export const credentialResource = (account: string, id: string) => `accounts/${account}/credentials/${id}`
export const certificateResource = (account: string, id: string) => `accounts/${account}/certificates/${id}`
export const notificationTargetResource = (account: string, id: string) =>
  `accounts/${account}/notificationTargets/${id}`
export const deliveryResource = (account: string, target: string, id: string) =>
  `${notificationTargetResource(account, target)}/deliveries/${id}`
export const userResource = (account: string, id: string) => `accounts/${account}/users/${id}`
export const invitationResource = (id: string) => `session/invitations/${id}`
export const appResource = (at: AppPath) => `accounts/${at.account}/apps/${at.app}`
export const accountUsageResource = (account: string) => `accounts/${account}/usage`
export const environmentResource = (at: EnvironmentPath) => `${appResource(at)}/environments/${at.environment}`
export const environmentUsageResource = (at: EnvironmentPath) => `${environmentResource(at)}/usage`
export const environmentTrafficResource = (at: EnvironmentPath) => `${environmentResource(at)}/traffic`
export const environmentActivityResource = (at: EnvironmentPath) => `${environmentResource(at)}/activity`
export const environmentTrafficPathsResource = (at: EnvironmentPath) => `${environmentResource(at)}/trafficPaths`
export const operationResource = (at: EnvironmentPath, id: string) => `${environmentResource(at)}/operations/${id}`
export const buildResource = (at: EnvironmentPath, id: string) => `${environmentResource(at)}/builds/${id}`
export const deploymentResource = (at: EnvironmentPath, id: string) => `${environmentResource(at)}/deployments/${id}`
export const webhooksResource = (at: EnvironmentPath) => `${environmentResource(at)}/webhooks`
export const auditEventResource = (account: string, id: string) => `accounts/${account}/auditEvents/${id}`
export const repositoryResource = (at: EnvironmentPath) => `${environmentResource(at)}/repository`
export const scheduleResource = (at: EnvironmentPath, id: string) => `${environmentResource(at)}/schedules/${id}`
export const publishResource = (at: EnvironmentPath, id: string) => `${environmentResource(at)}/publishes/${id}`
export const publishTimesResource = (at: EnvironmentPath) => `${environmentResource(at)}/publishTimes`
export const triggerResource = (at: EnvironmentPath, id: string) => `${environmentResource(at)}/triggers/${id}`
