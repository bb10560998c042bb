/** What the service uses at a moment: memory, file handles, disk. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestService } from '../../test/support/service/service.ts'
import { roleOf } from '../processes.ts'

const MEBIBYTE = 1024 ** 2

/**
 * What is measured, in which unit, and by how much it may grow in a minute. Memory: less than ten minutes can
 * distinguish from noise. Handles: none should be left over; one more or less is open at any moment. Disk: a build
 * leaves 4 KiB of log until the hourly round, an upload its archive, and every call a row or two of history, which is
 * 0.3 to 0.4 MiB at this load.
 */
export const MEASURES = {
  'control: resident memory': { unit: 'MiB', allowed: 1.5 },
  'edge: resident memory': { unit: 'MiB', allowed: 1.5 },
  'control: heap': { unit: 'MiB', allowed: 0.15 },
  'SQLite thread: heap': { unit: 'MiB', allowed: 0.05 },
  'edge: heap': { unit: 'MiB', allowed: 0.15 },
  'control: handles': { unit: '', allowed: 0.5 },
  'edge: handles': { unit: '', allowed: 0.5 },
  database: { unit: 'MiB', allowed: 1 },
  'other files': { unit: 'MiB', allowed: 1 },
} as const
export type Measure = keyof typeof MEASURES

export async function sample(service: TestService, heaps: string): Promise<Record<Measure, number>> {
  const [control, edge] = [roleOf(service.pid, 'control'), roleOf(service.pid, 'edge')]
  if (control === undefined || edge === undefined) throw new Error('a process of the service is not there')
  const thread = readdirSync(heaps).find(
    (name) => name.startsWith(`${control}-`) && name !== `${control}-0.json` && name.endsWith('.json'),
  )
  const heapOf = (name: string) => JSON.parse(readFileSync(join(heaps, name), 'utf8')).bytes / MEBIBYTE
  const database = ['headland.db', 'headland.db-wal', 'headland.db-shm'].reduce(
    (sum, name) => sum + (statSync(join(service.dataDir, name), { throwIfNoEntry: false })?.size ?? 0),
    0,
  )
  return {
    'control: resident memory': residentOf(control),
    'edge: resident memory': residentOf(edge),
    'control: heap': heapOf(`${control}-0.json`),
    'SQLite thread: heap': heapOf(thread ?? 'the thread reported nothing'),
    'edge: heap': heapOf(`${edge}-0.json`),
    'control: handles': readdirSync(`/proc/${control}/fd`).length,
    'edge: handles': readdirSync(`/proc/${edge}/fd`).length,
    database: database / MEBIBYTE,
    'other files': ((await bytesIn(service.dataDir)) - database) / MEBIBYTE,
  }
}

const residentOf = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024

/** In allocated disk blocks. Files may be deleted during the count. */
async function bytesIn(folder: string): Promise<number> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(whenGone)
  const sizes = await Promise.all(
    (entries ?? []).map(async (entry) => {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) return bytesIn(path)
      return ((await lstat(path).catch(whenGone))?.blocks ?? 0) * 512
    }),
  )
  return sizes.reduce((sum, bytes) => sum + bytes, 0)
}

function whenGone(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error
}
