/** Apps on a swarm, as control processes and workers use them. */
import type { Changes, Clock, Log } from '../base/index.ts'
import type { Frame, Peer } from '../channel/index.ts'
import { Problem } from '../contract/index.ts'
import type { AwakeLimits, Instances } from '../runtime/index.ts'
import type { Config } from '../settings.ts'
import type { LeaderWork, LineLogs, Sql, Vault } from '../storage/index.ts'
import type { Docker, Regions } from '../swarm/index.ts'
import { dockerAddressOf } from '../swarm-settings.ts'
import type { State } from './state.ts'

/** The apps of the service, in whichever process. */
export type ClusterApps = {
  instances: Instances
  /** An edge of another machine that asks where instances are. */
  serveEdge(peer: Peer<Frame, Frame>): void
  /** What only the leader does: it brings the swarm in line with what should run. */
  lead(options: { docker: Docker; cluster: string }): LeaderWork
  start(): Promise<void>
  stop(): Promise<void>
}

export type ClusterAppsParts = {
  sql: Sql
  clock: Clock
  log: Log
  changes: Changes
  vault: Vault
  /** Logs of apps. */
  logs: LineLogs
  /** The reference of a build's image, by which nodes pull it. */
  imageOf(build: string): Promise<string>
  /** As nodes are labelled. */
  regionOf(environmentId: string): Promise<string>
  startDeadlineMs: number
  idleMs: number
  awakeLimits: AwakeLimits
  /** Which of these deployments are live. */
  liveOf(deployments: readonly string[]): Promise<ReadonlySet<string>>
  /** The state of an app has changed that another process has started. */
  onState(app: { deployment: string; environment: string; account: string }): void
}

export type CreateClusterApps = (parts: ClusterAppsParts) => ClusterApps | Promise<ClusterApps>

type Parts = State & { config: Config; log: Log; started: AsyncDisposableStack; create: CreateClusterApps }

export async function openClusterApps(parts: Parts): Promise<ClusterApps> {
  const { config, log, started, create, database, vault, records, stores } = parts
  const { sql, clock, changes, environments, apps } = database
  const { accountAwakeApps, accountAppMemory } = config
  const opened = await create({
    sql,
    clock,
    log,
    changes,
    vault,
    logs: stores.logs,
    async imageOf(build) {
      const output = (await records.builds.madeOf([build])).get(build)?.output
      const reference = output && (await stores.images?.referencesOf([output]))?.get(output)
      if (!reference) throw new Error(`the registry has no image of build ${build}`)
      return reference
    },
    async regionOf(environmentId) {
      const environment = await environments.byId(sql, environmentId)
      if (!environment) throw new Error(`there is no environment ${environmentId}`)
      return labelOf((await apps.require(environment.accountId, environment.appName)).region)
    },
    startDeadlineMs: config.startTimeout * 1000,
    idleMs: config.idleTimeout * 1000,
    awakeLimits: { apps: accountAwakeApps, memoryBytes: accountAppMemory },
    async liveOf(deployments) {
      const live = new Set((await environments.routable()).flatMap(({ liveDeployment }) => liveDeployment ?? []))
      return live.intersection(new Set(deployments))
    },
    onState({ deployment, environment: id, account }) {
      environments.byId(sql, id).then(
        (environment) =>
          environment &&
          changes.notify(account, `apps/${environment.appName}/environments/${id}/deployments/${deployment}`),
        (error) => log.debug({ err: error, deployment }, 'followers could not be told of the state of an app'),
      )
    },
  })
  started.defer(() => opened.stop())
  await opened.start()
  return opened
}

/** The region of an app, as nodes are labelled with it. */
export const labelOf = (region: string): string => region.replace(/^regions\//, '')

/** Docker's API, for those who may lead. Its module is loaded for them alone. */
export async function openSwarm({ config, log, clock }: { config: Config; log: Log; clock: Clock }) {
  const { createDocker, createRegions } = await import('../swarm/index.ts')
  const { registry = '', registryUser: user, registryPassword: password } = config
  const registryLogin = password && { user, password, registry: new URL(registry).host }
  const docker = createDocker({ address: dockerAddressOf(config), registryLogin })
  const regions: Regions = createRegions({ clock, log, docker })
  return { docker, regions }
}

/** For a service without nodes: static sites need no instances, and what has to be started is refused. */
export const createNoApps: CreateClusterApps = () => ({
  instances: {
    async start() {
      throw new Problem('REGION_UNAVAILABLE', 'This service has no nodes for apps. Static sites need none.')
    },
    carry: async () => false,
    adopt: async () => [],
    warmUp: async () => undefined,
    refreshExpiries: async () => undefined,
    setScaling: async () => undefined,
    retire: async () => undefined,
    say: async () => undefined,
    of: () => undefined,
    holds: () => false,
    awake: async () => ({ apps: 0, memoryBytes: 0 }),
  },
  serveEdge: (peer) => peer.close(),
  lead: () => () => ({ stop: async () => undefined }),
  start: async () => undefined,
  stop: async () => undefined,
})
