/**
 * Removes what killed services have left: their tables, and the veth interfaces of jobs that outlived them. A service makes its
 * gateway link before it loads its table and removes it afterwards, and the label of the link names the process. So a table
 * without the link of a living process belongs to a dead service.
 */
import { pidNamespace, startTimeOf } from '../../base/index.ts'
import { TakenError } from './commands.ts'
import { idsOfTables, removeTable } from './firewall/table.ts'
import { deleteLink, labelOf, linksLike } from './links.ts'
import { interfacesOf } from './names.ts'

/** Returns how many were found. The service's own table stays: it is replaced, so that there always is one. */
export async function sweep(ownId: string): Promise<number> {
  let count = 0
  const tables = await idsOfTables()
  for (const id of new Set([ownId, ...tables])) {
    const { gatewayLink, namespaces } = interfacesOf(id)
    if (await isHeld(gatewayLink, id !== ownId)) {
      if (id === ownId) throw new TakenError('another service with the same data folder runs')
      continue
    }
    // The kernel may not have removed the interfaces of dead processes yet. Interfaces go first, then the rules for them.
    for (const link of linksLike(namespaces)) {
      await deleteLink(link)
      count++
    }
    await deleteLink(gatewayLink)
    if (id === ownId ? tables.includes(id) : await removeTable(id)) count++
  }
  return count
}

/** The label of the gateway link: identifies this process, also against a later one with the same pid. */
export const labelOfService = (): string => `service:${pidNamespace() ?? ''}:${process.pid}:${startTimeOf(process.pid)}`

/**
 * Another service that is just starting has not written its label yet, and one in another pid namespace cannot be checked from
 * here. Both count as alive where `inDoubt` says so.
 */
async function isHeld(gatewayLink: string, inDoubt: boolean): Promise<boolean> {
  if (!linksLike(gatewayLink).includes(gatewayLink)) return false
  const [, namespace, pid, startTime] = /^service:(\d+):(\d+):(\d+)$/.exec(await labelOf(gatewayLink)) ?? []
  return namespace === pidNamespace() ? startTimeOf(Number(pid)) === startTime : inDoubt
}
