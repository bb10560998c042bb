/** The processes of this machine, as one table; for machines without a cgroup that says which of them belong together. */
import { readdirSync, readFileSync, readlinkSync, statfsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf } from './files.ts'

/** How another process is related to this one. */
export type Relation = 'itself' | 'above' | 'below' | 'stranger'

export type Row = {
  pid: number
  parent: number
  session: number
  /** In clock ticks since boot: a process id that is used again has another one. */
  startedAt: number
  threads: number
  residentBytes: number
  /** With that of its children that ended. */
  cpuSeconds: number
}

export type Table = ReadonlyMap<number, Row>

export function readProcesses(): Table {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return new Map(pids.flatMap((pid) => rowOf(Number(pid)) ?? []).map((row) => [row.pid, row]))
}

export type Root = { pid: number; startedAt: number | undefined }

/** The start time identifies the process when its id is used again. */
export const rootOf = (pid: number): Root => ({ pid, startedAt: rowOf(pid)?.startedAt })

/** The process, its descendants, and the members of its session: their session id keeps the process id from being reused. */
export function treeOf({ pid, startedAt }: Root, table: Table): Row[] {
  if (startedAt === undefined || (table.get(pid)?.startedAt ?? startedAt) !== startedAt) return []
  const childrenOf = new Map<number, Row[]>()
  for (const row of table.values()) {
    const siblings = childrenOf.get(row.parent)
    if (siblings) siblings.push(row)
    else childrenOf.set(row.parent, [row])
  }
  const found = new Set<Row>()
  const waiting = [...table.values()].filter((row) => row.pid === pid || row.session === pid)
  for (let row = waiting.pop(); row; row = waiting.pop()) {
    if (found.has(row)) continue
    found.add(row)
    waiting.push(...(childrenOf.get(row.pid) ?? []))
  }
  return [...found]
}

/**
 * Resident memory counts shared pages once for each process. Only when that sum is above the limit, the proportional set size
 * (PSS) is read, which takes far longer. Files in tmpfs belong to no process and are added.
 */
export function memoryOf(tree: readonly Row[], limitBytes: number): number {
  const files = filesInMemory(tree)
  const resident = tree.reduce((sum, row) => sum + row.residentBytes, files)
  if (resident <= limitBytes) return resident
  return tree.reduce((sum, row) => sum + (fairShareOf(row.pid) ?? row.residentBytes), files)
}

export function relationOf(pid: number): Relation {
  if (pid === process.pid) return 'itself'
  if (isBelow(pid, process.pid)) return 'below'
  return isBelow(process.pid, pid) ? 'above' : 'stranger'
}

/** The threads of all processes of a user. */
export function threadsOf(uid: number, table: Table): number {
  let count = 0
  for (const { pid, threads } of table.values()) {
    if (attempt(() => statSync(`/proc/${pid}`).uid) === uid) count += threads
  }
  return count
}

function isBelow(pid: number, ancestor: number): boolean {
  for (let row = rowOf(pid); row && row.parent > 0; row = rowOf(row.parent)) if (row.parent === ancestor) return true
  return false
}

/** The name of a program stands in brackets, and may itself contain brackets and spaces. */
function rowOf(pid: number): Row | undefined {
  const text = attempt(() => readFileSync(`/proc/${pid}/stat`, 'latin1'))
  if (text === undefined) return undefined
  const fields = text.slice(text.lastIndexOf(') ') + 2).split(' ')
  const number = (index: number) => Number(fields[index])
  return {
    pid,
    parent: number(1),
    session: number(3),
    startedAt: number(19),
    threads: number(17),
    residentBytes: number(21) * pageBytes(),
    cpuSeconds: (number(11) + number(12) + number(13) + number(14)) / TICKS_PER_SECOND,
  }
}

/** The unit of times in /proc (USER_HZ), the same on every machine. */
const TICKS_PER_SECOND = 100

let knownPageBytes: number | undefined

/** From the auxiliary vector that the kernel gives to every program: pairs of key and value. */
function pageBytes(): number {
  if (knownPageBytes !== undefined) return knownPageBytes
  const pairs = readFileSync('/proc/self/auxv')
  const PAGE_SIZE = 6n
  for (let at = 0; at + 16 <= pairs.length; at += 16) {
    if (pairs.readBigUInt64LE(at) === PAGE_SIZE) knownPageBytes = Number(pairs.readBigUInt64LE(at + 8))
  }
  knownPageBytes ??= 4096
  return knownPageBytes
}

function fairShareOf(pid: number): number | undefined {
  const kilobytes = /^Pss:\s+(\d+) kB$/m.exec(attempt(() => readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')) ?? '')
  return kilobytes ? Number(kilobytes[1]) * 1024 : undefined
}

const IN_MEMORY = 0x01021994
const MEMORY_FOLDERS = ['tmp', 'dev/shm']

/** A sandbox has tmpfs mounts of its own. Each is counted once, and those of the machine never. */
function filesInMemory(tree: readonly Row[]): number {
  const ownNamespace = attempt(() => readlinkSync('/proc/self/ns/mnt'))
  const seen = new Set(MEMORY_FOLDERS.map((folder) => attempt(() => statSync(`/${folder}`).dev)))
  const namespaces = new Set([ownNamespace, undefined])
  let bytes = 0
  for (const { pid } of tree) {
    const namespace = attempt(() => readlinkSync(`/proc/${pid}/ns/mnt`))
    if (namespaces.has(namespace)) continue
    namespaces.add(namespace)
    for (const folder of MEMORY_FOLDERS) {
      const path = join('/proc', String(pid), 'root', folder)
      const device = attempt(() => statSync(path).dev)
      const space = attempt(() => statfsSync(path))
      if (space?.type !== IN_MEMORY || seen.has(device)) continue
      seen.add(device)
      bytes += (space.blocks - space.bfree) * space.bsize
    }
  }
  return bytes
}

/** A process may end while it is read, and some may not be read at all. */
function attempt<T>(look: () => T): T | undefined {
  try {
    return look()
  } catch (error) {
    if (['ENOENT', 'ESRCH', 'EACCES', 'EPERM', 'ENOTDIR', 'EINVAL'].includes(codeOf(error))) return undefined
    throw error
  }
}
