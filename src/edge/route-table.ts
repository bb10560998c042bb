/**
 * Joins the halves of a route: the control process says which deployment a host leads to, the supervisor of apps says where
 * its instances are, and, on a machine that gets them from a registry, the files process says where its files are. Each may
 * change, or be unknown for a while, without the others.
 *
 *   a redirect, an empty environment                  needs neither
 *   a static site whose files are on this machine     → static
 *   … whose files are not                             → unfetched: a request waits, and has them fetched
 *   … whose files could not be got                    → unavailable
 *   a server of which an instance runs                → server
 *   … that sleeps                                     → asleep: a request wakes it
 *   … that keeps crashing                             → down
 *   … that was not reported yet                       → awaited: a request waits
 *
 * While the files of a new deployment are on their way, the deployment before stands in for it.
 */
import type {
  Access,
  EnvironmentRoutes,
  FilesReport,
  InstanceAddress,
  InstanceReport,
  Routed,
  RouteTarget,
  ServerTarget,
  StoredOutput,
} from './routes.ts'
import { createSiteFiles } from './static/site-files.ts'

export type RouteChanges = ReadonlyMap<string, Routed | undefined>

type Hosts = EnvironmentRoutes['hosts']
type Changes = Map<string, Routed | undefined>

type Options = {
  /** Files of static sites are not where the control process says, but where the files process does. */
  fetchesFiles?: boolean
}

export function createRouteTable({ fetchesFiles = false }: Options = {}) {
  /** As the control process sent them. */
  const known = new Map<string, EnvironmentRoutes>()
  /** What answers for the hosts of an environment: the same, unless the deployment before stands in. */
  const used = new Map<string, Hosts>()
  const standIns = new Map<string, RouteTarget>()
  const ownerOf = new Map<string, string>()
  const reports = new Map<string, InstanceReport>()
  const files = createSiteFiles(fetchesFiles)
  /** The environment of each deployment that is a server. A deployment belongs to one environment. */
  const environmentOf = new Map<string, string>()

  function resolve(target: RouteTarget, access: Access | undefined): Routed {
    const shown = access ? { ...target, access } : target
    if (shown.kind === 'static') return files.resolve(shown)
    if (shown.kind !== 'server') return shown
    const { kind: _, ...rest } = files.onThisMachine(shown)
    const report = reports.get(shown.deployment)
    switch (report?.state) {
      case 'running':
        return toServer({ kind: 'server', ...rest }, report.instances)
      case 'asleep':
      case 'down':
        return { kind: report.state, ...rest }
      case undefined:
        return { kind: 'awaited', ...rest }
    }
  }

  const mayStandIn = (target: RouteTarget): boolean =>
    target.kind === 'server' || (target.kind === 'static' && target.output !== undefined && !files.missingOf(target))

  /** What answers for these hosts now. */
  function toUse(environment: string, hosts: Hosts): Hosts {
    const standIn = standIns.get(environment)
    if (!standIn) return hosts
    const entries = Object.entries(hosts)
    return Object.fromEntries(entries.map(([host, target]) => [host, files.missingOf(target) ? standIn : target]))
  }

  function use(environment: string, hosts: Hosts, next: Hosts) {
    for (const target of Object.values(used.get(environment) ?? {}))
      if (target.kind === 'server') environmentOf.delete(target.deployment)
    for (const target of Object.values(next))
      if (target.kind === 'server') environmentOf.set(target.deployment, environment)
    if (Object.keys(next).length > 0) used.set(environment, next)
    else used.delete(environment)
    files.use(environment, [...Object.values(hosts), ...Object.values(next)])
  }

  function change(routes: EnvironmentRoutes, changes: Changes) {
    const { environment, hosts, access } = routes
    const before = used.get(environment) ?? {}
    if (!files.missingIn(hosts)) standIns.delete(environment)
    else if (!standIns.has(environment)) {
      const last = Object.values(before).find(mayStandIn)
      if (last) standIns.set(environment, last)
    }
    const next = toUse(environment, hosts)
    for (const host of Object.keys(before)) {
      // The name may belong to another environment by now, whose routes came first.
      if (ownerOf.get(host) !== environment) continue
      ownerOf.delete(host)
      changes.set(host, undefined)
    }
    use(environment, hosts, next)
    for (const [host, target] of Object.entries(next)) {
      ownerOf.set(host, environment)
      changes.set(host, resolve(target, access))
    }
    if (Object.keys(hosts).length > 0) known.set(environment, routes)
    else known.delete(environment)
  }

  /** After a change of its files, or of what stands in. */
  function refresh(environment: string, changes: Changes) {
    const routes = known.get(environment)
    if (!routes) return
    const { hosts, access } = routes
    if (!files.missingIn(hosts)) standIns.delete(environment)
    const next = toUse(environment, hosts)
    use(environment, hosts, next)
    for (const [host, target] of Object.entries(next))
      if (ownerOf.get(host) === environment) changes.set(host, resolve(target, access))
  }

  return {
    /** Replaces the hosts of these environments. */
    setRoutes(routes: readonly EnvironmentRoutes[]): RouteChanges {
      const changes: Changes = new Map()
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
      const changes: Changes = new Map()
      const environment = environmentOf.get(deployment)
      if (environment === undefined) return changes
      const access = known.get(environment)?.access
      for (const [host, target] of Object.entries(used.get(environment) ?? {})) {
        const isOurs = target.kind === 'server' && target.deployment === deployment && ownerOf.get(host) === environment
        if (isOurs) changes.set(host, resolve(target, access))
      }
      return changes
    },

    /** The targets of all servers, as they are: requests that wait go on. */
    repeatInstances(): RouteChanges {
      const changes: Changes = new Map()
      for (const [deployment, report] of [...reports])
        for (const [host, target] of this.setInstance(deployment, report)) changes.set(host, target)
      return changes
    },

    /** Nothing is known of instances any more: requests to servers wait. */
    forgetInstances(): RouteChanges {
      const changes: Changes = new Map()
      for (const deployment of [...reports.keys()])
        for (const [host, target] of this.setInstance(deployment, undefined)) changes.set(host, target)
      return changes
    },

    /** Where the files of an output are; undefined where they are not on this machine. One that no host needs is ignored. */
    setFiles(digest: string, report: FilesReport | undefined): RouteChanges {
      const changes: Changes = new Map()
      for (const environment of files.report(digest, report)) refresh(environment, changes)
      return changes
    },

    files,

    /** The output that an environment waits for while the deployment before stands in; undefined where none does. */
    standsInFor(environment: string): StoredOutput | undefined {
      return standIns.has(environment) ? files.missingIn(known.get(environment)?.hosts ?? {}) : undefined
    },
    /** Requests wait from now on. */
    endStandIn(environment: string): RouteChanges {
      const changes: Changes = new Map()
      if (standIns.delete(environment)) refresh(environment, changes)
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
