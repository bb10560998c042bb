/** Starts deployments so that they can take visitors. Files need no process; a server is started and must answer. */
import { join } from 'node:path'
import type { Environment, Environments } from '../../apps/index.ts'
import type { Changes, Clock, Log } from '../../base/index.ts'
import {
  type Build,
  type Builds,
  binariesOf,
  checkPlan,
  type Outputs,
  type PackageStore,
  type Toolchains,
} from '../../builds/index.ts'
import type { Limits } from '../../engines/index.ts'
import type { InstanceSpec, Supervisor } from '../../runtime/index.ts'
import type { LineLog, LineLogs, Sql } from '../../storage/index.ts'
import type { Folders } from '../folders.ts'
import type { Deployments } from '../records/deployments.ts'
import type { Revalidations } from '../records/revalidations.ts'
import type { Deployment } from '../records/rows.ts'
import type { GetAppVariables } from './app-variables.ts'

export const runtimeLogName = (environmentId: string): string => `runtime/${environmentId}`

/** The log of an app: the older half is dropped when it is full. */
export const RUNTIME_LOG = { whenFull: 'rotate', maxBytes: 8 * 1024 * 1024 } as const

type Parts = {
  sql: Sql
  clock: Clock
  log: Log
  revalidations: Revalidations
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
  changes: Pick<Changes, 'notify'>
  domain: string
}

export function createLauncher(parts: Parts) {
  const { sql, builds, environments, deployments, outputs, packages, supervisor, toolchains, folders, logs } = parts
  const { revalidations } = parts

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
    // Pages that are older were made by the build. They count as made when the build began, as it read the content then.
    const built = { began: build.startTime ?? build.createTime, ended: build.finishTime ?? parts.clock.now() }
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
      onState: () => parts.changes.notify(environment.accountId, name),
      expiries: async () => {
        const isReplaced = revalidations.isReplaced(environment.id)
        return JSON.stringify({ ...built, isReplaced, ...(await revalidations.read(environment.id)) })
      },
      onReset: () => sql.transaction((tx) => revalidations.noteEverything(tx, environment.id)),
      log: await logs.create(runtimeLogName(environment.id), { secrets, ...RUNTIME_LOG }),
    }
  }

  /**
   * A deployment of the same build continues with the pages and data that the replaced one has made. The pages of another build
   * are from an earlier time, so all of them expire before they are served.
   */
  async function continueFrom(
    { id, environmentId }: Deployment,
    spec: InstanceSpec,
    { isSameBuild, signal }: { isSameBuild: boolean; signal: AbortSignal },
  ) {
    const from = { runFolder: folders.run(environmentId, id) }
    const isCarried =
      isSameBuild &&
      (await supervisor.carry(from, spec, signal).catch((error) => {
        signal.throwIfAborted()
        parts.log.error({ err: error, deployment: spec.deployment }, "an app's own cache could not be carried over")
        return false
      }))
    if (!isCarried) await sql.transaction((tx) => revalidations.noteEverything(tx, environmentId))
  }

  return {
    /**
     * Resolves when it answers; rejects with the reason if it does not. Its output until then goes to the log of the build too,
     * which the user who deploys follows. `replaced` is given if it has no build of its own, and continues from that one.
     */
    async start(
      environment: Environment,
      deployment: Deployment,
      build: Build,
      { signal, log, replaced }: { signal: AbortSignal; log?: LineLog; replaced?: Deployment },
    ) {
      const spec = await specOf(environment, deployment, build)
      if (!spec) return
      if (replaced) await continueFrom(replaced, spec, { isSameBuild: replaced.buildId === build.id, signal })
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

    /** Ends the process that was started for an operation that failed, unless the deployment is live. */
    async giveUp(environmentId: string, operationId: string) {
      const made = await deployments.ofOperation(operationId)
      const environment = made && (await environments.byId(sql, environmentId))
      if (made && environment?.liveDeployment !== made.id) await supervisor.retire(made.id)
    },

    /** After a start of the service: starts every live server again. Files need no process. */
    async restore() {
      const live = await environments.routable()
      const outputs = await deployments.outputsOf(live.flatMap(({ liveDeployment }) => liveDeployment ?? []))
      for (const { id, liveDeployment } of live) {
        if (!liveDeployment || outputs.get(liveDeployment)?.kind !== 'server') continue
        const deployment = await deployments.find(sql, liveDeployment)
        const environment = deployment && (await environments.byId(sql, id))
        if (!deployment || !environment) continue
        const build = await builds.require({ accountId: environment.accountId, environmentId: id }, deployment.buildId)
        // If the folder was lost, as after a restore of a backup on another machine, the app starts from its build.
        if (!(await folders.hasRun(id, liveDeployment))) {
          await sql.transaction((tx) => revalidations.noteEverything(tx, id))
        }
        const spec = await specOf(environment, deployment, build)
        if (spec) supervisor.adopt(spec)
      }
    },
  }
}

export type Launcher = ReturnType<typeof createLauncher>
