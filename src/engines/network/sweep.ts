/**
 * What services have left that were killed: their tables, and the cables of jobs that have outlived them. A service drops
 * its anchor before it loads its table and weighs it after, so a table without an anchor is a dead one's, whosoever it was.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { NetworkError } from './commands.ts'
import { deleteLink, linksLike } from './links.ts'
import { interfacesOf } from './names.ts'
import { hasTable, idsOfTables, removeTable } from './table.ts'

const PATIENCE_MS = { whole: 5000, step: 20 }

/** Says how many things there were. The service's own table stays: it is replaced, so that there always is one. */
export async function sweep(ownId: string): Promise<number> {
  await untilGone(interfacesOf(ownId).anchor)
  let count = 0
  for (const id of new Set([ownId, ...(await idsOfTables())])) {
    const { anchor, views } = interfacesOf(id)
    if (linksLike(anchor).includes(anchor)) continue
    // First whom the rules hold, then the rules.
    for (const stray of linksLike(views)) {
      await deleteLink(stray)
      count++
    }
    if (id === ownId ? await hasTable(id) : await removeTable(id)) count++
  }
  return count
}

/** The kernel takes a moment to clear up after a service that was killed. */
async function untilGone(anchor: string) {
  for (let waitedMs = 0; linksLike(anchor).includes(anchor); waitedMs += PATIENCE_MS.step) {
    if (waitedMs > PATIENCE_MS.whole) throw new NetworkError('another service with the same data folder runs')
    await wait(PATIENCE_MS.step)
  }
}
