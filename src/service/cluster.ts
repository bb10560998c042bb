/** Apps on a swarm, as control processes and workers use them. */
import { type Clock, type Log, processName } from '../base/index.ts'
import type { ClusterApps } from '../cluster/index.ts'
import type { Edges } from '../edge/index.ts'
import type { Nodes } from '../nodes/index.ts'
import { isolationOf } from '../settings/node.ts'
import { dockerAddressOf } from '../settings/swarm.ts'
import type { Config } from '../settings.ts'
import type { Regions } from '../swarm/index.ts'
import type { State } from './state.ts'

type Parts = State & {
  config: Config
  log: Log
  started: AsyncDisposableStack
  nodes: Pick<Nodes, 'isConfirmed' | 'onChange'>
  edges: Pick<Edges, 'purge'>
}

export async function openClusterApps(parts: Parts): Promise<ClusterApps> {
  const { config, log, started, nodes, edges, database, vault, records, stores } = parts
  const { sql, clock, changes, environments, apps } = database
  const { accountAwakeApps, accountAppMemory } = config
  const { createClusterApps } = await import('../cluster/index.ts')
  const opened = createClusterApps({
    sql,
    clock,
    log,
    changes,
    vault,
    logs: stores.logs,
    nodes,
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
    // It purges nothing, and has a number, by which apps notice that something was revalidated.
    tellRevalidated: (environment) => edges.purge({ environment, tags: [] }),
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

type SwarmParts = { config: Config; log: Log; clock: Clock; started: AsyncDisposableStack }

/** Docker's API, for those who may lead. Its module is loaded for them alone. */
export async function openSwarm({ config, log, clock, started }: SwarmParts) {
  const { createDocker, createRegions, prepareWhileLeading } = await import('../swarm/index.ts')
  const { registry = '', registryUser: user, registryPassword: password } = config
  const registryLogin = password && { user, password, registry: new URL(registry).host }
  const docker = createDocker({ address: dockerAddressOf(config), registryLogin })
  started.defer(async () => docker.close())
  const regions: Regions = createRegions({ clock, log, docker })
  return { docker, regions, prepare: prepareWhileLeading({ docker, clock, log }) }
}

type NodesParts = Pick<State, 'database'> & { config: Config; log: Log; started: AsyncDisposableStack }

/** Which nodes may run apps, as all control processes have recorded it. */
export async function openNodes({ config, log, database, started }: NodesParts, { isControl }: { isControl: boolean }) {
  const { createNodes } = await import('../nodes/index.ts')
  const { sql, clock, changes } = database
  const nodes = createNodes({ sql, clock, log, changes, control: processName() })
  started.defer(() => nodes.stop())
  await nodes.start()
  if (isControl) await nodes.setRules(isolationOf(config))
  return nodes
}
