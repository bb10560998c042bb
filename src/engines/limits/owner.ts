/**
 * Cgroups are named after the process that made them, so that the next start recognizes those of a dead service. No cgroup
 * outlives a boot, so a process is identified by its id, its start time and its pid namespace.
 */
import { readFileSync, readlinkSync } from 'node:fs'
import { codeOf } from './files.ts'

let made = 0

export function cgroupName(job: string): string {
  const readable = job.replaceAll(/[^A-Za-z0-9-]/g, '-').slice(0, 64)
  return [namespaceOfThis(), process.pid, startTime(process.pid), ++made, readable].join('_')
}

export type Maker = 'this' | 'alive' | 'dead' | 'unknown'

/** `dead` only when it is certain; a process of another namespace cannot be judged from here. */
export function makerOf(cgroup: string): Maker {
  const [namespace, pid, start] = cgroup.split('_')
  if (start === undefined || !/^\d+$/.test(start) || namespace !== namespaceOfThis()) return 'unknown'
  if (startTime(Number(pid)) !== start) return 'dead'
  return Number(pid) === process.pid ? 'this' : 'alive'
}

const namespaceOfThis = (): string =>
  /\d+/.exec(attempt(() => readlinkSync('/proc/self/ns/pid')) ?? '')?.[0] ?? 'unknown'

/** In clock ticks since boot: a process id that is used again has another one. */
function startTime(pid: number): string | undefined {
  const fields = attempt(() => readFileSync(`/proc/${pid}/stat`, 'utf8'))
    ?.replace(/^.*\) /s, '')
    .split(' ')
  // A zombie is as dead as one that is gone.
  return fields?.[0] === 'Z' ? undefined : fields?.[19]
}

function attempt<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (['ENOENT', 'ESRCH', 'EACCES'].includes(codeOf(error))) return undefined
    throw error
  }
}
