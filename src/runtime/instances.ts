/**
 * The apps of the machine as the control process sees them. They run under the agent, which outlives the control process, so
 * everything that the agent needs to start an app again by itself is data.
 */
import type { resources } from '../contract/index.ts'
import type { LineLogOptions } from '../storage/index.ts'
import type { InstanceSpec, Tools } from './instance.ts'

/** What the agent keeps of an app. */
export type InstanceRecord = Omit<InstanceSpec, 'openToolchain' | 'log' | 'onState' | 'expiries' | 'onReset'> & {
  /** The log of its output. Several deployments of an environment write to the same. */
  log: LineLogOptions & { name: string }
  /** Undefined until they are needed. */
  tools?: Tools
  /** What was revalidated in its environment, in the format that the hook files read. */
  expiries?: string
  scaling: resources.Scaling
}

/** An app that is to run, as the control process describes it: with what only that process can find out. */
export type InstanceRequest = Omit<InstanceRecord, 'tools' | 'expiries'> &
  Pick<InstanceSpec, 'openToolchain' | 'onState' | 'expiries' | 'onReset'>

export type InstanceStatus = {
  /** RUNNING if one of its instances answers; else that of the first. */
  state: resources.InstanceState
  /** Of all instances. */
  restarts: number
  /** How many answer. */
  running: number
  /** One that answers. */
  instance: { id: string; host: string; port: number } | undefined
}

/** How many apps of an account are awake, and what they use together; what each environment uses, by its id. */
export type Awake = { apps: number; memoryBytes: number; environments: Readonly<Record<string, number>> }

export type Instances = {
  /**
   * Starts an app beside whatever runs; resolves when it answers, rejects with why it does not. Until then its output also goes
   * to `onOutput`.
   */
  start(spec: InstanceRequest, options: { signal: AbortSignal; onOutput?: AppOutput }): Promise<void>

  /**
   * Gives an app what another one of the same build has written while it ran, before it is started. False where that was not
   * possible.
   */
  carry(from: { runFolder: string }, spec: InstanceRequest, signal: AbortSignal): Promise<boolean>

  /**
   * All apps that are live. Those that the agent knows go on as they are, the others sleep, and everything else that runs is
   * ended. Resolves to those that the agent did not know.
   */
  adopt(specs: readonly InstanceRequest[]): Promise<string[]>

  /**
   * Starts an app that sleeps before it has a visitor, without putting another app to sleep for it. Resolves when the start has
   * succeeded or failed; a failed one is retried in the background.
   */
  warmUp(deployment: string): Promise<void>

  /** When this resolves, every process of an environment can read what was revalidated there. */
  refreshExpiries(environment: string): Promise<void>

  /** Applies at once. */
  setScaling(deployment: string, scaling: resources.Scaling): Promise<void>

  /** Ends an app for good, after the requests in flight have ended if `isDrained`. Resolves when its process is gone. */
  retire(deployment: string, options?: { isDrained?: boolean }): Promise<void>

  /** A line of the service in the log of an app. */
  say(log: InstanceRecord['log'], phase: string, text: string): Promise<void>

  of(deployment: string): InstanceStatus | undefined
  /** Whether it has a process or is about to have one, be it one that was retired and still drains. */
  holds(deployment: string): boolean
  awake(account: string): Promise<Awake>
}

export type AppOutput = (stream: 'stdout' | 'stderr', chunk: Buffer) => Promise<void> | undefined
