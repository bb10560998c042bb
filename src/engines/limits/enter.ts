/** How a job enters its cgroup: a shell applies the limits to itself and then execs the job, which so never runs without them. */
import type { Limits } from './limits.ts'

/**
 * Writes itself into each `cgroup.procs` up to the dashes, sets the limits of a process, and execs the command. All values are
 * arguments, never part of this text. In `cgroup.procs`, 0 means the writer itself. A limit that is lower already stays. Some
 * shells call the number of processes -u and some -p. All of them count file sizes in blocks of 512 bytes.
 */
const ENTER_THEN_RUN = [
  'while [ "$1" != -- ]; do echo 0 > "$1" || exit 125; shift; done',
  '{ echo "$2" > /proc/self/oom_score_adj; ulimit -c 0; ulimit -n "$3"; ulimit -f "$4"; } 2> /dev/null',
  'if [ "$5" != - ]; then { ulimit -u "$5" || ulimit -p "$5"; } 2> /dev/null; fi',
  'niceness=$6; shift 6; [ "$niceness" = 0 ] || set -- nice -n "$niceness" "$@"; exec "$@"',
].join('; ')

/** When the whole machine is short of memory, the kernel kills jobs before the service. */
const OOM_SCORE = 500

type EnterOptions = {
  procsFiles: readonly string[]
  limits: Limits
  /** A second limit on processes (RLIMIT_NPROC), counted over everything that the job's user runs. */
  userProcesses: number | undefined
  /** Instead of a CPU weight, where the kernel has none. */
  niceness: number
}

export function enter(
  { procsFiles, limits, userProcesses, niceness }: EnterOptions,
  command: readonly string[],
): string[] {
  const blocks = Math.floor(limits.fileBytes / 512)
  const figures = [OOM_SCORE, limits.openFiles, blocks, userProcesses ?? '-', niceness].map(String)
  return ['/bin/sh', '-c', ENTER_THEN_RUN, 'sh', ...procsFiles, '--', ...figures, ...command]
}

/** One step of niceness changes the share by about a quarter. Negative values need privileges, so they are not used. */
export const nicenessOf = (weight: number): number =>
  Math.min(19, Math.max(0, Math.round(Math.log(100 / weight) / Math.log(1.25))))
