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
import { type InstanceRequest, type Instances, variablesFor } from '../../runtime/index.ts'
import type { LineLog, LineLogs, Sql } from '../../storage/index.ts'
import type { Folders } from '../folders.ts'
import type { Deployments } from '../records/deployments.ts'
import type { Revalidations } from '../records/revalidations.ts'
import type { Deployment } from '../records/rows.ts'
import type { WantedInstances } from '../records/wanted.ts'
import type { GetAppVariables } from './app-variables.ts'

export const runtimeLogName = (environmentId: string): string => `runtime/${environmentId}`

/** The log of an app: the older half is dropped when it is full. On a new disk, its numbers continue those in the object store. */
export async function runtimeLogOf(environmentId: string, logs: Pick<LineLogs, 'nextNumber'>) {
  const name = runtimeLogName(environmentId)
  return { name, whenFull: 'rotate', maxBytes: 8 * 1024 * 1024, firstNumber: await logs.nextNumber(name) } as const
}

type Parts = {
  sql: Sql
  clock: Clock
  log: Log
  revalidations: Revalidations
  wantedInstances: Pick<WantedInstances, 'set' | 'awake'>
  builds: Builds
  environments: Environments
  deployments: Deployments
  outputs: Pick<Outputs, 'layersOf'>
  packages: PackageStore
  instances: Pick<Instances, 'start' | 'carry' | 'adopt' | 'setScaling' | 'retire' | 'of'>
  toolchains: Pick<Toolchains, 'open' | 'own'>
  folders: Folders
  logs: Pick<LineLogs, 'nextNumber'>
  appVariables: GetAppVariables
  appLimits: Limits
  changes: Pick<Changes, 'notify'>
  domain: string
}

export function createLauncher(parts: Parts) {
  const { sql, builds, environments, deployments, outputs, packages, instances, toolchains, folders } = parts
  const { revalidations } = parts

  async function requestFor(
    environment: Environment,
    deployment: Deployment,
    build: Build,
  ): Promise<InstanceRequest | undefined> {
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
    const variables = { ...plan.output.environment, ...own, ...metadata }
    return {
      deployment: deployment.id,
      build: build.id,
      owner: { account: environment.accountId, environment: environment.id },
      layers: await outputs.layersOf(build.output, packagesFolder),
      runFolder: folders.run(environment.id, deployment.id),
      argv: start.argv,
      cwd: isWhole ? plan.rootDirectory : '',
      writable: isWhole ? writable.map((path) => join(plan.rootDirectory, path)) : writable,
      variables: build.tools ? variablesFor(build.tools.node, variables) : variables,
      binaries: isWhole ? binariesOf(plan) : [],
      user: folders.userOf(environment),
      hostHeader: `${environment.hostLabel}.${parts.domain}`,
      openToolchain: () => toolchains.open(build.tools ?? toolchains.own(), { mayStandIn: true }),
      limits: parts.appLimits,
      scaling: environment.scaling,
      onState() {
        parts.changes.notify(environment.accountId, name)
        recordWanted(deployment.id)
      },
      expiries: async () => {
        const isReplaced = revalidations.isReplaced(environment.id)
        return JSON.stringify({ ...built, isReplaced, ...(await revalidations.read(environment.id)) })
      },
      onReset: () => sql.transaction((tx) => revalidations.noteEverything(tx, environment.id)),
      log: { ...(await runtimeLogOf(environment.id, parts.logs)), secrets },
    }
  }

  /** Without the record, the app sleeps after the next start of the service until it has a visitor. */
  function recordWanted(deployment: string) {
    const running = instances.of(deployment)
    if (!running) return
    parts.wantedInstances
      .set(deployment, running.state === 'ASLEEP' ? 0 : 1)
      .catch((error) => parts.log.error({ err: error, deployment }, 'whether an app is awake could not be recorded'))
  }

  /**
   * A deployment of the same build continues with the pages and data that the replaced one has made. The pages of another build
   * are from an earlier time, so all of them expire before they are served.
   */
  async function continueFrom(
    { id, environmentId }: Deployment,
    request: InstanceRequest,
    { isSameBuild, signal }: { isSameBuild: boolean; signal: AbortSignal },
  ) {
    const from = { runFolder: folders.run(environmentId, id) }
    const isCarried =
      isSameBuild &&
      (await instances.carry(from, request, signal).catch((error) => {
        signal.throwIfAborted()
        parts.log.error({ err: error, deployment: request.deployment }, "an app's own cache could not be carried over")
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
      const request = await requestFor(environment, deployment, build)
      if (!request) return
      if (replaced) await continueFrom(replaced, request, { isSameBuild: replaced.buildId === build.id, signal })
      const onOutput = log && ((stream: 'stdout' | 'stderr', chunk: Buffer) => log.write(stream, 'STARTING', chunk))
      await instances.start(request, { signal, ...(onOutput ? { onOutput } : {}) })
    },

    /** Gives a deployment as many instances as its environment wants. */
    scale: (deployment: string, { scaling }: Environment): Promise<void> => instances.setScaling(deployment, scaling),

    /** Ends the process that was started for an operation that failed, unless the deployment is live. */
    async giveUp(environmentId: string, operationId: string) {
      const made = await deployments.ofOperation(operationId)
      const environment = made && (await environments.byId(sql, environmentId))
      if (made && environment?.liveDeployment !== made.id) await instances.retire(made.id)
    },

    /**
     * Tells the agent of every live server: after a start of this process, and after one of the agent. Those that run go on.
     * Returns the others that were awake, the last visited first. Files need no process.
     */
    async restore(): Promise<string[]> {
      const requests: InstanceRequest[] = []
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
        const request = await requestFor(environment, deployment, build)
        if (request) requests.push(request)
      }
      // Read first: the agent reports those that it did not know as asleep, and that is recorded.
      const awake = await parts.wantedInstances.awake()
      const added = new Set(await instances.adopt(requests))
      return awake.filter((deployment) => added.has(deployment))
    },
  }
}

export type Launcher = ReturnType<typeof createLauncher>
