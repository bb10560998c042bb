/** Runs other people's programs: to their end, or until they are told to stop. Adapters say how much they keep apart. */

import type { Excess, Limits } from './limits/index.ts'
import type { NetworkView } from './network/view.ts'

/** A folder or file of this machine, and where the program sees it. */
export type Mount = {
  from: string
  to: string
  isWritable: boolean
  /**
   * Folders in a read-only tree that the program may write to all the same: their paths in the tree, and where what is
   * written lies. One that is not there yet begins as the tree has it. Where the tree has no folder, or a link is on the way to
   * it, there is none. Only for engines that isolate.
   */
  inner?: readonly { path: string; from: string }[]
}

/** Folders laid one over the other and seen as one, by one job alone. */
export type Overlay = {
  /** The name by which a mount says that it shows the whole: an empty folder of this machine. */
  at: string
  /** The uppermost first. None of them is ever changed. */
  layers: readonly string[]
  /** A folder over the layers that takes every change, and an empty one beside it that the kernel works in. */
  changes?: { folder: string; scratch: string }
}

export type Job = {
  /** For people who look at the machine: letters, digits, dashes. */
  name?: string
  /** The program and its arguments, never a string for a shell. A name without a slash is looked for in PATH. */
  argv: readonly string[]
  /** Where it starts, as it sees the world. */
  cwd: string
  /** The whole environment but for what a login shell sets (see login.ts): nothing is inherited. */
  environment: Readonly<Record<string, string>>
  mounts: readonly Mount[]
  /** Only for engines that can. */
  overlays?: readonly Overlay[]
  /** The user to run as, where the service may choose; else its own. */
  user: { uid: number; gid: number } | undefined
  /** What it may use at most. */
  limits?: Limits
  /** Its view of the network; without one it sees the machine's. */
  network?: Pick<NetworkView, 'around' | 'mounts'>
}

export type Exit = {
  code: number | null
  signal: string | null
  /** Limits that it reached, for which it was ended. */
  excess?: readonly Excess[]
}

/** Where it returns a promise, nothing more of that stream is read until it settles: a program with a full pipe waits. */
export type Output = (stream: 'stdout' | 'stderr', chunk: Buffer) => unknown

export type Process = {
  pid: number
  /** Resolves when the program and everything it started are gone, and all output was handed over. */
  exited: Promise<Exit>
  /** Ports that a process of the tree listens on; the first few, where there are many. */
  listeningPorts(): Promise<number[]>
  /** What all processes of the tree use, as it was seconds ago; known where it has limits. */
  memoryBytes?(): number
  /** SIGTERM to every process of the tree; SIGKILL to what is left after the grace. Resolves when all are gone. */
  stop(graceMs: number): Promise<Exit>
}

export interface Engine {
  /** Whether programs of different owners are kept apart: from each other and from the service's files. */
  readonly isIsolating: boolean
  /** Why folders cannot be laid over one another; nothing where they can. */
  readonly overlayMissing: string | undefined
  /** In words, for logs and for the doctor. */
  readonly description: string
  /** How limits are held, in words. */
  readonly limits: string
  start(job: Job, onOutput: Output): Promise<Process>
}

/** Runs to the end. When the signal is aborted, the whole tree is killed, and the exit is that of the killed program. */
export async function runToEnd(engine: Engine, job: Job, onOutput: Output, signal: AbortSignal): Promise<Exit> {
  signal.throwIfAborted()
  const running = await engine.start(job, onOutput)
  const kill = () => void running.stop(0)
  signal.addEventListener('abort', kill)
  // It may have been aborted while it was being started.
  if (signal.aborted) kill()
  try {
    return await running.exited
  } finally {
    signal.removeEventListener('abort', kill)
  }
}
