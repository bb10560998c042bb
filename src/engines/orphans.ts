/**
 * A sandbox dies with the service that started it, unless the service is killed in the moment before bubblewrap has set its
 * parent-death signal. The next start on the same data folder kills such sandboxes.
 */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { unlessGone } from '../base/index.ts'

/**
 * The value of HEADLAND_SANDBOX in the environment of a data folder's sandboxes, by which they are found. It is of no use to a
 * program that reads it.
 */
export const sandboxIdOf = (folder: string): string => createHash('sha256').update(folder).digest('hex').slice(0, 16)

export const SANDBOX_VARIABLE = 'HEADLAND_SANDBOX'

/** Kills sandboxes of the folder whose service is gone; returns how many. */
export function endOrphans(folder: string): number {
  const orphans = readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .filter((pid) => isSandbox(pid, sandboxIdOf(folder)) && !hasService(pid))
  for (const pid of orphans) process.kill(Number(pid), 'SIGKILL')
  return orphans.length
}

const isSandbox = (pid: string, sandboxId: string): boolean =>
  read(`/proc/${pid}/environ`).split('\0').includes(`${SANDBOX_VARIABLE}=${sandboxId}`)

/** Whether its parent is a service, or the outer process of a sandbox, which is checked by itself. */
function hasService(pid: string): boolean {
  const parent = /^PPid:\t(\d+)$/m.exec(read(`/proc/${pid}/status`))?.[1]
  return parent === undefined || /headland|bwrap/.test(read(`/proc/${parent}/cmdline`))
}

/** A process may end while it is read. */
const read = (path: string): string => unlessGone(() => readFileSync(path, 'utf8')) ?? ''
