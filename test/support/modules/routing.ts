/** Routing on a real database, with one edge that keeps the routes that it is given. */
import { createCookieKeys, createDomains } from '../../../src/apps/index.ts'
import { createRouting } from '../../../src/deployments/index.ts'
import type { EdgeMember, EnvironmentRoutes } from '../../../src/edge/index.ts'
import { createVault } from '../../../src/storage/index.ts'
import type { Scope } from '../folder.ts'
import { openModules } from './deployments.ts'

type Options = Pick<Parameters<typeof createRouting>[0], 'images' | 'keepEarlierMs'>

export async function openRoutedModules(t: Scope, options: Options = {}) {
  const modules = await openModules(t)
  const domains = createDomains({ ...modules, domain: 'sites.example.com' })
  const published: { routes: EnvironmentRoutes[]; isWhole: boolean }[] = []
  const edge = { revision: null, sentRevision: null } as EdgeMember
  type Sent = { routes: EnvironmentRoutes[]; isWhole: boolean; revision: number }
  const edges = {
    serving: () => [edge],
    /** The routes are in use when this resolves. */
    async setRoutes(member: EdgeMember, { routes, isWhole, revision }: Sent) {
      published.push({ routes, isWhole })
      member.revision = revision
      member.sentRevision = revision
    },
    onConnected: () => () => undefined,
  }
  const cookieKeyOf = createCookieKeys({ vault: createVault(Buffer.alloc(32, 1)) })
  const withDomain = (domain: string) => createRouting({ ...modules, ...options, cookieKeyOf, domains, edges, domain })
  return { ...modules, domains, edges, edge, published, withDomain, routing: withDomain('sites.example.com') }
}
