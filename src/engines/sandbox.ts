/** Programs in bubblewrap. */
import { execFile } from 'node:child_process'
import { access, lstat, readlink } from 'node:fs/promises'
import { promisify } from 'node:util'
import { startCaged } from './caged.ts'
import type { Engine } from './engine.ts'
import type { Limiter } from './limits.ts'
import { overlayProblem, withOverlays } from './overlay.ts'
import { LAUNCHER } from './process.ts'
import { type System, sandboxArguments } from './sandbox-command.ts'
import { procMasks } from './seccomp/proc-masks.ts'
import { seccompProgram } from './seccomp.ts'

const PROBE_TIMEOUT_MS = 10_000

type Parts = {
  bubblewrap: string
  /** Where the folders of jobs will lie. */
  folder: string
  limiter: Limiter
}

/** The engine, or why there is none. */
export async function openSandbox({ bubblewrap, folder, limiter }: Parts): Promise<Engine | { missing: string }> {
  const probe = ['--ro-bind', '/', '/', '--unshare-pid', '--die-with-parent', '--proc', '/proc', 'true']
  try {
    await promisify(execFile)(bubblewrap, probe, { timeout: PROBE_TIMEOUT_MS, env: {} })
  } catch (error) {
    const { code, stderr, message } = error as NodeJS.ErrnoException & { stderr?: string }
    return {
      missing:
        code === 'ENOENT'
          ? `there is no bubblewrap at ${bubblewrap}`
          : `bubblewrap fails: ${(stderr || message).trim()}`,
    }
  }
  const filter = seccompProgram()
  const system = await lookAtSystem(filter !== undefined)
  const launcher = { node: process.execPath, script: LAUNCHER }
  return {
    isIsolating: true,
    limits: limiter.description,
    overlayMissing: await overlayProblem(folder, system.isRoot),
    description: system.isRoot
      ? 'bubblewrap, a user for each environment'
      : 'bubblewrap, one user for all environments',
    async start(job, onOutput) {
      // The user that owns the machine is no tenant, with whatever taken away.
      if (system.isRoot && !job.user) throw new Error('a program in a sandbox needs a user of its own')
      const mounts = [...job.mounts, ...(job.network?.mounts ?? [])]
      const command = [bubblewrap, ...sandboxArguments({ ...job, mounts }, system, launcher)]
      const laid = job.overlays?.length ? withOverlays(job.overlays, command, system.isRoot) : command
      return startCaged(limiter, job.network ? job.network.around(laid) : laid, filter ? { filter } : {}, job, onOutput)
    },
  }
}

/** What of this machine's root exists, and whether as a folder or as a link into /usr. */
async function lookAtSystem(isFiltered: boolean): Promise<System> {
  const folders: string[] = []
  const links: { path: string; target: string }[] = []
  for (const path of ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32']) {
    const found = await lstat(path).catch(absent)
    if (found?.isSymbolicLink()) links.push({ path, target: await readlink(path) })
    else if (found) folders.push(path)
  }
  const etc: string[] = []
  for (const path of [
    '/etc/resolv.conf',
    '/etc/hosts',
    '/etc/nsswitch.conf',
    '/etc/ssl',
    '/etc/ca-certificates',
    '/etc/pki',
    '/etc/localtime',
    '/etc/alternatives',
    '/etc/ld.so.cache',
  ]) {
    if ((await access(path).catch(absent)) !== null) etc.push(path)
  }
  const [uid = 0, gid = 0] = [process.getuid?.(), process.getgid?.()]
  const isRoot = uid === 0
  const masks = await procMasks()
  return { folders, links, etc, isRoot, masks, isFiltered, user: isRoot ? undefined : { uid, gid } }
}

function absent(error: NodeJS.ErrnoException): null {
  if (error.code !== 'ENOENT') throw error
  return null
}
