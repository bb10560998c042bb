/**
 * Joins the two halves of a route: the control process says which deployment a host leads to, and the supervisor
 * of apps says where its instances are. Either may change, or be unknown for a while, without the other.
 *
 *   a static site, a redirect, an empty environment   needs no instance
 *   a server of which an instance runs                → server
 *   … that sleeps                                     → asleep: a request wakes it
 *   … that keeps crashing                             → down
 *   … that was not reported yet                       → awaited: a request waits
 */
import type {
  Access,
  EnvironmentRoutes,
  InstanceAddress,
  InstanceReport,
  Routed,
  RouteTarget,
  ServerTarget,
} from './routes.ts'

export type RouteChanges = ReadonlyMap<string, Routed | undefined>

export function createRouteTable() {
  const known = new Map<string, EnvironmentRoutes>()
  const ownerOf = new Map<string, string>()
  const reports = new Map<string, InstanceReport>()
  /** The environment of each deployment that is a server. A deployment belongs to one environment. */
  const environmentOf = new Map<string, string>()

  function resolve(target: RouteTarget, access: Access | undefined): Routed {
    const shown = access ? { ...target, access } : target
    if (shown.kind !== 'server') return shown
    const { kind: _, ...rest } = shown
    const report = reports.get(shown.deployment)
    switch (report?.state) {
      case 'running':
        return toServer(shown, report.instances)
      case 'asleep':
      case 'down':
        return { kind: report.state, ...rest }
      case undefined:
        return { kind: 'awaited', ...rest }
    }
  }

  function change(routes: EnvironmentRoutes, changes: Map<string, Routed | undefined>) {
    const { environment, hosts, access } = routes
    for (const [host, target] of Object.entries(known.get(environment)?.hosts ?? {})) {
      if (target.kind === 'server') environmentOf.delete(target.deployment)
      // The name may belong to another environment by now, whose routes came first.
      if (ownerOf.get(host) !== environment) continue
      ownerOf.delete(host)
      changes.set(host, undefined)
    }
    for (const [host, target] of Object.entries(hosts)) {
      if (target.kind === 'server') environmentOf.set(target.deployment, environment)
      ownerOf.set(host, environment)
      changes.set(host, resolve(target, access))
    }
    if (Object.keys(hosts).length > 0) known.set(environment, routes)
    else known.delete(environment)
  }

  return {
    /** Replaces the hosts of these environments. */
    setRoutes(routes: readonly EnvironmentRoutes[]): RouteChanges {
      const changes = new Map<string, Routed | undefined>()
      for (const one of routes) change(one, changes)
      return changes
    },

    /** Replaces everything. */
    setAllRoutes(routes: readonly EnvironmentRoutes[]): RouteChanges {
      const kept = new Set(routes.map(({ environment }) => environment))
      const gone = [...known.keys()].filter((environment) => !kept.has(environment))
      return this.setRoutes([...gone.map((environment) => ({ environment, hosts: {} })), ...routes])
    },

    /** Undefined where the deployment has ended. */
    setInstance(deployment: string, report: InstanceReport | undefined): RouteChanges {
      if (report) reports.set(deployment, report)
      else reports.delete(deployment)
      const changes = new Map<string, Routed | undefined>()
      const environment = environmentOf.get(deployment)
      const { hosts = {}, access } = (environment === undefined ? undefined : known.get(environment)) ?? {}
      for (const [host, target] of Object.entries(hosts)) {
        const isOurs = target.kind === 'server' && target.deployment === deployment && ownerOf.get(host) === environment
        if (isOurs) changes.set(host, resolve(target, access))
      }
      return changes
    },

    /** Nothing is known of instances any more: requests to servers wait. */
    forgetInstances(): RouteChanges {
      const changes = new Map<string, Routed | undefined>()
      for (const deployment of [...reports.keys()])
        for (const [host, target] of this.setInstance(deployment, undefined)) changes.set(host, target)
      return changes
    },

    count: (): number => known.size,
    all: (): EnvironmentRoutes[] => [...known.values()],
  }
}

/** The instances of a server are one target, which knows the others. */
function toServer(
  target: Extract<RouteTarget, { kind: 'server' }> & { access?: Access },
  instances: readonly InstanceAddress[],
): Routed {
  const peers = instances.map((address): ServerTarget => ({ ...target, ...address }))
  const [first] = peers
  if (!first) return { ...target, kind: 'asleep' }
  return peers.length > 1 ? { ...first, peers } : first
}

export type RouteTable = ReturnType<typeof createRouteTable>
