/**
 * Which TCP ports some processes listen on: their open sockets, looked up in the kernel's table. The owner of an app decides
 * how many sockets and files there are to read, so it is read piece by piece, and within limits.
 */
import { createReadStream } from 'node:fs'
import { opendir, readlink } from 'node:fs/promises'
import { createInterface } from 'node:readline'

const LISTEN = '0A'
/** Far more than a web server has while it starts. */
const MAX_TABLE_BYTES = 1024 ** 2
const MAX_DESCRIPTORS = 4096
const MAX_PORTS = 8

/** The lowest few of them, among the first sockets and files that the processes opened. */
export async function listeningPorts(pids: readonly number[]): Promise<number[]> {
  const portOf = new Map<string, number>()
  for (const table of await tablesOf(pids)) await readTable(table, portOf)
  const ports = new Set<number>()
  let left = MAX_DESCRIPTORS
  for (const pid of pids) {
    for await (const inode of socketsOf(pid, left)) {
      left -= 1
      const port = inode === undefined ? undefined : portOf.get(inode)
      if (port !== undefined) ports.add(port)
    }
    if (left <= 0) break
  }
  return [...ports].toSorted((a, b) => a - b).slice(0, MAX_PORTS)
}

async function readTable(table: string, portOf: Map<string, number>) {
  const input = createReadStream(table, { end: MAX_TABLE_BYTES - 1 })
  await attempt(async () => {
    for await (const line of createInterface({ input })) {
      const [, local = '', , state, , , , , , inode = ''] = line.trim().split(/\s+/)
      if (state === LISTEN) portOf.set(inode, Number.parseInt(local.split(':').at(-1) ?? '', 16))
    }
  })
}

/** The inode of each descriptor that is a socket, and undefined for each other one. */
async function* socketsOf(pid: number, max: number): AsyncGenerator<string | undefined> {
  const folder = `/proc/${pid}/fd`
  const descriptors = await attempt(() => opendir(folder))
  if (!descriptors) return
  try {
    for (let count = 0; count < max; count += 1) {
      const entry = await attempt(() => descriptors.read())
      if (!entry) return
      const target = await attempt(() => readlink(`${folder}/${entry.name}`))
      yield /^socket:\[(\d+)\]$/.exec(target ?? '')?.[1]
    }
  } finally {
    await descriptors.close()
  }
}

/** One pair for each network namespace of the processes. */
async function tablesOf(pids: readonly number[]): Promise<string[]> {
  const byNetwork = new Map<string, number>()
  for (const pid of pids) byNetwork.set((await attempt(() => readlink(`/proc/${pid}/ns/net`))) ?? '', pid)
  return [...byNetwork.values()].flatMap((pid) => [`/proc/${pid}/net/tcp`, `/proc/${pid}/net/tcp6`])
}

/** A process or a descriptor may be gone while it is read. */
async function attempt<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read()
  } catch (error) {
    if (['ENOENT', 'ESRCH', 'EACCES', 'EINVAL'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw error
  }
}
