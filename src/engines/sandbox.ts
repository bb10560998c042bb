/** Programs in bubblewrap. */
import { startCaged } from './caged.ts'
import type { Engine, Job } from './engine.ts'
import type { Limiter } from './limits.ts'
import { markOf } from './orphans.ts'
import { overlayProblem } from './overlay.ts'
import { LAUNCH } from './sandbox-command.ts'
import { trySandbox } from './sandbox-trial.ts'
import { seccompProgram } from './seccomp.ts'
import { fillInner } from './stage.ts'
import { checkTenant } from './users.ts'

type Parts = {
  bubblewrap: string
  /** Where the folders of jobs will lie. */
  folder: string
  limiter: Limiter
  /** For tests: which of the ways that work is taken, the best being the first. */
  identity?: number
}

/** The engine, or why there is none. */
export async function openSandbox(parts: Parts): Promise<Engine | { missing: string }> {
  const { bubblewrap, folder, limiter } = parts
  const way = await trySandbox(bubblewrap, parts.identity)
  if ('missing' in way) return way
  const { isRoot, isStaged } = way
  const filter = seccompProgram()
  return {
    isIsolating: true,
    limits: limiter.description,
    overlayMissing: await overlayProblem(folder, isRoot),
    description: way.description,
    async start(job, onOutput) {
      if (isRoot) checkTenant(job.user)
      const given = { ...job, mounts: [...job.mounts, ...(job.network?.mounts ?? [])] }
      const mounts = isStaged ? await fillInner({ ...given, isRoot }) : given.mounts.map(withoutInner)
      const command = way.command({ ...given, mounts }, LAUNCH)
      const spawn = { mark: markOf(folder), ...(filter ? { filter } : {}) }
      // It is the tenant's user already when it reads this.
      const inside = { ...job, mounts, user: undefined }
      return startCaged(limiter, job.network ? job.network.around(command) : command, spawn, inside, onOutput)
    },
  }
}

const withoutInner = ({ from, to, isWritable }: Job['mounts'][number]) => ({ from, to, isWritable })
