/**
 * Cgroups are named after the process that made them, so that the next start recognizes those of a dead service. No cgroup
 * outlives a boot, so a process is identified by its id, its start time and its pid namespace.
 */
import { pidNamespace, startTimeOf } from '../../base/index.ts'

let made = 0

export function cgroupName(job: string): string {
  const readable = job.replaceAll(/[^A-Za-z0-9-]/g, '-').slice(0, 64)
  return [namespaceOfThis(), process.pid, startTimeOf(process.pid), ++made, readable].join('_')
}

export type Maker = 'this' | 'alive' | 'dead' | 'unknown'

/** `dead` only when it is certain; a process of another namespace cannot be judged from here. */
export function makerOf(cgroup: string): Maker {
  const [namespace, pid, start] = cgroup.split('_')
  if (start === undefined || !/^\d+$/.test(start) || namespace !== namespaceOfThis()) return 'unknown'
  if (startTimeOf(Number(pid)) !== start) return 'dead'
  return Number(pid) === process.pid ? 'this' : 'alive'
}

const namespaceOfThis = (): string => pidNamespace() ?? 'unknown'
