/** A program in a cage of limits: it enters before it is itself, and the cage is removed after the last of its processes. */
import type { Exit, Job, Output, Process } from './engine.ts'
import type { Limiter } from './limits/index.ts'
import { type Spawn, startProcess } from './process.ts'

/** `command` is what becomes the program, after everything that has to be done around it. */
export function startLimited(
  limiter: Limiter,
  command: readonly string[],
  more: Omit<Spawn, 'file' | 'args'>,
  job: Job,
  onOutput: Output,
): Process {
  const cgroup = job.limits && limiter.cgroup(job.name ?? 'job', job.limits)
  const [file = '', ...args] = cgroup ? cgroup.around(command) : command
  const running = startProcess({ ...more, file, args }, job, onOutput)
  if (!cgroup) return running
  const kill = () => {
    cgroup.kill()
    // It ends by its cage; what is outside of it is told as well. Why it ended is known by then.
    running.stop(0).catch(() => undefined)
  }
  if (running.pid > 0) cgroup.watch(running.pid, kill, writtenBy(job))
  const exited: Promise<Exit> = running.exited.then(
    async (exit) => ({ ...exit, excess: (await cgroup.leave()).excess }),
    async (error) => {
      await cgroup.leave()
      throw error
    },
  )
  return {
    ...running,
    exited,
    memoryBytes: cgroup.memoryBytes,
    async stop(graceMs) {
      // A process that got away from its tree and holds the pipes would keep all of it waiting.
      const timer = setTimeout(() => cgroup.kill(), graceMs)
      try {
        await running.stop(graceMs)
        return await exited
      } finally {
        clearTimeout(timer)
      }
    },
  }
}

const writtenBy = ({ mounts, overlays = [] }: Job): string[] => {
  const laid = new Set(overlays.map(({ at }) => at))
  return [
    ...mounts.filter(({ isWritable, from }) => isWritable && !laid.has(from)).map(({ from }) => from),
    ...mounts.flatMap(({ inner = [] }) => inner.map(({ from }) => from)),
    ...overlays.flatMap(({ changes }) => (changes ? [changes.folder] : [])),
  ]
}
