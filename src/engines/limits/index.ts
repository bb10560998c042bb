/**
 * What a job may use at most. The kernel's cgroups hold it to that where the service may make them; where not, the
 * service looks itself, again and again. A job that reaches a limit is ended as a whole, and it is told which one it was.
 */
import { execFile } from 'node:child_process'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import { type Cgroup, makeCgroup } from './cgroup.ts'
import { openCgroup1 } from './cgroup1.ts'
import { isBeingEntered, openCgroup2 } from './cgroup2.ts'
import { isDelegated } from './delegation.ts'
import { openDisks } from './disk.ts'
import { kernelFiles } from './files.ts'
import type { Groups } from './group.ts'
import { type Hierarchy, readHierarchies } from './hierarchies.ts'
import { cgroupName } from './owner.ts'
import { relationOf } from './processes.ts'
import { openRounds } from './rounds.ts'
import { sweepCgroups } from './sweep.ts'

export type { Cgroup, Ending } from './cgroup.ts'

export type Limits = {
  /** Of all its processes together, with what it writes to /tmp inside of a sandbox. */
  memoryBytes: number
  /** Threads count too: an ordinary Node process has eleven. */
  processes: number
  /** Against the other jobs, when all want the processor: 100 is ordinary. */
  cpuWeight: number
  /** In each process. */
  openFiles: number
  /** The largest file that it may write. */
  fileBytes: number
  /** Everything in the folders that it writes to, together. */
  diskBytes: number | null
  /** Files, folders and links in them, together: each takes an inode, of which a disk has a number. */
  diskFiles: number | null
}

/** The limit that was reached. */
export type Excess = 'memory' | 'processes' | 'disk' | 'files'

export interface Limiter {
  readonly kind: 'cgroup2' | 'cgroup1' | 'watchdog'
  /** In words, for the doctor, the API and the build log. */
  readonly description: string
  /** A fresh cage for one job. The name is for people who look at the machine: letters, digits, dashes. */
  cgroup(name: string, limits: Limits): Cgroup
  /**
   * Removes the cages that a service with the same name left when it died; says how many. Processes that still live in
   * one are ended on demand; else their cage stays.
   */
  sweep(options?: { endProcesses: boolean }): Promise<number>
}

type Options = {
  /** Tells services on one machine apart: a digest of the data folder, say. Letters and digits. */
  name: string
  /** Where cgroups are mounted. */
  root?: string
  /** What has to stay free on a disk that jobs write to. */
  reserveBytes?: number
}

const RESERVE_BYTES = 512 * 1024 ** 2
const TRIAL_MS = 10_000
const [ENTER_TRIES, ENTER_MS] = [50, 100]
const TRIAL: Limits = {
  memoryBytes: 64 * 1024 ** 2,
  processes: 16,
  cpuWeight: 100,
  openFiles: 64,
  fileBytes: 1024 ** 2,
  diskBytes: null,
  diskFiles: null,
}

/** The best that this machine has to offer. Everything is tried, not guessed. */
export async function openLimiter({ name, root = '/sys/fs/cgroup', reserveBytes }: Options): Promise<Limiter> {
  if (!/^[A-Za-z0-9]+$/.test(name)) throw new Error(`a limiter's name is made of letters and digits: ${name}`)
  const { unified, controllers } = readHierarchies(root)
  const shared = { rounds: openRounds(), disks: openDisks({ reserveBytes: reserveBytes ?? RESERVE_BYTES }) }
  const mounts = new Set([...(unified ? [unified] : []), ...controllers.values()].map(({ mount }) => mount))
  const active = new Set<string>()

  const open = (groups: Groups | undefined): Limiter => ({
    kind: groups?.kind ?? 'watchdog',
    description:
      groups?.description ?? 'no cgroup that can be written: the service looks at memory and processes itself',
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
    async () => openCgroup1(controllers, name, kernelFiles),
  ]
  for (const candidate of candidates) {
    const groups = await candidate()
    if (groups && (await works(open(groups)))) return open(groups)
  }
  return open(undefined)
}

/** Docker's health check may enter the container just now. */
async function openUnified(unified: Hierarchy, name: string): Promise<Groups | undefined> {
  const given = { ...unified, isDelegated: await isDelegated(unified.own) }
  for (let tries = 1; ; tries++) {
    const wasEntered = isBeingEntered(unified, kernelFiles)
    const groups = openCgroup2(given, name, kernelFiles, relationOf)
    const isBusy = wasEntered || isBeingEntered(unified, kernelFiles)
    if (groups || !isBusy || tries === ENTER_TRIES) return groups
    await wait(ENTER_MS)
  }
}

/** Whether a program can be started in a cage. */
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
