/** Programs in bubblewrap. */

import type { Engine, Job } from '../engine.ts'
import type { Limiter } from '../limits/index.ts'
import { markOf } from '../orphans.ts'
import { seccompProgram } from '../seccomp/index.ts'
import { startLimited } from '../start-limited.ts'
import { checkTenant } from '../users.ts'
import { LAUNCH } from './command.ts'
import { overlayProblem } from './overlay.ts'
import { fillInner } from './stage.ts'
import { trySandbox } from './trial.ts'

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
      return startLimited(limiter, job.network ? job.network.around(command) : command, spawn, inside, onOutput)
    },
  }
}

const withoutInner = ({ from, to, isWritable }: Job['mounts'][number]) => ({ from, to, isWritable })
