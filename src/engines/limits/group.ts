/** A cgroup, or one in each hierarchy, that holds one job: what both versions have in common. */

import { codeOf, type Files, writeIfThere } from './files.ts'
import type { Excess, Limits } from './index.ts'

export type Groups = {
  kind: 'cgroup2' | 'cgroup1'
  description: string
  /** Throws where the kernel refuses. */
  make(cgroup: string, limits: Limits): Group
}

export type Group = {
  /** The files through which a process enters. */
  doors: readonly string[]
  /** What the kernel sees to; the rest has to be watched. */
  keeps: { memory: boolean; processes: boolean; cpu: boolean }
  /** Counted by the kernel since the group was made. */
  reached(): Excess[]
  /** Of processes and files in memory, without what the kernel merely keeps of files on disk. */
  memoryBytes(): number | undefined
  /** With files on disk that the kernel keeps in memory. */
  peakMemoryBytes(): number | undefined
  cpuSeconds(): number | undefined
  processes(): number[]
  /** Ends everything in it; nothing new can be started. */
  end(): void
  /** False when something still lives in it. */
  remove(): boolean
}

/** The folder of all cages of a service. Jobs together weigh as much as the service alone, so they cannot starve it. */
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

/** At once where the kernel can do that; else nobody may start another process while they are ended one by one. */
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
}

export function endProcess(pid: number, signal: 'SIGKILL' | 'SIGSTOP' = 'SIGKILL') {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if (!['ESRCH', 'EPERM'].includes(codeOf(error))) throw error
  }
}
