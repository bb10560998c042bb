/** Starts a program with limits: it enters its cgroup before it runs, and the cgroup is removed after its last process. */
import type { Exit, Job, Output, Process } from './engine.ts'
import type { Limiter } from './limits/index.ts'
import { type Spawn, startProcess } from './process.ts'

type LimitedStart = {
  limiter: Limiter
  /** Sets up everything around the program, and then execs it. */
  command: readonly string[]
  spawn: Omit<Spawn, 'file' | 'args'>
}

export function startLimited({ limiter, command, spawn }: LimitedStart, job: Job, onOutput: Output): Process {
  const cgroup = job.limits && limiter.cgroup(job.name ?? 'job', job.limits)
  const [file = '', ...args] = cgroup ? cgroup.around(command) : command
  const running = startProcess({ ...spawn, file, args }, job, onOutput)
  if (!cgroup) return running
  const kill = () => {
    cgroup.kill()
    // The cgroup kills the job; processes outside of it are stopped as well. The reason is recorded by then.
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
    freeze: cgroup.freeze,
    thaw: cgroup.thaw,
    async stop(graceMs) {
      // A process that left the tree and keeps the pipes open would delay the exit without end.
      const timer = setTimeout(() => cgroup.kill(), graceMs)
      cgroup.thaw()
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
