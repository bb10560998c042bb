/**
 * Version 2. A group that enables controllers for its children (`cgroup.subtree_control`) may hold no process itself. So the
 * service moves into a leaf below its own group, if it has that group to itself, and the cgroups of jobs are made beside that
 * leaf; otherwise they are made in the nearest ancestor that enables the controllers already.
 */
import { basename, dirname } from 'node:path/posix'
import { codeOf, type Files, writeIfThere } from './files.ts'
import { freezerOf } from './freezer.ts'
import { counter, endAllIn, figure, folderName, type Group, type Groups, processesIn, words } from './group.ts'
import type { Hierarchy } from './hierarchies.ts'
import type { Relation } from './processes.ts'

const NEEDED = ['memory', 'pids'] as const
const WANTED = [...NEEDED, 'cpu'] as const
const LEAF = 'service'

/** The kernel lists a process of another pid namespace as 0. */
const OUTSIDE = 0

/** Whether a program is just entering this container: until it has arrived, no process in here can move it. */
export const isBeingEntered = ({ mount, own }: Hierarchy, files: Files): boolean =>
  own === mount && words(files.read(`${own}/cgroup.procs`)).includes(String(OUTSIDE))

export function openCgroup2(
  { mount, own, isDelegated }: Hierarchy & { isDelegated: boolean },
  name: string,
  files: Files,
  relationOf: (pid: number) => Relation,
): Groups | undefined {
  const isLeaf = basename(own) === LEAF && own !== mount
  for (const base of upwards(isLeaf ? dirname(own) : own, mount)) {
    const offered = words(files.read(`${base}/cgroup.controllers`))
    if (!NEEDED.every((controller) => offered.includes(controller))) continue
    const isServices = base === own || (base === dirname(own) && (isLeaf || base.endsWith('.service')))
    if (isServices && !isDelegated) continue
    if (!handsOn(base, NEEDED, files)) {
      if (!isServices || !handOnHere({ base, own, mount }, files, relationOf)) continue
    }
    if (isServices) tryEnable(base, ['cpu'], files)
    const groups = groupsIn(`${base}/${folderName(name)}`, files)
    if (groups) return groups
  }
  return undefined
}

/** A folder and those above it, up to the mount. */
function upwards(from: string, mount: string): string[] {
  const folders = [from]
  for (let folder = from; folder !== mount && folder.startsWith(`${mount}/`); ) {
    folder = dirname(folder)
    folders.push(folder)
  }
  return folders
}

const handsOn = (group: string, controllers: readonly string[], files: Files): boolean => {
  const handed = words(files.read(`${group}/cgroup.subtree_control`))
  return controllers.every((controller) => handed.includes(controller))
}

function enable(group: string, controllers: readonly string[], files: Files) {
  const missing = controllers.filter((controller) => !handsOn(group, [controller], files))
  if (missing.length > 0) {
    files.write(`${group}/cgroup.subtree_control`, missing.map((controller) => `+${controller}`).join(' '))
  }
}

function tryEnable(group: string, controllers: readonly string[], files: Files): boolean {
  try {
    enable(group, controllers, files)
    return true
  } catch (error) {
    if (!REFUSALS.includes(codeOf(error))) throw error
    return false
  }
}

const REFUSALS = ['EBUSY', 'EACCES', 'EPERM', 'EROFS', 'ENOENT', 'EINVAL', 'EOPNOTSUPP', 'ENOSPC', 'EAGAIN', 'ESRCH']

/** The root group of a machine may enable controllers with processes in it; any other one has to be emptied first. */
function handOnHere(
  { base, own, mount }: Hierarchy & { base: string },
  files: Files,
  relationOf: (pid: number) => Relation,
): boolean {
  if (tryEnable(base, NEEDED, files)) return true
  if (base !== own) return false
  // A shell that the service was started from stays where it is. Only what came with the service is moved: in a unit
  // of systemd the program in front of it, and in a container everything, the health check included.
  const isContainer = own === mount
  const relations = ['itself', 'below', ...(isContainer || own.endsWith('.service') ? ['above'] : [])]
  const mayMove = (pid: number) => pid !== OUTSIDE && (isContainer || relations.includes(relationOf(pid)))
  const leaf = `${own}/${LEAF}`
  const moved: number[] = []
  try {
    files.make(leaf)
    // Further processes may be started meanwhile.
    for (let tries = 0; tries < 5; tries++) {
      const present = words(files.read(`${own}/cgroup.procs`)).map(Number)
      if (present.length === 0) break
      if (!present.every(mayMove)) return moveBack(moved, leaf, own, files)
      for (const pid of present) if (move(pid, leaf, files)) moved.push(pid)
    }
    enable(base, NEEDED, files)
    return true
  } catch (error) {
    if (!REFUSALS.includes(codeOf(error))) throw error
    return moveBack(moved, leaf, own, files)
  }
}

function moveBack(pids: readonly number[], leaf: string, own: string, files: Files): false {
  for (const pid of pids) {
    try {
      move(pid, own, files)
    } catch (error) {
      // It stays in the leaf then, where it does no harm.
      if (!REFUSALS.includes(codeOf(error))) throw error
    }
  }
  files.remove(leaf)
  return false
}

/** False for one that is gone meanwhile. */
function move(pid: number, group: string, files: Files): boolean {
  try {
    files.write(`${group}/cgroup.procs`, String(pid))
    return true
  } catch (error) {
    if (codeOf(error) === 'ESRCH') return false
    throw error
  }
}

/** The cgroups of a service in their common parent; undefined where that cannot be made. */
function groupsIn(parent: string, files: Files): Groups | undefined {
  const prepare = () => {
    files.make(parent)
    enable(parent, NEEDED, files)
    const offersCpu = words(files.read(`${parent}/cgroup.controllers`)).includes('cpu')
    if (offersCpu) tryEnable(parent, ['cpu'], files)
  }
  try {
    prepare()
  } catch (error) {
    if (!REFUSALS.includes(codeOf(error))) throw error
    files.remove(parent)
    return undefined
  }
  const controllers = WANTED.filter((controller) => handsOn(parent, [controller], files))
  // It is made again with the first cgroup. One that is not empty stays.
  files.remove(parent)
  return {
    kind: 'cgroup2',
    description: `cgroup v2 (${controllers.join(', ')})`,
    make(cgroup, limits) {
      const folder = `${parent}/${cgroup}`
      prepare()
      files.make(folder)
      const group = groupAt(folder, parent, files)
      try {
        files.write(`${folder}/memory.max`, String(limits.memoryBytes))
        files.write(`${folder}/pids.max`, String(limits.processes))
        // Where there is no swap, there is no such file.
        writeIfThere(files, `${folder}/memory.swap.max`, '0')
        writeIfThere(files, `${folder}/memory.oom.group`, '1')
        writeIfThere(files, `${folder}/cpu.weight`, String(Math.min(10_000, Math.max(1, Math.round(limits.cpuWeight)))))
        return group
      } catch (error) {
        group.remove()
        throw error
      }
    },
  }
}

export function groupAt(folder: string, parent: string, files: Files): Group {
  const read = (file: string) => files.read(`${folder}/${file}`)
  return {
    procsFiles: [`${folder}/cgroup.procs`],
    enforces: { memory: true, processes: true, cpu: handsOn(parent, ['cpu'], files) },
    reached: () => [
      ...(counter(read('memory.events'), 'oom_kill') ? (['memory'] as const) : []),
      ...(counter(read('pids.events'), 'max') ? (['processes'] as const) : []),
    ],
    memoryBytes() {
      const stat = read('memory.stat')
      const [own, shared] = [counter(stat, 'anon'), counter(stat, 'shmem')]
      return own === undefined ? undefined : own + (shared ?? 0)
    },
    // Since Linux 5.19.
    peakMemoryBytes: () => figure(read('memory.peak')),
    cpuSeconds() {
      const microseconds = counter(read('cpu.stat'), 'usage_usec')
      return microseconds === undefined ? undefined : microseconds / 1e6
    },
    processes: () => processesIn(files, folder),
    freezer: () => freezerOf(folder, files),
    end: () => endAllIn(files, folder),
    remove() {
      const isGone = files.remove(folder)
      files.remove(parent)
      return isGone
    },
  }
}
