/**
 * The owner of a lease: a process, named so that another process on the same machine can find out whether it still runs.
 * After a crash the next start takes its operations over at once, instead of waiting for the leases to run out. If /proc
 * gives no answer (another operating system, another machine), the lease decides.
 */
import { readFileSync, readlinkSync } from 'node:fs'
import { randomToken, startTimeOf, unlessGone } from '../base/index.ts'

export function ownerOfThisProcess(): string {
  return [machine() ?? 'unknown', process.pid, startTimeOf(process.pid) ?? 'unknown', randomToken()].join(' ')
}

/** True only when it is certain: the owner was a process of this machine since its last boot, and is gone. */
export function isDead(owner: string): boolean {
  const [itsMachine, pid, itsStart] = owner.split(' ')
  if (itsStart === undefined || itsStart === 'unknown' || itsMachine !== machine()) return false
  return startTimeOf(Number(pid)) !== itsStart
}

/** This boot of this machine, as seen from this process-id namespace. */
function machine(): string | undefined {
  return unlessGone(
    () => `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}/${readlinkSync('/proc/self/ns/pid')}`,
  )
}
