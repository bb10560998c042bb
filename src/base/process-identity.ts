/**
 * Identifies a process. The kernel reuses the ids of processes that have ended, so a process is identified by its id,
 * its start time and the namespace of the id.
 */
import { readFileSync, readlinkSync } from 'node:fs'

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
