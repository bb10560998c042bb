/** The target of each host name now. What no target refers to any more is forgotten. */
import type { EdgeCache } from './cache/index.ts'
import type { PendingRequests } from './proxy/pending-requests.ts'
import type { Pools } from './proxy/pools.ts'
import type { Instances } from './proxy/upstream/instances.ts'
import { createReferences } from './references.ts'
import type { RouteChanges } from './route-table.ts'
import type { Routed, Routes } from './routes.ts'
import type { Statics } from './static/static.ts'
import type { FirstVisits } from './visits/first-visits.ts'

type Parts = {
  cache: EdgeCache
  pools: Pools
  instances: Pick<Instances, 'retire'>
  statics: Statics
  pending: PendingRequests
  firstVisits: Pick<FirstVisits, 'switched' | 'forget'>
}

export function createTargets({ cache, pools, instances, statics, pending, firstVisits }: Parts) {
  const targets = new Map<string, Routed>()
  const references = createReferences()

  function changeRoutes(changes: RouteChanges) {
    const before: Routed[] = []
    const after: Routed[] = []
    for (const [host, target] of changes) {
      const old = targets.get(host)
      if (old) before.push(old)
      if (target) after.push(target)
      if (target) targets.set(host, target)
      else targets.delete(host)
    }
    const unused = references.change(before, after)
    // After the switch, never before: until then the old deployment may answer, and its response may be stored.
    cache.useTargets(after)
    cache.forget(unused.environments)
    firstVisits.switched(after)
    firstVisits.forget(unused.environments)
    for (const instance of unused.instances) {
      pools.retire(instance)
      instances.retire(instance)
    }
    statics.forget(unused.listed, unused.manifests)
    pending.changeRoutes(changes)
  }

  const forgetOthers = () => cache.keepOnly(references.environments())

  return {
    find: (host: string): Routed | undefined => targets.get(host),
    changeRoutes,
    useRoutes(next: Routes) {
      const gone = [...targets.keys()].filter((host) => !next.has(host))
      changeRoutes(new Map([...gone.map((host): [string, undefined] => [host, undefined]), ...next]))
      forgetOthers()
    },
    forgetOthers,
  }
}
