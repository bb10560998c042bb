/** CPU time and memory as the kernel counts them (proc(5)): steady where wall-clock time depends on other load. */
import { readdirSync, readFileSync } from 'node:fs'

/** USER_HZ, which is 100 on every Linux that Node runs on. */
const MS_PER_TICK = 10

type Stat = { pid: number; parent: number; ownTicks: number; reapedTicks: number }

/**
 * CPU time of a process and its descendants. Children that have ended count through the process that waited for them.
 */
export function treeCpuMs(root: number): number {
  const ticks = treeOf(root).reduce((sum, { ownTicks, reapedTicks }) => sum + ownTicks + reapedTicks, 0)
  return ticks * MS_PER_TICK
}

export const treePids = (root: number): number[] => treeOf(root).map(({ pid }) => pid)

export const commandOf = (pid: number): string => read(pid, 'cmdline').replaceAll('\0', ' ').trim()

/** Memory of one process, in megabytes of 1024². */
export type Memory = {
  /** All resident pages; shared ones count in full. */
  rss: number
  /** Private pages. */
  rssAnon: number
  /** Pages of files, of which those of the program itself are shared by every process that runs it. */
  rssFile: number
  /** A page that n processes share counts an n-th: falls when anything else on the machine runs the same program. */
  pss: number
}

export const memoryOf = (pid: number): Memory => ({
  rss: megabytes(pid, 'status', 'VmRSS'),
  rssAnon: megabytes(pid, 'status', 'RssAnon'),
  rssFile: megabytes(pid, 'status', 'RssFile'),
  pss: megabytes(pid, 'smaps_rollup', 'Pss'),
})

/** Private memory of all of them, in megabytes of 1024². One that has ended since they were listed has none. */
export const privateMemoryOf = (pids: readonly number[]): number =>
  pids.flatMap((pid) => ifAlive(() => memoryOf(pid).rssAnon)).reduce((sum, one) => sum + one, 0)

function treeOf(root: number): Stat[] {
  const all = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => ifAlive(() => readStat(Number(name))))
  const found = all.filter(({ pid }) => pid === root)
  // The list grows during the loop: children are appended after their parents.
  for (const { pid } of found) found.push(...all.filter(({ parent }) => parent === pid))
  return found
}

/** What is read of a process, in a list; an empty one where the process has ended. */
function ifAlive<Found>(look: () => Found): Found[] {
  try {
    return [look()]
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return []
    throw error
  }
}

/** Fields are counted after the name, which is in parentheses and may contain any character. */
function readStat(pid: number): Stat {
  const text = read(pid, 'stat')
  const fields = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number)
  const [parent = 0, utime = 0, stime = 0, cutime = 0, cstime = 0] = [1, 11, 12, 13, 14].map((index) => fields[index])
  return { pid, parent, ownTicks: utime + stime, reapedTicks: cutime + cstime }
}

function megabytes(pid: number, file: string, row: string): number {
  const found = new RegExp(`^${row}:\\s+(\\d+) kB$`, 'm').exec(read(pid, file))
  return Number(found?.[1]) / 1024
}

const read = (pid: number, file: string): string => readFileSync(`/proc/${pid}/${file}`, 'utf8')
