/** Removes the cgroups of a service that was killed. */
import { pollUntil, systemClock } from '../../base/index.ts'
import type { Files } from './files.ts'
import { freezerOf } from './freezer.ts'
import { endAllIn, folderName } from './group.ts'
import { makerOf } from './owner.ts'

type Sweep = {
  mounts: Iterable<string>
  name: string
  /** Cgroups of this process that are in use. */
  active: ReadonlySet<string>
  endProcesses: boolean
  files: Files
}

const DEEPEST = 8
const TIMEOUT_MS = 2000

/** Returns how many were removed. All mounts are searched: the dead service may have been in another group than this one. */
export async function sweepCgroups({ mounts, name, active, endProcesses, files }: Sweep): Promise<number> {
  const [found, kept] = [new Set<string>(), new Set<string>()]
  const folders = [...mounts].flatMap((mount) => findFolders(mount, files))
  const ours = folders.filter((folder) => folder.endsWith(`/${folderName(name)}`))
  for (const folder of folders.filter((folder) => !ours.includes(folder))) removeDead(folder, files)
  const left = ours.flatMap((folder) => files.list(folder).flatMap((cgroup) => leftOver(folder, cgroup)))
  // In every hierarchy first: what one of them has frozen ends only when it is thawed there.
  for (const { path, mayEnd } of left) if (mayEnd) endAllIn(files, path)
  for (const { cgroup, path, mayEnd } of left) {
    found.add(cgroup)
    if (!(await removeGroup(files, path, mayEnd ? TIMEOUT_MS : 0))) kept.add(cgroup)
  }
  for (const folder of ours) files.remove(folder)
  return found.size - kept.size

  function leftOver(folder: string, cgroup: string): { cgroup: string; path: string; mayEnd: boolean }[] {
    const maker = makerOf(cgroup)
    if (maker === 'alive' || active.has(cgroup)) return []
    return [{ cgroup, path: `${folder}/${cgroup}`, mayEnd: endProcesses && maker !== 'unknown' }]
  }
}

/** Killed processes are gone a moment later. A group with a living process cannot be removed. */
const removeGroup = (files: Files, folder: string, timeoutMs: number): Promise<boolean> =>
  pollUntil(systemClock, () => files.remove(folder), { pauseMs: 10, timeoutMs })

/**
 * Of another service, whose data folder may be gone for good. No process is killed: a cgroup with one stays. One that was
 * frozen goes on, as sandboxes of a dead service end by that.
 */
function removeDead(folder: string, files: Files) {
  const dead = files.list(folder).filter((cgroup) => makerOf(cgroup) === 'dead')
  for (const cgroup of dead) {
    freezerOf(`${folder}/${cgroup}`, files)?.thaw()
    files.remove(`${folder}/${cgroup}`)
  }
  // A parent without cgroups may be about to get its first.
  if (dead.length > 0) files.remove(folder)
}

/** The parents of all services. Cgroups of jobs have no children, so they are not searched. */
function findFolders(folder: string, files: Files, depth = 0): string[] {
  if (depth > DEEPEST) return []
  return files
    .list(folder)
    .flatMap((entry) =>
      entry.startsWith(folderName('')) ? [`${folder}/${entry}`] : findFolders(`${folder}/${entry}`, files, depth + 1),
    )
}
