/** The limits of one running job: the kernel's cgroup where there is one, and the service's own checks. */
import { pollUntil, systemClock } from '../../base/index.ts'
import type { Disks } from './disk.ts'
import { enter, nicenessOf } from './enter.ts'
import { endProcess, type Group } from './group.ts'
import type { Excess, Limits } from './limits.ts'
import type { Poller } from './poller.ts'
import { memoryOf, type Root, type Row, readProcesses, rootOf, type Table, threadsOf, treeOf } from './processes.ts'

export type Cgroup = {
  /** The command that enters the cgroup and then execs the given one. */
  around(command: readonly string[]): string[]
  /**
   * To be called when the job was started. `kill` ends the job, and is called until it has ended; folders are those that it
   * writes to, by their paths on this machine.
   */
  watch(pid: number, kill: () => void, folders: readonly string[]): void
  /** Of all processes in it, when it was last measured. */
  memoryBytes(): number
  /**
   * Its processes keep their memory and do nothing until they are thawed. False where they cannot be frozen: then nothing has
   * changed.
   */
  freeze(): boolean
  thaw(): void
  /** Kills every process in the cgroup, even those that left their parents and their session. */
  kill(): void
  /** After the job: kills what is left, removes the cgroup, and returns what was used. */
  leave(): Promise<Ending>
}

export type Ending = {
  excess: Excess[]
  /** Without the page cache of files on disk; of a very short job with it. */
  peakMemoryBytes: number | null
  cpuSeconds: number | null
}

type Parts = {
  limits: Limits
  group: Group | undefined
  poller: Poller
  disks: Disks
  onLeft(): void
}

const REMOVAL_MS = 2000
/** A job that has run for a while and is limited by the kernel is checked less often: there may be many, for months. */
const SHORT_JOB_MS = 10_000
const COUNTERS_EVERY_MS = { inShortJob: 0, later: 1000 }
/** For the memory figure that is shown to people. */
const MEMORY_EVERY_MS = { inShortJob: 250, later: 4000 }

export function makeCgroup({ limits, group, poller, disks, onLeft }: Parts): Cgroup {
  const enforces = group?.enforces ?? { memory: false, processes: false, cpu: false }
  const excess = new Set<Excess>()
  const stops: (() => void)[] = []
  let [used, peak, cpuSeconds] = [0, 0, 0]
  let isEnding = false
  let isFrozen = false
  let job: { root: Root; kill: () => void } | undefined

  /** To be called before the kill, which forbids new processes: an attempt to start one would be counted as an excess. */
  const note = () => {
    if (!isEnding) for (const each of group?.reached() ?? []) excess.add(each)
  }
  const kill = () => {
    note()
    isEnding = true
    group?.end()
    if (!group && job) endTree(job.root)
  }
  const exceed = (what?: Excess) => {
    if (what) excess.add(what)
    kill()
    job?.kill()
  }

  const noteNow = throttled(COUNTERS_EVERY_MS, note)
  const measureMemory = () => {
    used = group?.memoryBytes() ?? used
    peak = Math.max(peak, used)
  }
  const sampleMemory = throttled(MEMORY_EVERY_MS, measureMemory)

  function look(root: Root, processes: () => Table): boolean {
    // It can use nothing more.
    if (isFrozen) return false
    noteNow()
    sampleMemory()
    const isNear = enforces.memory && enforces.processes ? false : lookAtTree(treeOf(root, processes()))
    if (excess.size > 0) exceed()
    return isNear || excess.size > 0
  }

  function lookAtTree(tree: readonly Row[]): boolean {
    const threads = tree.reduce((sum, row) => sum + row.threads, 0)
    cpuSeconds = Math.max(
      cpuSeconds,
      tree.reduce((sum, row) => sum + row.cpuSeconds, 0),
    )
    if (!enforces.processes && threads > limits.processes) excess.add('processes')
    if (enforces.memory || excess.size > 0) return threads > limits.processes / 2
    const bytes = memoryOf(tree, limits.memoryBytes)
    used = bytes
    peak = Math.max(peak, bytes)
    if (bytes > limits.memoryBytes) excess.add('memory')
    return threads > limits.processes / 2 || bytes > limits.memoryBytes / 2
  }

  return {
    around: (command) =>
      enter(
        {
          procsFiles: group?.procsFiles ?? [],
          limits,
          userProcesses: enforces.processes ? undefined : processesOfUser(limits.processes),
          niceness: enforces.cpu ? 0 : nicenessOf(limits.cpuWeight),
        },
        command,
      ),
    watch(pid, killJob, folders) {
      const root = rootOf(pid)
      job = { root, kill: killJob }
      stops.push(poller.add((processes) => look(root, processes)))
      const processes = () => group?.processes() ?? treeOf(root, readProcesses()).map((row) => row.pid)
      const max = { bytes: limits.diskBytes, files: limits.diskFiles }
      stops.push(disks.add({ folders, max, processes, onExcess: exceed }))
    },
    memoryBytes: () => used,
    freeze() {
      isFrozen = !isEnding && group?.freezer()?.freeze() === true
      if (isFrozen) measureMemory()
      return isFrozen
    },
    thaw() {
      if (!isFrozen) return
      isFrozen = false
      group?.freezer()?.thaw()
    },
    kill,
    async leave() {
      for (const stop of stops.splice(0)) stop()
      note()
      isEnding = true
      const kernelPeak = group?.peakMemoryBytes()
      const isAtLimit = excess.has('memory') && kernelPeak !== undefined
      const ending = {
        excess: [...excess],
        peakMemoryBytes: (isAtLimit ? kernelPeak : peak || kernelPeak) ?? null,
        cpuSeconds: (group?.cpuSeconds() ?? cpuSeconds) || null,
      }
      // One that cannot be removed is found by a later sweep.
      if (group) await removeGroup(group)
      onLeft()
      return ending
    },
  }
}

/** Killed processes are gone a moment later. */
function removeGroup(group: Group): Promise<boolean> {
  const endAndRemove = () => {
    if (group.remove()) return true
    group.end()
    return false
  }
  return pollUntil(systemClock, endAndRemove, { pauseMs: 10, timeoutMs: REMOVAL_MS })
}

/** A second limit where the kernel does not count the job's processes: a fork bomb is faster than the poller. */
function processesOfUser(processes: number): number {
  const uid = process.getuid?.() ?? 0
  // Root gives each environment a user of its own, who runs a build and two instances at most.
  if (uid === 0) return 4 * processes
  return threadsOf(uid, readProcesses()) + 4 * processes + RESERVED_FOR_OTHERS
}

/** Where all jobs share the service's user, none may keep the others from starting processes. */
const RESERVED_FOR_OTHERS = 2048

/** Stopped first, so that no process starts another one while the others are killed. */
function endTree(root: Root) {
  const stopped = new Set<number>()
  for (let tries = 0; tries < 10; tries++) {
    const fresh = treeOf(root, readProcesses()).filter((row) => !stopped.has(row.pid))
    if (fresh.length === 0) break
    for (const row of fresh) {
      endProcess(row.pid, 'SIGSTOP')
      stopped.add(row.pid)
    }
  }
  for (const each of stopped) endProcess(each)
}

function throttled(every: { inShortJob: number; later: number }, act: () => void): () => void {
  const began = performance.now()
  let last = Number.NEGATIVE_INFINITY
  return () => {
    const now = performance.now()
    if (now - last < (now - began < SHORT_JOB_MS ? every.inShortJob : every.later)) return
    last = now
    act()
  }
}
