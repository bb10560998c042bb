/**
 * Version 1: a group for the job in each controller's hierarchy, beside or below that of the service. Jobs are frozen in the
 * hierarchy of version 2 where that is mounted as well, since they can be killed there while they are.
 */
import { codeOf, type Files, writeIfThere } from './files.ts'
import { freezerOf } from './freezer.ts'
import { counter, endAllIn, figure, folderName, type Group, type Groups, processesIn } from './group.ts'
import type { Hierarchies, Hierarchy } from './hierarchies.ts'

const WANTED = ['memory', 'pids', 'cpu', 'cpuacct'] as const
type Controller = (typeof WANTED)[number]

/** Undefined where neither memory nor processes can be limited. */
export function openCgroup1({ controllers, unified }: Hierarchies, name: string, files: Files): Groups | undefined {
  const bases = new Map<Controller, string>()
  for (const controller of WANTED) {
    const base = baseIn(controllers.get(controller), name, files)
    if (base !== undefined) bases.set(controller, base)
  }
  if (!bases.has('memory') && !bases.has('pids')) return undefined
  const freezing = baseIn(unified, name, files) ?? baseIn(controllers.get('freezer'), name, files)
  const parents = [...new Set([...bases.values(), ...(freezing === undefined ? [] : [freezing])])]
  const enforced = WANTED.filter((controller) => controller !== 'cpuacct' && bases.has(controller))
  const watched = [...(bases.has('memory') ? [] : ['memory']), ...(bases.has('pids') ? [] : ['processes'])]
  return {
    kind: 'cgroup1',
    description: [
      `cgroup v1 (${enforced.join(', ')})`,
      ...watched.map((what) => `the service watches ${what} itself`),
      ...(freezing === undefined ? ['nothing can be frozen'] : []),
    ].join('; '),
    make(cgroup, limits) {
      const at = (controller: Controller): string | undefined =>
        bases.has(controller) ? `${bases.get(controller)}/${cgroup}` : undefined
      const group = groupOf({ at, freezing: freezing && `${freezing}/${cgroup}`, parents, files })
      try {
        for (const parent of parents) {
          files.make(parent)
          files.make(`${parent}/${cgroup}`)
        }
        const [memory, pids, cpu] = [at('memory'), at('pids'), at('cpu')]
        if (memory) {
          files.write(`${memory}/memory.limit_in_bytes`, String(limits.memoryBytes))
          // The limit of memory and swap together, so that swap adds nothing. Not every kernel counts it.
          writeIfThere(files, `${memory}/memory.memsw.limit_in_bytes`, String(limits.memoryBytes))
        }
        if (pids) files.write(`${pids}/pids.max`, String(limits.processes))
        if (cpu) writeIfThere(files, `${cpu}/cpu.shares`, String(sharesOf(limits.cpuWeight)))
        return group
      } catch (error) {
        group.remove()
        throw error
      }
    },
  }
}

/** The default weight of 100 is 1024 `cpu.shares`; the kernel's minimum is 2. */
const sharesOf = (weight: number): number => Math.max(2, Math.round((weight * 1024) / 100))

/** The parent of all cgroups of the service in a hierarchy; undefined where none can be made. */
function baseIn(hierarchy: Hierarchy | undefined, name: string, files: Files): string | undefined {
  const base = hierarchy && [hierarchy.own, hierarchy.mount].find((folder) => canMakeIn(folder, name, files))
  return base === undefined ? undefined : `${base}/${folderName(name)}`
}

function canMakeIn(folder: string, name: string, files: Files): boolean {
  try {
    files.make(`${folder}/${folderName(name)}`)
  } catch (error) {
    if (['EACCES', 'EPERM', 'EROFS', 'ENOENT', 'ENOSPC', 'ENOTDIR'].includes(codeOf(error))) return false
    throw error
  }
  // It is made again with the first cgroup. One that is not empty stays.
  files.remove(`${folder}/${folderName(name)}`)
  return true
}

type Place = {
  at(controller: Controller): string | undefined
  freezing: string | undefined
  parents: readonly string[]
  files: Files
}

function groupOf({ at, freezing, parents, files }: Place): Group {
  const [memory, pids, cpu, usage] = WANTED.map(at)
  const folders = [...new Set([memory, pids, cpu, usage, freezing].flatMap((folder) => folder ?? []))]
  const read = (folder: string | undefined, file: string) => folder && files.read(`${folder}/${file}`)
  return {
    procsFiles: folders.map((folder) => `${folder}/cgroup.procs`),
    enforces: { memory: memory !== undefined, processes: pids !== undefined, cpu: cpu !== undefined },
    reached: () => [
      ...(counter(read(memory, 'memory.oom_control'), 'oom_kill') ? (['memory'] as const) : []),
      ...(counter(read(pids, 'pids.events'), 'max') ? (['processes'] as const) : []),
    ],
    memoryBytes() {
      const stat = read(memory, 'memory.stat')
      const [own, shared] = [counter(stat, 'total_rss'), counter(stat, 'total_shmem')]
      return own === undefined ? undefined : own + (shared ?? 0)
    },
    peakMemoryBytes: () => figure(read(memory, 'memory.max_usage_in_bytes')),
    cpuSeconds() {
      const nanoseconds = figure(read(usage, 'cpuacct.usage'))
      return nanoseconds === undefined ? undefined : nanoseconds / 1e9
    },
    processes: () => processesIn(files, pids ?? memory ?? ''),
    freezer: () => (freezing === undefined ? undefined : freezerOf(freezing, files)),
    end() {
      // The hierarchy that counts processes comes first: then no process can be started while the others are gone through.
      for (const folder of [...(pids ? [pids] : []), ...folders]) endAllIn(files, folder)
    },
    remove() {
      const areGone = folders.map((folder) => files.remove(folder)).every(Boolean)
      for (const parent of parents) files.remove(parent)
      return areGone
    },
  }
}
