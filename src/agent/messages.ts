/** What the agent offers to the control process and to edges, and what it asks of them. All of it is plain data. */
import type { resources } from '../contract/index.ts'
import type { Contact, Endpoint, Exit, Job, Mount, NamespaceOptions } from '../engines/index.ts'
import type { Awake, InstanceRecord, InstanceStatus, Tools } from '../runtime/index.ts'

export type MachineDescription = {
  sandbox: { isIsolating: boolean; overlayMissing: string | null; description: string; limits: string }
  /** Why programs are not isolated; null where they are. */
  sandboxMissing: string | null
  limiter: { kind: string; description: string }
  network: { description: string; gateway: string } | { missing: string }
}

/** A job whose network is named by its id. */
export type SentJob = Omit<Job, 'network'> & { network?: number }

/** A piece of what a program wrote, in base64. The id is that of its job, or the one that was given for an app that starts. */
export type Output = { id: number; stream: 'stdout' | 'stderr'; chunk: string }

/** Without a state it was retired; `isLeaving` while its process still drains. */
export type Report = { deployment: string; state: InstanceStatus | null; isLeaving: boolean }

/** Jobs and networks end with the connection that asked for them; apps do not. */
export type AgentMethods = {
  describe(argument: null): MachineDescription

  startJob(argument: { id: number; job: SentJob }): Promise<{ pid: number }>
  /** Resolves when the job has ended, and forgets it. Called once for each job. */
  exitOfJob(id: number): Promise<Exit>
  portsOfJob(id: number): Promise<number[]>
  stopJob(argument: { id: number; graceMs: number }): Promise<Exit>
  openNetwork(argument: { id: number; label: string; options: NamespaceOptions }): Promise<{
    address: string
    listen: string
    mounts: readonly Mount[]
  }>
  contactsOf(network: number): Promise<Contact[]>
  redirectNames(argument: { network: number; names: readonly string[] }): Promise<{ address: string; suffix: string }>
  closeNetwork(network: number): Promise<void>
  answers(endpoint: Endpoint): Promise<boolean>
  obstacle(argument: null): Promise<string | null>
  /** Apps reach the service at this port of the gateway. Nothing is done for the gateway of another agent. */
  openService(argument: { gateway: string; port: number }): Promise<void>

  startApp(argument: { app: InstanceRecord; output: number | null }, signal: AbortSignal): Promise<void>
  carryApp(argument: { from: string; app: InstanceRecord }, signal: AbortSignal): Promise<boolean>
  adoptApps(apps: readonly InstanceRecord[]): Promise<string[]>
  /** All others are ended. */
  keepApps(deployments: readonly string[]): Promise<void>
  warmUpApp(deployment: string): Promise<void>
  setScaling(argument: { deployment: string; scaling: resources.Scaling }): void
  /** By deployment. */
  setExpiries(argument: { environment: string; texts: Readonly<Record<string, string>> }): Promise<void>
  retireApp(argument: { deployment: string; isDrained: boolean }): Promise<void>
  sayInLog(argument: { log: InstanceRecord['log']; phase: string; text: string }): Promise<void>
  /** An agent of an earlier version does not say what each environment uses. */
  awakeApps(account: string): Omit<Awake, 'environments'> & Partial<Awake>
}

/** An app that an agent hands over to the one that takes its place, with the processes that stay with the old one. */
export type HandedOverApp = {
  app: InstanceRecord
  instances: readonly {
    ordinal: number | null
    /** Null while it has no process. */
    running: { id: string; host: string; port: number; pid: number } | null
    restarts: number
    unvisitedMs: number
  }[]
}

/** What an agent does for the one that takes its place. Processes are named by the ids of their instances. */
export type PredecessorMethods = {
  /** Starts nothing more. Nothing more is written to the logs of apps. */
  handOver(argument: null): Promise<HandedOverApp[]>
  /** Edges and control processes connect to the other agent from now on. */
  release(argument: null): void
  exitOf(instance: string): Promise<Exit>
  stop(argument: { instance: string; graceMs: number }): Promise<Exit>
}

export type SuccessorMethods = {
  /** The output of an app. Nothing more of it is read before this resolves. */
  output(sent: { instance: string; stream: 'stdout' | 'stderr'; chunk: string }): Promise<void>
  /** Whether a host is one of a site: edges follow the successor. */
  isSite(host: string): Promise<boolean>
}

export type ControlMethods = {
  /** The output of a job, or of an app that is starting. Nothing more of it is read before this resolves. */
  output(sent: Output): Promise<void>
  /** The states of apps: of all of them first, and then of those that change. */
  states(reports: readonly Report[]): void
  /** Everything that the app had written was removed. */
  reset(deployment: string): Promise<void>
  visited(deployments: readonly string[]): void
  toolsOf(deployment: string): Promise<Tools>
}
