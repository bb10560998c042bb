/**
 * A sandbox dies with the service that started it, unless the service is killed in the very moment between starting
 * bubblewrap and bubblewrap asking the kernel for that. The next start on the same data folder ends what is left so.
 */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'

/**
 * What the sandboxes of a data folder have in their environment, to be known by from outside. It is of no use to a program
 * that finds it.
 */
export const markOf = (folder: string): string => createHash('sha256').update(folder).digest('hex').slice(0, 16)

export const MARK = 'HEADLAND_SANDBOX'

/** Ends sandboxes of the folder whose service is gone; says how many. */
export function endOrphans(folder: string): number {
  const orphans = readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .filter((pid) => isSandbox(pid, markOf(folder)) && !hasService(pid))
  for (const pid of orphans) process.kill(Number(pid), 'SIGKILL')
  return orphans.length
}

const isSandbox = (pid: string, mark: string): boolean =>
  read(`/proc/${pid}/environ`).split('\0').includes(`${MARK}=${mark}`)

/** Its parent is a service, or the outer half of a sandbox, which is looked at by itself. */
function hasService(pid: string): boolean {
  const parent = /^PPid:\t(\d+)$/m.exec(read(`/proc/${pid}/status`))?.[1]
  return parent === undefined || /headland|bwrap/.test(read(`/proc/${parent}/cmdline`))
}

/** Processes come and go while one looks. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (['ENOENT', 'ESRCH', 'EACCES'].includes((error as NodeJS.ErrnoException).code ?? '')) return ''
    throw error
  }
}
