/** An environment as callers see it. */
import { type Environment, environmentEtag, shownProtection, variableEtag } from '../apps/index.ts'
import { systemClock, toRfc3339 } from '../base/index.ts'
import type { LatestBuild, Pin } from '../builds/index.ts'
import { names, resources } from '../contract/index.ts'
import type { LatestOperation } from '../operations/index.ts'
import type { HeldDeployment } from './records/related.ts'
import type { Retry } from './records/retries.ts'

export type SiteUrl = (hostLabel: string) => string

export type Described = {
  environment: Environment
  accountName: string
  /** Its custom host names. */
  domains: string[]
  isReconciling: boolean
  /** The build of the live deployment. */
  liveBuild: string | undefined
  pin: Pin | undefined
  /** With the values that the caller may see. Without it no values are shown, as in the stored response of an operation. */
  shellVariables?: resources.ShownVariable[]
  /** Only when the environment is read: in the response of an operation it would be that operation. */
  latestOperation?: LatestOperation | undefined
  latestBuild?: LatestBuild | undefined
  held?: HeldDeployment | undefined
  retry?: Retry | undefined
}

export function describeEnvironment(
  {
    environment,
    accountName,
    domains,
    isReconciling,
    liveBuild,
    pin,
    shellVariables,
    latestOperation,
    latestBuild,
    held,
    retry,
  }: Described,
  siteUrl: SiteUrl,
): resources.Environment {
  const at = { account: accountName, app: environment.appName, environment: environment.id }
  return {
    name: names.environmentResource(at),
    displayName: environment.displayName,
    branch: environment.branch,
    cmsEnvironment: environment.cmsEnvironment,
    shellVariables: shellVariables ?? environment.variables.map(({ key, kind }) => ({ key, kind })),
    rootDirectory: environment.rootDirectory,
    suspiciousOutput: environment.suspiciousOutput,
    promotionChecks: {
      ...environment.promotionChecks,
      effectiveMode: resources.effectiveMode(environment.promotionChecks, environment.createTime, systemClock.now()),
    },
    contentSnapshots: environment.contentSnapshots,
    ...environment.scaling,
    production: environment.isProduction,
    protection: shownProtection(environment.protection),
    badge: environment.hasBadge,
    publishPromiseSeconds: environment.publishPromiseSeconds,
    learnedCaching: environment.learnedCaching,
    url: environment.hostLabel ? siteUrl(environment.hostLabel) : '',
    domains,
    build: liveBuild ? names.buildResource(at, liveBuild) : '',
    deployment: environment.liveDeployment ? names.deploymentResource(at, environment.liveDeployment) : '',
    pin: pin ? toPin(at, pin) : null,
    preview: environment.preview ? toPreview(environment, environment.preview) : null,
    state: environment.state,
    reconciling: isReconciling,
    ...(latestOperation ? { latestOperation: toLatestOperation(at, latestOperation) } : {}),
    ...(latestBuild ? { latestBuild: toLatestBuild(at, latestBuild) } : {}),
    ...(held ? { held: toHeld(at, held) } : {}),
    ...(retry ? { retry: toRetry(at, retry) } : {}),
    createTime: toRfc3339(environment.createTime),
    updateTime: toRfc3339(environment.updateTime),
    etag: environmentEtag(environment),
    shellVariableEtags: Object.fromEntries(environment.variables.map((each) => [each.key, variableEtag(each)])),
  }
}

const toPin = (at: names.EnvironmentPath, { archive, deployment, operation, time }: Pin): resources.Pin => ({
  archive: archive.digest,
  deployment: names.deploymentResource(at, deployment),
  ...(operation === null ? {} : { operation: names.operationResource(at, operation) }),
  time: toRfc3339(time),
})

const toPreview = (
  { inherited, variables }: Environment,
  { branch, expireTime }: NonNullable<Environment['preview']>,
): resources.Preview => ({
  branch,
  expireTime: toRfc3339(expireTime),
  inheritedVariables: inherited.map(({ key }) => key).filter((key) => !variables.some((own) => own.key === key)),
})

const toHeld = (
  at: names.EnvironmentPath,
  { id, buildId, message, createTime }: HeldDeployment,
): resources.HeldDeployment => ({
  deployment: names.deploymentResource(at, id),
  build: names.buildResource(at, buildId),
  message,
  createTime: toRfc3339(createTime),
})

const toRetry = (
  at: names.EnvironmentPath,
  { buildId, endpoints, nextTime, untilTime, rebuilds }: Retry,
): resources.Retry => ({
  build: names.buildResource(at, buildId),
  hosts: endpoints.map(({ host, port }) => `${host}:${port}`),
  ...(nextTime === null ? {} : { nextTime: toRfc3339(nextTime) }),
  untilTime: toRfc3339(untilTime),
  rebuilds,
  givenUp: nextTime === null,
})

const toLatestOperation = (
  at: names.EnvironmentPath,
  { id, trigger, phase, done, build, reason, createTime }: LatestOperation,
): resources.LatestOperation => ({
  name: names.operationResource(at, id),
  trigger,
  phase,
  done,
  build: names.buildResource(at, build),
  ...(reason ? { reason } : {}),
  createTime: toRfc3339(createTime),
})

const toLatestBuild = (
  at: names.EnvironmentPath,
  { id, state, phase, trigger, reason, createTime, finishTime }: LatestBuild,
): resources.LatestBuild => ({
  name: names.buildResource(at, id),
  state,
  phase,
  trigger,
  ...(reason ? { reason } : {}),
  createTime: toRfc3339(createTime),
  ...(finishTime === null ? {} : { finishTime: toRfc3339(finishTime) }),
})
