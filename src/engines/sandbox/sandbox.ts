/** Runs programs in bubblewrap. */

import type { Engine, Job } from '../engine.ts'
import type { Limiter } from '../limits/index.ts'
import { sandboxIdOf } from '../orphans.ts'
import { seccompProgram } from '../seccomp/index.ts'
import { startLimited } from '../start-limited.ts'
import { checkTenant } from '../users.ts'
import { LAUNCH } from './command.ts'
import { overlayProblem } from './overlay.ts'
import { fillInner } from './stage.ts'
import { trySandbox } from './trial.ts'

type Parts = {
  bubblewrap: string
  /** The folder that will contain the folders of jobs. */
  folder: string
  limiter: Limiter
  /** For tests: the index of the first identity that is tried, the best being the first. */
  identity?: number
}

/** The engine, or why there is none. */
export async function openSandbox(parts: Parts): Promise<Engine | { missing: string }> {
  const { bubblewrap, folder, limiter } = parts
  const method = await trySandbox(bubblewrap, parts.identity)
  if ('missing' in method) return method
  const { isRoot, isStaged } = method
  const filter = seccompProgram()
  return {
    isIsolating: true,
    limits: limiter.description,
    overlayMissing: await overlayProblem(folder, isRoot),
    description: method.description,
    async start(job, onOutput) {
      if (isRoot) checkTenant(job.user)
      const given = { ...job, mounts: [...job.mounts, ...(job.network?.mounts ?? [])] }
      const mounts = isStaged ? await fillInner({ ...given, isRoot }) : given.mounts.map(withoutInner)
      const command = method.command({ ...given, mounts }, LAUNCH)
      const spawn = { sandboxId: sandboxIdOf(folder), ...(filter ? { filter } : {}) }
      // Inside, the launcher already runs as the tenant's user.
      const inside = { ...job, mounts, user: undefined }
      const inNetwork = job.network ? job.network.around(command) : command
      return startLimited({ limiter, command: inNetwork, spawn }, inside, onOutput)
    },
  }
}

const withoutInner = ({ from, to, isWritable }: Job['mounts'][number]) => ({ from, to, isWritable })
