/**
 * A service that npm or `bin/headland.js` started ends when that parent ends: otherwise it would go on unseen, and Ctrl-C in
 * its terminal could not stop it. One that systemd, a container or a shell started goes on.
 */
import { readFileSync } from 'node:fs'
import { type Clock, pollUntil, systemClock } from './base/index.ts'

/** What started this process: npm, or the launcher with this process id; both, where npm started the launcher. */
export type Starters = { npm: boolean; launcher: number | undefined }

/** A check costs one system call, and a small file of `/proc` for each shell in between. */
const CHECK_EVERY_MS = 500

type WatchOptions = { clock?: Clock; lineage?: () => number[]; signal?: AbortSignal }

/** Resolves when one of the starters is gone, or when `signal` is aborted. Never resolves without starters. */
export async function parentGone(starters: Starters, options: WatchOptions = {}): Promise<void> {
  const { clock = systemClock, lineage = () => lineageOf(starters), signal } = options
  const first = lineage()
  if (first.length === 0) return new Promise(() => undefined)
  if (starters.launcher !== undefined && first[0] !== starters.launcher) return
  const isGone = () => String(lineage()) !== String(first)
  await pollUntil(clock, isGone, {
    pauseMs: CHECK_EVERY_MS,
    timeoutMs: Number.POSITIVE_INFINITY,
    ...(signal && { signal }),
  })
}

/** Process ids of the starters, the nearest first. Between npm and this process may be the launcher, and a `sh -c` of npx. */
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

/** In `/proc/<pid>/stat` the state and the parent follow the program name, which is in parentheses and may have any character. */
function parentOf(pid: number): number | undefined {
  const fields = read(pid, 'stat')
  const parent = fields?.slice(fields.lastIndexOf(')') + 2).split(' ')[1]
  return parent === undefined ? undefined : Number(parent)
}

/** Undefined where the process is gone, and on systems without `/proc`. */
function read(pid: number, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return undefined
  }
}
