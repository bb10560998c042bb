/** Whether bubblewrap can make a sandbox here, and how. Each method is tried; the engine and the doctor use the same trial. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { TENANT_UIDS } from '../../base/index.ts'
import type { Job } from '../engine.ts'
import { LAUNCHER } from '../process.ts'
import { seccompProgram } from '../seccomp/index.ts'
import { checkTenant } from '../users.ts'
import { INSIDE, type System, sandboxArguments } from './command.ts'
import { type Identity, identitiesOfRoot, identityOfService } from './identity.ts'
import { stageFor } from './stage.ts'
import { lookAtSystem } from './system.ts'

const PROBE_TIMEOUT_MS = 10_000

/** What of a job its sandbox depends on. */
type Seen = Pick<Job, 'mounts' | 'overlays' | 'user' | 'isOffline'>

export type SandboxMethod = {
  /** In words. */
  description: string
  isRoot: boolean
  isStaged: boolean
  /** The whole command, from the staging of mounts to the program. */
  command(job: Seen, program: readonly string[]): string[]
}

type NoSandbox = { missing: string; isInstalled: boolean }

/** The best method that works, or why there is none. `first` is for tests: which of root's identities is tried first. */
export async function trySandbox(bubblewrap: string, first = 0): Promise<SandboxMethod | NoSandbox> {
  const probe = ['--ro-bind', '/', '/', '--unshare-pid', '--die-with-parent', '--proc', '/proc', 'true']
  const problem = await problemWith([bubblewrap, ...probe])
  if (problem === 'ENOENT') return { missing: `there is no bubblewrap at ${bubblewrap}`, isInstalled: false }
  if (problem !== undefined) return { missing: `bubblewrap fails: ${problem}`, isInstalled: true }
  const isRoot = process.getuid?.() === 0
  const system = await lookAtSystem({ isFiltered: seccompProgram() !== undefined })
  const isStaged = isRoot || (await problemWith(stageFor({ mounts: [], isRoot }).around(['/bin/true']))) === undefined
  const shape = { bubblewrap, system, isRoot, isStaged }
  const found = await findIdentity(shape, first)
  if ('missing' in found) return found
  const users = isRoot ? 'a user for each environment' : 'one user for all environments'
  return {
    description: `bubblewrap, ${users}${found.note === undefined ? '' : `, ${found.note}`}`,
    isRoot,
    isStaged,
    command: (job, program) => commandFor(shape, found, job, program),
  }
}

type Shape = { bubblewrap: string; system: System; isRoot: boolean; isStaged: boolean }

function commandFor(
  { bubblewrap, system, isRoot, isStaged }: Shape,
  identity: Identity,
  { mounts, overlays = [], user, isOffline }: Seen,
  program: readonly string[],
): string[] {
  const node = { from: process.execPath, to: INSIDE.node, isWritable: false }
  const launcher = { from: LAUNCHER, to: INSIDE.launcher, isWritable: false }
  const stage = isStaged
    ? stageFor({ mounts: [...mounts, node], overlays, copies: [launcher], isRoot })
    : { mounts: [...mounts, node, launcher], around: (command: readonly string[]) => [...command] }
  const args = sandboxArguments(
    {
      mounts: stage.mounts.slice(0, -2),
      ours: stage.mounts.slice(-2),
      identity: identity.args(user),
      isOffline: isOffline === true,
    },
    system,
  )
  return stage.around(identity.command([bubblewrap, ...args], program, user))
}

/** The first identity that works here, from this index on. */
async function findIdentity(shape: Shape, index: number): Promise<Identity | NoSandbox> {
  if (!shape.isRoot) return identityOfService(shape.isStaged)
  // Any tenant's id will do: the trial writes nothing.
  const user = { uid: TENANT_UIDS.min, gid: TENANT_UIDS.min }
  const unfiltered = { ...shape, system: { ...shape.system, isFiltered: false } }
  const trial = ['/bin/sh', '-c', 'test "$(id -u)" = "$0"', String(user.uid)]
  let problem: string | undefined
  for (const identity of (await identitiesOfRoot()).slice(index)) {
    problem = await problemWith(commandFor(unfiltered, identity, { mounts: [], user: checkTenant(user) }, trial))
    if (problem === undefined) return identity
  }
  return { missing: `bubblewrap runs nothing as another user: ${problem}`, isInstalled: true }
}

/** The error of a command, or ENOENT if there is no such program; undefined if it succeeds. */
async function problemWith([file = '', ...args]: readonly string[]): Promise<string | undefined> {
  try {
    await promisify(execFile)(file, args, { timeout: PROBE_TIMEOUT_MS, env: {} })
    return undefined
  } catch (error) {
    const { code, stderr, message } = error as NodeJS.ErrnoException & { stderr?: string }
    return code === 'ENOENT' ? code : (stderr || message).trim()
  }
}
