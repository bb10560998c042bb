/** Routing on a real database, with an edge that keeps the tables that it is given. */
import { createDomains } from '../../../src/apps/index.ts'
import { createRouting } from '../../../src/deployments/index.ts'
import type { RouteTable } from '../../../src/edge/index.ts'
import type { Scope } from '../folder.ts'
import { openModules } from './deployments.ts'

export async function openRoutedModules(t: Scope) {
  const modules = await openModules(t)
  const domains = createDomains({ ...modules, domain: 'sites.example.com' })
  const tables: RouteTable[] = []
  const edge = {
    /** The table is in use when this resolves. */
    async publish(table: RouteTable) {
      tables.push(table)
    },
  }
  const supervisor = { of: () => undefined, onChange: () => undefined }
  const withDomain = (domain: string) => createRouting({ ...modules, domains, supervisor, edge, domain })
  return { ...modules, domains, edge, tables, withDomain, routing: withDomain('sites.example.com') }
}
