/** Programs in bubblewrap. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { TENANT_UIDS } from '../base/index.ts'
import { startCaged } from './caged.ts'
import type { Engine, Job } from './engine.ts'
import { type Identity, identitiesOfRoot, identityOfService } from './identity.ts'
import type { Limiter } from './limits.ts'
import { markOf } from './orphans.ts'
import { overlayProblem } from './overlay.ts'
import { LAUNCHER } from './process.ts'
import { INSIDE, LAUNCH, type System, sandboxArguments } from './sandbox-command.ts'
import { seccompProgram } from './seccomp.ts'
import { fillInner, stageFor } from './stage.ts'
import { lookAtSystem } from './system.ts'
import { checkTenant } from './users.ts'

const PROBE_TIMEOUT_MS = 10_000

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
  const probe = ['--ro-bind', '/', '/', '--unshare-pid', '--die-with-parent', '--proc', '/proc', 'true']
  const trouble = await problemWith([bubblewrap, ...probe])
  if (trouble !== undefined) {
    return {
      missing: trouble === 'ENOENT' ? `there is no bubblewrap at ${bubblewrap}` : `bubblewrap fails: ${trouble}`,
    }
  }
  const isRoot = process.getuid?.() === 0
  const filter = seccompProgram()
  const system = await lookAtSystem({ isFiltered: filter !== undefined })
  const isStaged = isRoot || (await problemWith(stageFor({ mounts: [], isRoot }).around(['/bin/true']))) === undefined
  const shape = { bubblewrap, system, isRoot, isStaged }
  const found = await findIdentity(shape, parts.identity ?? 0)
  if ('missing' in found) return found
  const { note } = found
  const users = isRoot ? 'a user for each environment' : 'one user for all environments'
  return {
    isIsolating: true,
    limits: limiter.description,
    overlayMissing: await overlayProblem(folder, isRoot),
    description: `bubblewrap, ${users}${note === undefined ? '' : `, ${note}`}`,
    async start(job, onOutput) {
      if (isRoot) checkTenant(job.user)
      const given = { ...job, mounts: [...job.mounts, ...(job.network?.mounts ?? [])] }
      const mounts = isStaged ? await fillInner({ ...given, isRoot }) : given.mounts.map(withoutInner)
      const command = commandFor(shape, found, { ...given, mounts }, LAUNCH)
      const spawn = { mark: markOf(folder), ...(filter ? { filter } : {}) }
      // It is the tenant's user already when it reads this.
      const inside = { ...job, mounts, user: undefined }
      return startCaged(limiter, job.network ? job.network.around(command) : command, spawn, inside, onOutput)
    },
  }
}

type Shape = { bubblewrap: string; system: System; isRoot: boolean; isStaged: boolean }

/** Everything from the stage to the program. */
function commandFor(
  { bubblewrap, system, isRoot, isStaged }: Shape,
  identity: Identity,
  { mounts, overlays = [], user }: Pick<Job, 'mounts' | 'overlays' | 'user'>,
  program: readonly string[],
): string[] {
  const node = { from: process.execPath, to: INSIDE.node, isWritable: false }
  const launcher = { from: LAUNCHER, to: INSIDE.launcher, isWritable: false }
  const stage = isStaged
    ? stageFor({ mounts: [...mounts, node], overlays, copies: [launcher], isRoot })
    : { mounts: [...mounts, node, launcher], around: (command: readonly string[]) => [...command] }
  const args = sandboxArguments(
    { mounts: stage.mounts.slice(0, -2), ours: stage.mounts.slice(-2), identity: identity.args(user) },
    system,
  )
  return stage.around(identity.command([bubblewrap, ...args], program, user))
}

/** The first of the ways that works here, or the one that is asked for. */
async function findIdentity(shape: Shape, index: number): Promise<Identity | { missing: string }> {
  if (!shape.isRoot) return identityOfService(shape.isStaged)
  // Any of them will do: the trial writes nothing.
  const user = { uid: TENANT_UIDS.least, gid: TENANT_UIDS.least }
  const unfiltered = { ...shape, system: { ...shape.system, isFiltered: false } }
  const trial = ['/bin/sh', '-c', 'test "$(id -u)" = "$0"', String(user.uid)]
  let trouble: string | undefined
  for (const identity of (await identitiesOfRoot()).slice(index)) {
    trouble = await problemWith(commandFor(unfiltered, identity, { mounts: [], user: checkTenant(user) }, trial))
    if (trouble === undefined) return identity
  }
  return { missing: `bubblewrap runs nothing as another user: ${trouble}` }
}

const withoutInner = ({ from, to, isWritable }: Job['mounts'][number]) => ({ from, to, isWritable })

/** What a command complains about, or ENOENT if there is none; nothing if it ends well. */
async function problemWith([file = '', ...args]: readonly string[]): Promise<string | undefined> {
  try {
    await promisify(execFile)(file, args, { timeout: PROBE_TIMEOUT_MS, env: {} })
    return undefined
  } catch (error) {
    const { code, stderr, message } = error as NodeJS.ErrnoException & { stderr?: string }
    return code === 'ENOENT' ? code : (stderr || message).trim()
  }
}
