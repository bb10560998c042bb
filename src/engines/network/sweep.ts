/**
 * What services have left that were killed: their tables, and the cables of jobs that have outlived them. A service drops
 * its anchor before it loads its table and weighs it after, and the anchor says whose it is. So a table without a living
 * anchor is a dead one's, whosoever it was.
 */
import { readFileSync, readlinkSync } from 'node:fs'
import { TakenError } from './commands.ts'
import { hasTable, idsOfTables, removeTable } from './firewall/table.ts'
import { deleteLink, labelOf, linksLike } from './links.ts'
import { interfacesOf } from './names.ts'

/** Says how many things there were. The service's own table stays: it is replaced, so that there always is one. */
export async function sweep(ownId: string): Promise<number> {
  let count = 0
  for (const id of new Set([ownId, ...(await idsOfTables())])) {
    const { anchor, views } = interfacesOf(id)
    if (await isHeld(anchor, id !== ownId)) {
      if (id === ownId) throw new TakenError('another service with the same data folder runs')
      continue
    }
    // The kernel takes a while to clear up after the dead. First those whom the rules hold, then the rules.
    for (const link of linksLike(views)) {
      await deleteLink(link)
      count++
    }
    await deleteLink(anchor)
    if (id === ownId ? await hasTable(id) : await removeTable(id)) count++
  }
  return count
}

/** For the anchor: this process and no other that will ever have its number. */
export const labelOfService = (): string => `service:${numbering()}:${process.pid}:${startTimeOf(process.pid)}`

/**
 * Another service that is just starting has not written its label yet, and one in another process namespace cannot be
 * judged from here. Both get the benefit of the doubt.
 */
async function isHeld(anchor: string, inDoubt: boolean): Promise<boolean> {
  if (!linksLike(anchor).includes(anchor)) return false
  const [, numbers, pid, startTime] = /^service:(\d+):(\d+):(\d+)$/.exec(await labelOf(anchor)) ?? []
  return numbers === numbering() ? startTimeOf(Number(pid)) === startTime : inDoubt
}

/** The namespace in which this process has its number. */
const numbering = (): string => /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? ''

/** Nothing for a process that is gone, or dead and not buried. */
function startTimeOf(pid: number): string | undefined {
  try {
    // The name of a program stands in brackets, and may hold any.
    const [state = '', ...fields] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? []
    return /[ZX]/.test(state) ? undefined : fields[18]
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw error
  }
}
