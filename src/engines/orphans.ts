/**
 * A sandbox dies with the service that started it, unless the service is killed in the very moment between starting
 * bubblewrap and bubblewrap asking the kernel for that. The next start on the same data folder ends what is left so.
 */
import { readdirSync, readFileSync } from 'node:fs'

/** Ends sandboxes that mount something of the folder and whose service is gone; says how many. */
export function endOrphans(folder: string): number {
  const orphans = readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .filter((pid) => isSandboxOf(read(`/proc/${pid}/cmdline`), folder) && !hasService(pid))
  for (const pid of orphans) process.kill(Number(pid), 'SIGKILL')
  return orphans.length
}

const isSandboxOf = (command: string, folder: string): boolean =>
  /^[^\0]*bwrap\0/.test(command) && command.includes(`\0${folder}/`)

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
