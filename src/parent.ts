/**
 * A service that npm or our own launcher started ends with them: without its parent nobody would see it go on, and the
 * terminal that it was started in could not end it. One that systemd, a container or a shell started is left alone.
 */
import { readFileSync } from 'node:fs'
import { type Clock, systemClock } from './base/index.ts'

/** Who started this process: npm, or the launcher with this id; both, where npm started the launcher. */
export type Starters = { npm: boolean; launcher: number | undefined }

/** Asking is a system call, and a small file of `/proc` for each shell in between. */
const EVERY_MS = 500

type Watching = { clock?: Clock; lineage?: () => number[]; signal?: AbortSignal }

/** Resolves when one of those that this process shall end with is gone, or when it is told to look no longer. */
export async function parentGone(starters: Starters, watching: Watching = {}): Promise<void> {
  const { clock = systemClock, lineage = () => lineageOf(starters), signal } = watching
  const first = lineage()
  if (first.length === 0) return new Promise(() => undefined)
  if (starters.launcher !== undefined && first[0] !== starters.launcher) return
  while (!signal?.aborted && String(lineage()) === String(first)) await clock.sleep(EVERY_MS, signal)
}

/** Their ids, the nearest first. Between npm and a program may stand `sh -c`, which npx leaves there, and the launcher. */
export function lineageOf({ npm, launcher }: Starters): number[] {
  if (!npm && launcher === undefined) return []
  const found = [process.ppid]
  for (let at = process.ppid; npm && (at === launcher || isShell(at)); ) {
    const parent = parentOf(at)
    if (parent === undefined) break
    found.push(parent)
    at = parent
  }
  return found
}

const isShell = (pid: number): boolean => /^[^\0]*sh\0-c\0/.test(read(pid, 'cmdline') ?? '')

/** After the name of the program, which may have any character and stands in parentheses: its state, and its parent. */
function parentOf(pid: number): number | undefined {
  const facts = read(pid, 'stat')
  const parent = facts?.slice(facts.lastIndexOf(')') + 2).split(' ')[1]
  return parent === undefined ? undefined : Number(parent)
}

/** Undefined where the process is gone, and on systems that do not tell. */
function read(pid: number, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return undefined
  }
}
