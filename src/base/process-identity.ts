/**
 * Identifies a process. The kernel reuses the ids of processes that have ended, so a process is identified by its id,
 * its start time and the namespace of the id.
 */
import { readFileSync, readlinkSync } from 'node:fs'
import { randomToken } from './secret.ts'

/** In clock ticks since boot. Undefined if the process is gone or a zombie, or where there is no /proc. */
export function startTimeOf(pid: number): string | undefined {
  const text = unlessGone(() => readFileSync(`/proc/${pid}/stat`, 'latin1'))
  if (text === undefined) return undefined
  // The name of the program is in brackets, and may itself contain brackets and blanks.
  const fields = text.slice(text.lastIndexOf(') ') + 2).split(' ')
  return /[ZX]/.test(fields[0] ?? '') ? undefined : fields[19]
}

/** The number of the process-id namespace of this process. Undefined where there is no /proc. */
export const pidNamespace = (): string | undefined =>
  /\d+/.exec(unlessGone(() => readlinkSync('/proc/self/ns/pid')) ?? '')?.[0]

/** For reads of /proc: undefined if the process is gone, or belongs to another user. */
export function unlessGone<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (['ENOENT', 'ESRCH', 'EACCES'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw error
  }
}

/** A name of this process by which another one on the same machine can find out whether it still runs. */
export const processName = (): string =>
  [machine() ?? 'unknown', process.pid, startTimeOf(process.pid) ?? 'unknown', randomToken()].join(' ')

/** True only when it is certain: it was a process of this machine since its last boot, and is gone. */
export function isProcessGone(name: string): boolean {
  const [itsMachine, pid, itsStart] = name.split(' ')
  if (itsStart === undefined || itsStart === 'unknown' || itsMachine !== machine()) return false
  return startTimeOf(Number(pid)) !== itsStart
}

/** This boot of this machine, as seen from this process-id namespace. */
function machine(): string | undefined {
  return unlessGone(
    () => `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}/${readlinkSync('/proc/self/ns/pid')}`,
  )
}
