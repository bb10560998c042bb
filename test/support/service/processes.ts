/** The processes of a service, by role. */
import { readdirSync, readFileSync } from 'node:fs'
import { startTimeOf, unlessGone } from '../../../src/base/index.ts'

export type Role = 'agent' | 'edge' | 'control' | 'files'

/** The newest of each role. */
export const processesOf = (servicePid: number): Partial<Record<Role, number>> =>
  Object.fromEntries(allOf(servicePid).map(({ role, pid }) => [role, pid]))

/** The newest one, and those that still hold apps. */
export const agentsOf = (servicePid: number): number[] =>
  allOf(servicePid).flatMap(({ role, pid }) => (role === 'agent' ? pid : []))

export const edgesOf = (servicePid: number): number[] =>
  allOf(servicePid).flatMap(({ role, pid }) => (role === 'edge' ? pid : []))

/** In the order of their starts. */
function allOf(servicePid: number): { role: Role; pid: number }[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids
    .flatMap((pid) => ({ role: roleOf(pid, servicePid), pid: Number(pid), started: Number(startTimeOf(Number(pid))) }))
    .filter((found): found is { role: Role; pid: number; started: number } => found.role !== undefined)
    .toSorted((a, b) => a.started - b.started || a.pid - b.pid)
}

function roleOf(pid: string, parent: number): Role | undefined {
  const status = unlessGone(() => readFileSync(`/proc/${pid}/status`, 'utf8')) ?? ''
  if (Number(/^PPid:\t(\d+)/m.exec(status)?.[1]) !== parent) return undefined
  const args = (unlessGone(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8')) ?? '').split('\0')
  const at = args.indexOf('role')
  return at === -1 ? undefined : (args[at + 1] as Role)
}
