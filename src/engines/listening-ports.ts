/** Which TCP ports some processes listen on: their open sockets, looked up in the kernel's table. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

const LISTEN = '0A'

export function listeningPorts(pids: readonly number[]): number[] {
  const portOf = new Map<string, number>()
  for (const table of tablesOf(pids)) {
    for (const line of (attempt(() => readFileSync(table, 'utf8')) ?? '').split('\n').slice(1)) {
      const fields = line.trim().split(/\s+/)
      const [, local = '', , state, , , , , , inode = ''] = fields
      if (state === LISTEN) portOf.set(inode, Number.parseInt(local.split(':').at(-1) ?? '', 16))
    }
  }
  const ports = pids.flatMap((pid) =>
    (attempt(() => readdirSync(`/proc/${pid}/fd`)) ?? []).flatMap((fd) => {
      const inode = /^socket:\[(\d+)\]$/.exec(attempt(() => readlinkSync(`/proc/${pid}/fd/${fd}`)) ?? '')?.[1]
      return inode === undefined ? [] : (portOf.get(inode) ?? [])
    }),
  )
  return [...new Set(ports)].toSorted((a, b) => a - b)
}

/** One pair for each network that a process of them is in. */
function tablesOf(pids: readonly number[]): string[] {
  const byNetwork = new Map(pids.map((pid) => [attempt(() => readlinkSync(`/proc/${pid}/ns/net`)) ?? '', pid]))
  return [...byNetwork.values()].flatMap((pid) => [`/proc/${pid}/net/tcp`, `/proc/${pid}/net/tcp6`])
}

/** Processes and descriptors come and go while one looks. */
function attempt<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (['ENOENT', 'ESRCH', 'EACCES', 'EINVAL'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw error
  }
}
