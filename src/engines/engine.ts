/** Runs tenants' programs: to their end, or until they are stopped. Each engine says how much it isolates. */

import type { Excess, Limits } from './limits/index.ts'

/** A folder or file of this machine, and where the program sees it. */
export type Mount = {
  from: string
  to: string
  isWritable: boolean
  /**
   * Folders in a read-only tree that the program may write to all the same: their paths in the tree, and the folders that take
   * what is written. One that does not exist yet begins as a copy of the tree's. It is left out where the tree has no such
   * folder, or has a link on the way to it. Only for engines that isolate.
   */
  inner?: readonly { path: string; from: string; uid?: number }[]
}

/** An overlay mount that one job alone sees. */
export type Overlay = {
  /** An empty folder of this machine: a mount whose `from` is this path shows the overlay. */
  at: string
  /** The top layer first. None of them is ever changed. */
  layers: readonly string[]
  /** A folder over the layers that takes every change (upperdir), and an empty one for the kernel's own use (workdir). */
  changes?: { folder: string; scratch: string }
}

export type JobNetwork = {
  /** The command that enters the network namespace and then execs the given one. */
  around(command: readonly string[]): string[]
  /** Files that a job in it has to see, or it uses the wrong DNS resolver. */
  mounts: readonly Mount[]
}

export type Job = {
  /** For people who look at the machine: letters, digits, dashes. */
  name?: string
  /** The program and its arguments, never a string for a shell. A name without a slash is looked for in PATH. */
  argv: readonly string[]
  /** The folder in which it starts, as the program sees it. */
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
  /** Its network namespace; without one it uses the machine's network. */
  network?: JobNetwork
  /** It has no network at all. Only for engines that isolate. */
  isOffline?: true
}

export type Exit = {
  code: number | null
  signal: string | null
  /** Limits that it reached, for which it was killed. */
  excess?: readonly Excess[]
}

/** Where it returns a promise, nothing more of that stream is read until it settles: a program with a full pipe waits. */
export type Output = (stream: 'stdout' | 'stderr', chunk: Buffer) => unknown

export type Process = {
  pid: number
  /** Resolves when the program and everything it started are gone, and all output was handed over. */
  exited: Promise<Exit>
  /** Ports that processes of the tree listen on; a few of them, where there are many. */
  listeningPorts(): Promise<number[]>
  /** What all processes of the tree used a few seconds ago; only where the job has limits. */
  memoryBytes?(): number
  /**
   * The whole tree keeps its memory and does nothing until it is thawed. False where that is not possible: then nothing has
   * changed. Only where the job has limits.
   */
  freeze?(): boolean
  thaw?(): void
  /** SIGTERM to every process of the tree, frozen or not; SIGKILL to what is left after the grace. Resolves when all are gone. */
  stop(graceMs: number): Promise<Exit>
}

export interface Engine {
  /** Whether programs of different owners are isolated from each other and from the service's files. */
  readonly isIsolating: boolean
  /** Why overlay mounts are not possible; undefined where they are. */
  readonly overlayMissing: string | undefined
  /** For logs and for the doctor. */
  readonly description: string
  /** How limits are enforced, for people. */
  readonly limits: string
  start(job: Job, onOutput: Output): Promise<Process>
}

/** Runs to the end. When the signal is aborted, the whole tree is killed, and the exit is that of the killed program. */
export async function runToEnd(engine: Engine, job: Job, onOutput: Output, signal: AbortSignal): Promise<Exit> {
  signal.throwIfAborted()
  const running = await engine.start(job, onOutput)
  const kill = () => void running.stop(0)
  signal.addEventListener('abort', kill)
  // The signal may have been aborted during the start.
  if (signal.aborted) kill()
  try {
    return await running.exited
  } finally {
    signal.removeEventListener('abort', kill)
  }
}
