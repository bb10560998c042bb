/** The processes of the service under torture: its edge, its builds and its apps, found by what they are told to run. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

type FoundProcess = { pid: number; parent: number; command: string[]; cgroup: string }

export const edgeOf = (servicePid: number): number | undefined =>
  all().find(({ parent, command }) => parent === servicePid && command.some((part) => part.endsWith('edge/process.ts')))
    ?.pid

/** The programs themselves, not what stands around them; of this service alone, whose groups they are in. */
export const jobsOf = (group: string, kind: 'torture-build' | 'torture-app'): number[] =>
  all()
    .filter(
      ({ command, cgroup }) => command.at(-1) === kind && /node$/.test(command[0] ?? '') && cgroup.includes(group),
    )
    .map(({ pid }) => pid)

/** Everything that mentions the folder, or is in a group of this service. */
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

/** Processes come and go while one looks. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return ''
    throw error
  }
}

/** False when it was gone already. */
export function signalTo(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    return false
  }
}
