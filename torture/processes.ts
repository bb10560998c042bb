/** The processes of the service under test, its builds and its apps, found by their command lines. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

type FoundProcess = { pid: number; parent: number; command: string[]; cgroup: string }

export const roleOf = (
  servicePid: number,
  role: 'agent' | 'edge' | 'control' | 'worker' | 'files',
): number | undefined =>
  all().find(({ parent, command }) => parent === servicePid && command[command.indexOf('role') + 1] === role)?.pid

/** The programs themselves without their wrappers, and only those in the given cgroups. */
export const jobsOf = (groups: readonly string[], kind: 'torture-build' | 'torture-app'): number[] =>
  all()
    .filter(
      ({ command, cgroup }) =>
        command.at(-1) === kind && /node$/.test(command[0] ?? '') && groups.some((group) => cgroup.includes(group)),
    )
    .map(({ pid }) => pid)

/** Every process whose command line has the folder, or that is in a cgroup of this service. */
export const allOf = (dataDir: string, group: string): string[] =>
  all()
    .filter(
      ({ pid, command, cgroup }) =>
        pid !== process.pid && (command.join(' ').includes(dataDir) || cgroup.includes(group)),
    )
    .map(({ pid, command }) => `${pid} ${command.join(' ').slice(0, 200)}`)

function all(): FoundProcess[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      const status = textOf(join('/proc', name, 'status'))
      if (status === '' || /^State:\tZ/m.test(status)) return []
      return {
        pid: Number(name),
        parent: Number(/^PPid:\t(\d+)$/m.exec(status)?.[1]),
        command: textOf(join('/proc', name, 'cmdline'))
          .split('\0')
          .filter(Boolean),
        cgroup: textOf(join('/proc', name, 'cgroup')),
      }
    })
}

/** Processes may end between listing and reading. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return ''
    throw error
  }
}

/** False if the process had already ended. */
export function signalTo(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    return false
  }
}

/** The name of the cgroup that contains everything the service with that data folder starts. */
export const groupOf = (dataDir: string): string =>
  `headland-${createHash('sha256').update(dataDir).digest('hex').slice(0, 12)}`

/** Zombies, which ended but were not waited for, do not run. */
export function isRunning(pid: number): boolean {
  const status = textOf(`/proc/${pid}/status`)
  return status !== '' && !/^State:\tZ/m.test(status)
}
