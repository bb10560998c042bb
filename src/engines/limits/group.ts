/** The cgroup of one job (version 1: one in each hierarchy): what both versions have in common. */

import { codeOf, type Files, writeIfThere } from './files.ts'
import { type Freezer, freezerOf } from './freezer.ts'
import type { Excess, Limits } from './limits.ts'

export type Groups = {
  kind: 'cgroup2' | 'cgroup1'
  description: string
  /** Throws where the kernel refuses. */
  make(cgroup: string, limits: Limits): Group
}

export type Group = {
  /** The `cgroup.procs` files through which a process enters. */
  procsFiles: readonly string[]
  /** Which limits the kernel enforces; the service has to watch the others. */
  enforces: { memory: boolean; processes: boolean; cpu: boolean }
  /** Counted by the kernel since the group was made. */
  reached(): Excess[]
  /** Of processes and files in memory, without the page cache of files on disk. */
  memoryBytes(): number | undefined
  /** With the page cache of files on disk. */
  peakMemoryBytes(): number | undefined
  cpuSeconds(): number | undefined
  processes(): number[]
  /** Undefined where the kernel cannot freeze it. */
  freezer(): Freezer | undefined
  /** Ends everything in it; nothing new can be started. */
  end(): void
  /** False when something still lives in it. */
  remove(): boolean
}

/** The parent of all cgroups of a service. Jobs together weigh as much as the service alone, so they cannot starve it. */
export const folderName = (name: string): string => `headland-${name}`

export const words = (text: string | undefined): string[] => (text ?? '').split(/\s+/).filter(Boolean)

/** From a file of lines such as `oom_kill 2`. */
export function counter(text: string | undefined, key: string): number | undefined {
  const line = text?.split('\n').find((each) => each.startsWith(`${key} `))
  return line === undefined ? undefined : Number(line.slice(key.length + 1))
}

export function figure(text: string | undefined): number | undefined {
  return text === undefined || !/^\d+\s*$/.test(text) ? undefined : Number(text)
}

/** Processes of other namespaces are listed as 0. */
export const processesIn = (files: Files, folder: string): number[] =>
  words(files.read(`${folder}/cgroup.procs`))
    .map(Number)
    .filter((pid) => pid > 0)

/** At once where the kernel has `cgroup.kill`; else no process can be started while the others are killed one by one. */
export function endAllIn(files: Files, folder: string) {
  if (files.read(`${folder}/cgroup.events`) !== undefined) {
    try {
      return files.write(`${folder}/cgroup.kill`, '1')
    } catch (error) {
      if (!['ENOENT', 'EACCES', 'EPERM', 'EOPNOTSUPP', 'ENODEV'].includes(codeOf(error))) throw error
    }
  }
  writeIfThere(files, `${folder}/pids.max`, '0')
  for (const pid of processesIn(files, folder)) endProcess(pid)
  // Those that are frozen end only now.
  freezerOf(folder, files)?.thaw()
}

export function endProcess(pid: number, signal: 'SIGKILL' | 'SIGSTOP' = 'SIGKILL') {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if (!['ESRCH', 'EPERM'].includes(codeOf(error))) throw error
  }
}
