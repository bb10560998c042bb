/** Sends whole targets to an edge process: its routes, and for servers what is known of their instances. */
import type { EnvironmentRoutes, InstanceReport } from '../../../src/edge/index.ts'
import type { RouteTarget, Target } from '../../../src/edge/routes.ts'

export type Routes = { routes: EnvironmentRoutes[]; reports: Record<string, InstanceReport> }

/** Resolves when the edge uses these targets, and no others. */
export const publish = (edge: { publish(routes: Routes): Promise<void> }, hosts: Record<string, Target>) =>
  edge.publish(routesOf(hosts))

function routesOf(hosts: Record<string, Target>): Routes {
  const routes = new Map<string, Record<string, RouteTarget>>()
  const reports: Record<string, InstanceReport> = {}
  for (const [host, target] of Object.entries(hosts)) {
    const { environment } = target
    const report = reportOf(target)
    if (report && 'deployment' in target) reports[target.deployment] = report
    routes.set(environment, { ...routes.get(environment), [host]: routeOf(target) })
  }
  return { routes: [...routes].map(([environment, hosts]) => ({ environment, hosts })), reports }
}

function routeOf(target: Target): RouteTarget {
  if (target.kind !== 'server' && target.kind !== 'asleep' && target.kind !== 'down') return target
  return { kind: 'server', environment: target.environment, deployment: target.deployment }
}

function reportOf(target: Target): InstanceReport | undefined {
  if (target.kind === 'asleep' || target.kind === 'down') return { state: target.kind }
  if (target.kind !== 'server') return undefined
  const { instance, host, port } = target
  return { state: 'running', instances: [{ instance, host, port }] }
}
