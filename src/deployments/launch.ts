/** Bringing a deployment up, so that it could take visitors. Files need nothing; a server is started and must answer. */
import { join } from 'node:path'
import type { Environment, Environments } from '../apps/index.ts'
import type { Changes } from '../base/index.ts'
import {
  type Build,
  type Builds,
  binariesOf,
  checkPlan,
  type Outputs,
  type PackageStore,
  type Toolchains,
} from '../builds/index.ts'
import type { Limits } from '../engines/index.ts'
import type { InstanceSpec, Supervisor } from '../runtime/index.ts'
import type { LineLog, LineLogs, Sql } from '../storage/index.ts'
import type { GetAppVariables } from './app-variables.ts'
import type { Deployment, Deployments } from './deployments.ts'
import type { Folders } from './folders.ts'
import { readMadeOf } from './made-of.ts'

export const runtimeLogName = (environmentId: string): string => `runtime/${environmentId}`

/** Of an app's log: the older half goes where it is full. */
export const RUNTIME_LOG = { whenFull: 'rotate', bytesMost: 8 * 1024 * 1024 } as const

type Parts = {
  sql: Sql
  builds: Builds
  environments: Environments
  deployments: Deployments
  outputs: Outputs
  packages: PackageStore
  supervisor: Supervisor
  toolchains: Toolchains
  folders: Folders
  logs: LineLogs
  appVariables: GetAppVariables
  appLimits: Limits
  changes: Pick<Changes, 'tell'>
  domain: string
}

export function createLauncher(parts: Parts) {
  const { sql, builds, environments, deployments, outputs, packages, supervisor, toolchains, folders, logs } = parts

  async function specOf(
    environment: Environment,
    deployment: Deployment,
    build: Build,
  ): Promise<InstanceSpec | undefined> {
    const { plan } = build
    if (!build.output || plan?.output.kind !== 'server') return undefined
    checkPlan(plan)
    const { own, metadata, secrets } = await parts.appVariables(environment, deployment.variables, build.id, 'run')
    const { folder, start, writable } = plan.output
    const isWhole = folder === '.'
    const name = `apps/${environment.appName}/environments/${environment.id}/deployments/${deployment.id}`
    const packagesFolder = isWhole && build.packagesId ? packages.folderOf(build.packagesId) : undefined
    return {
      deployment: deployment.id,
      build: build.id,
      owner: { account: environment.accountId, environment: environment.id },
      layers: await outputs.layersOf(build.output, packagesFolder),
      runFolder: folders.run(environment.id, deployment.id),
      argv: start.argv,
      cwd: isWhole ? plan.rootDirectory : '',
      writable: isWhole ? writable.map((path) => join(plan.rootDirectory, path)) : writable,
      variables: { ...plan.output.environment, ...own, ...metadata },
      binaries: isWhole ? binariesOf(plan) : [],
      user: folders.userOf(environment),
      hostHeader: `${environment.hostLabel}.${parts.domain}`,
      openToolchain: () => toolchains.open(build.tools ?? toolchains.own(), { mayStandIn: true }),
      limits: parts.appLimits,
      onState: () => parts.changes.tell(environment.accountId, name),
      log: await logs.create(runtimeLogName(environment.id), { secrets, ...RUNTIME_LOG }),
    }
  }

  return {
    /**
     * Resolves when it answers; rejects with why it does not. What it says until then is in the build's log too, where
     * whoever deploys is looking.
     */
    async start(
      environment: Environment,
      deployment: Deployment,
      build: Build,
      { signal, log }: { signal: AbortSignal; log?: LineLog },
    ) {
      const spec = await specOf(environment, deployment, build)
      if (!spec) return
      let isStarting = true
      const both: LineLog = {
        ...spec.log,
        write(stream, phase, chunk) {
          const waits = [
            spec.log.write(stream, phase, chunk),
            isStarting ? log?.write(stream, 'STARTING', chunk) : undefined,
          ].filter((wait) => wait !== undefined)
          return waits.length > 0 ? Promise.all(waits).then(() => undefined) : undefined
        },
      }
      try {
        await supervisor.start({ ...spec, log: both }, signal)
      } finally {
        isStarting = false
      }
    },

    /** Ends what was started for an operation that failed, unless it is live all the same. */
    async giveUp(environmentId: string, operationId: string) {
      const made = await deployments.ofOperation(operationId)
      const environment = made && (await environments.byId(sql, environmentId))
      if (made && environment?.liveDeployment !== made.id) await supervisor.retire(made.id)
    },

    /** After a start of the service: every live server is brought back, whatever the others do. Files need nothing. */
    async restore() {
      const live = await environments.routable()
      const made = await readMadeOf(
        sql,
        live.flatMap(({ liveDeployment }) => liveDeployment ?? []),
      )
      for (const { id, liveDeployment } of live) {
        if (!liveDeployment || made.get(liveDeployment)?.kind !== 'server') continue
        const deployment = await deployments.find(sql, liveDeployment)
        const environment = deployment && (await environments.byId(sql, id))
        if (!deployment || !environment) continue
        const build = await builds.require({ accountId: environment.accountId, environmentId: id }, deployment.buildId)
        const spec = await specOf(environment, deployment, build)
        if (spec) supervisor.adopt(spec)
      }
    },
  }
}

export type Launcher = ReturnType<typeof createLauncher>
