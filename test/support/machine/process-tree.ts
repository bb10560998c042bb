/** The processes of this machine, as Linux reports them. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

export type Running = { pid: number; parent: number; group: number; command: string[]; program: string }

/** Zombies, which ended but were not waited for, are left out. */
export function runningProcesses(): Running[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    try {
      const facts = readFileSync(`/proc/${name}/stat`, 'utf8')
      const [state, parent, group] = facts.slice(facts.lastIndexOf(')') + 2).split(' ')
      if (state === 'Z' || state === 'X') return []
      const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0').slice(0, -1)
      const program = readlinkSync(`/proc/${name}/exe`)
      return [{ pid: Number(name), parent: Number(parent), group: Number(group), command, program }]
    } catch {
      // It ended meanwhile, or it is a kernel thread, which runs no program.
      return []
    }
  })
}

export const childrenOf = (pid: number): Running[] => runningProcesses().filter(({ parent }) => parent === pid)

export const groupOf = (leader: number): Running[] => runningProcesses().filter(({ group }) => group === leader)

/** It may have ended with its parent, which was killed before it. */
export function killIfThere(pid: number) {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
