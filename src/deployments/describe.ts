/** An environment as callers see it. */
import { type Environment, environmentEtag, variableEtag } from '../apps/index.ts'
import { toRfc3339 } from '../base/index.ts'
import { names, type resources } from '../contract/index.ts'

export type SiteUrl = (hostLabel: string) => string

export type Described = {
  environment: Environment
  accountName: string
  /** Its custom host names. */
  domains: string[]
  isReconciling: boolean
  /** The build of the live deployment. */
  liveBuild: string | undefined
  /** With the values that the caller may see. Without it there are none, as in what is kept with an operation. */
  shellVariables?: resources.ShownVariable[]
}

export function describeEnvironment(
  { environment, accountName, domains, isReconciling, liveBuild, shellVariables }: Described,
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
    url: environment.hostLabel ? siteUrl(environment.hostLabel) : '',
    domains,
    build: liveBuild ? names.buildResource(at, liveBuild) : '',
    deployment: environment.liveDeployment ? names.deploymentResource(at, environment.liveDeployment) : '',
    state: environment.state,
    reconciling: isReconciling,
    createTime: toRfc3339(environment.createTime),
    updateTime: toRfc3339(environment.updateTime),
    etag: environmentEtag(environment),
    shellVariableEtags: Object.fromEntries(environment.variables.map((each) => [each.key, variableEtag(each)])),
  }
}
