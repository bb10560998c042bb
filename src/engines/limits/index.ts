/**
 * Enforces the limits of jobs: by the kernel's cgroups where the service may make them, and otherwise by a watchdog of the
 * service that polls. A job that reaches a limit is killed as a whole, and its exit names the limit.
 */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { pollUntil, systemClock } from '../../base/index.ts'
import { type Cgroup, makeCgroup } from './cgroup.ts'
import { openCgroup1 } from './cgroup1.ts'
import { isBeingEntered, openCgroup2 } from './cgroup2.ts'
import { isDelegated } from './delegation.ts'
import { openDisks } from './disk.ts'
import { kernelFiles } from './files.ts'
import type { Groups } from './group.ts'
import { type Hierarchy, readHierarchies } from './hierarchies.ts'
import type { Limits } from './limits.ts'
import { cgroupName } from './owner.ts'
import { createPoller } from './poller.ts'
import { relationOf } from './processes.ts'
import { sweepCgroups } from './sweep.ts'

export type { Cgroup, Ending } from './cgroup.ts'
export type { Excess, Limits } from './limits.ts'

export interface Limiter {
  readonly kind: 'cgroup2' | 'cgroup1' | 'watchdog'
  /** In words, for the doctor, the API and the build log. */
  readonly description: string
  /** A new cgroup for one job. The name is for people who look at the machine: letters, digits, dashes. */
  cgroup(name: string, limits: Limits): Cgroup
  /**
   * Removes the cgroups that a service with the same name left when it died, and returns how many. A cgroup with processes
   * stays, unless `endProcesses` is set.
   */
  sweep(options?: { endProcesses: boolean }): Promise<number>
}

type Options = {
  /** Identifies the service among others on one machine: a digest of the data folder, say. Letters and digits. */
  name: string
  /** Where cgroups are mounted. */
  root?: string
  /** What has to stay free on a disk that jobs write to. */
  reserveBytes?: number
}

const RESERVE_BYTES = 512 * 1024 ** 2
const TRIAL_MS = 10_000
const ENTERING = { pauseMs: 100, timeoutMs: 5000 }
const TRIAL: Limits = {
  memoryBytes: 64 * 1024 ** 2,
  processes: 16,
  cpuWeight: 100,
  openFiles: 64,
  fileBytes: 1024 ** 2,
  diskBytes: null,
  diskFiles: null,
}

/** The best method that works on this machine. Each one is tried with a real process. */
export async function openLimiter({ name, root = '/sys/fs/cgroup', reserveBytes }: Options): Promise<Limiter> {
  if (!/^[A-Za-z0-9]+$/.test(name)) throw new Error(`a limiter's name is made of letters and digits: ${name}`)
  const hierarchies = readHierarchies(root)
  const { unified, controllers } = hierarchies
  const shared = { poller: createPoller(), disks: openDisks({ reserveBytes: reserveBytes ?? RESERVE_BYTES }) }
  const mounts = new Set([...(unified ? [unified] : []), ...controllers.values()].map(({ mount }) => mount))
  const active = new Set<string>()

  const open = (groups: Groups | undefined): Limiter => ({
    kind: groups?.kind ?? 'watchdog',
    description:
      groups?.description ??
      'no cgroup that can be written: the service watches memory and processes itself; nothing can be frozen',
    cgroup(job, limits) {
      const own = cgroupName(job)
      active.add(own)
      try {
        return makeCgroup({ ...shared, limits, group: groups?.make(own, limits), onLeft: () => active.delete(own) })
      } catch (error) {
        active.delete(own)
        throw error
      }
    },
    sweep: (options) =>
      sweepCgroups({ mounts, name, active, endProcesses: options?.endProcesses === true, files: kernelFiles }),
  })

  const candidates = [
    async () => unified && openUnified(unified, name),
    async () => openCgroup1(hierarchies, name, kernelFiles),
    // A group for freezing may not let a process in.
    async () => openCgroup1({ unified: undefined, controllers: withoutFreezer(controllers) }, name, kernelFiles),
  ]
  for (const candidate of candidates) {
    const groups = await candidate()
    if (groups && (await works(open(groups)))) return open(groups)
  }
  return open(undefined)
}

const withoutFreezer = (controllers: ReadonlyMap<string, Hierarchy>): ReadonlyMap<string, Hierarchy> =>
  new Map([...controllers].filter(([controller]) => controller !== 'freezer'))

/** Retries while Docker's health check enters the container: until it has arrived, its process cannot be moved. */
async function openUnified(unified: Hierarchy, name: string): Promise<Groups | undefined> {
  const given = { ...unified, isDelegated: await isDelegated(unified.own) }
  let groups: Groups | undefined
  const isSettled = () => {
    const wasEntered = isBeingEntered(unified, kernelFiles)
    groups = openCgroup2(given, name, kernelFiles, relationOf)
    return groups !== undefined || !(wasEntered || isBeingEntered(unified, kernelFiles))
  }
  await pollUntil(systemClock, isSettled, ENTERING)
  return groups
}

/** Whether a program can be started in a cgroup. */
async function works(limiter: Limiter): Promise<boolean> {
  try {
    const cgroup = limiter.cgroup('trial', TRIAL)
    const [file = '', ...args] = cgroup.around(['/bin/sh', '-c', ':'])
    const isEntered = await promisify(execFile)(file, args, { timeout: TRIAL_MS, env: {} }).then(
      () => true,
      () => false,
    )
    await cgroup.leave()
    return isEntered
  } catch {
    return false
  }
}
