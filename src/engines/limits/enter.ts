/** The way into a cage: a program that takes on the limits itself and then turns into the job, so that no moment is free. */
import type { Limits } from './index.ts'

/**
 * Goes through the doors, up to the dashes; takes on the limits of a process; turns into the command. Nothing is ever
 * written into this text. In a group, 0 means the writer itself. A limit that is lower already stays. Of the shells, some call
 * the number of processes -u and some -p. Files are counted in blocks of 512 bytes by all of them.
 */
const ENTER_THEN_RUN = [
  'while [ "$1" != -- ]; do echo 0 > "$1" || exit 125; shift; done',
  '{ echo "$2" > /proc/self/oom_score_adj; ulimit -c 0; ulimit -n "$3"; ulimit -f "$4"; } 2> /dev/null',
  'if [ "$5" != - ]; then { ulimit -u "$5" || ulimit -p "$5"; } 2> /dev/null; fi',
  'niceness=$6; shift 6; [ "$niceness" = 0 ] || set -- nice -n "$niceness" "$@"; exec "$@"',
].join('; ')

/** When the whole machine is short of memory, jobs end before the service does. */
const OOM_SCORE = 500

type Door = {
  doors: readonly string[]
  limits: Limits
  /** A second line for the number of processes, counted over everything that the job's user runs. */
  userProcesses: number | undefined
  /** Instead of a weight, where the kernel knows none. */
  niceness: number
}

export function enter({ doors, limits, userProcesses, niceness }: Door, command: readonly string[]): string[] {
  const blocks = Math.floor(limits.fileBytes / 512)
  const figures = [OOM_SCORE, limits.openFiles, blocks, userProcesses ?? '-', niceness].map(String)
  return ['/bin/sh', '-c', ENTER_THEN_RUN, 'sh', ...doors, '--', ...figures, ...command]
}

/** A step is a quarter more or less. What is above the ordinary takes rights that not everybody has. */
export const nicenessOf = (weight: number): number =>
  Math.min(19, Math.max(0, Math.round(Math.log(100 / weight) / Math.log(1.25))))
