/**
 * Apps of a cluster as rows. `cluster_apps` says what should run, and is written by every process; `cluster_instances` says what
 * the leader has seen, and is written by it alone.
 *
 * The states of an app, by its columns:
 *
 *   replicas   kept   is_retired   is_gone   meaning
 *   n          0      0            0         awake: n instances are wanted
 *   0          n      0            0         falls asleep: edges know no instance any more, requests in flight end
 *   0          0      0            0         asleep
 *   0          n      1            0         retired, requests in flight end
 *   0          0      1            0         retired: its service is removed
 *   0          0      1            1         gone: what remains for a day
 *
 * `start` and a wake lead to the first state, from all others. The leader alone leads from a state with `kept` to the next one,
 * and from retired to gone. Any process may die at any line: each transition is one transaction, and the leader, or the next
 * one, goes on from what the row says.
 */
import type { resources } from '../contract/index.ts'
import type { DesiredApp, InstanceReason, InstanceState } from '../swarm/index.ts'

/** What everyone with access to the scheduler can see of an app. */
export type ServiceShape = Pick<
  DesiredApp,
  'command' | 'memoryBytes' | 'pids' | 'user' | 'writable' | 'scratchBytes'
> & {
  build: string
  hostHeader: string
  /** Its requests have the number of the newest purge. */
  isToldPurges?: boolean
}

/** All but what is secret. */
export type AppRow = {
  deployment: string
  environment: string
  account: string
  region: string
  image: string
  service: ServiceShape
  scaling: resources.Scaling
  /** Another one for each change that an instance can only learn by a start. */
  generation: number
  /** How many instances it should have; 0 while it sleeps. */
  replicas: number
  /** How many stay until requests in flight have ended. */
  kept: number
  isRetired: boolean
  isGone: boolean
  retireTime: number
  /** Names the start that has written it last. */
  starter: string
  /** Before that time, it may be about to go live. */
  holdTime: number
  /** Crashes in a row, none of them long after its start. */
  crashes: number
  restarts: number
  /** Rises with every number of all rows: a process reads those after the highest one that it knows. */
  revision: number
}

export type InstanceRow = {
  instance: string
  deployment: string
  node: string | null
  address: string | null
  port: number | null
  state: InstanceState
  isListening: boolean
  /** It has answered. */
  isReady: boolean
  readyTime: number
  exitCode: number | null
  reason: InstanceReason | null
  message: string
}

/** An app that is awake, with what decides whether it stays so. */
export type AwakeRow = AppRow & {
  visitTime: number
  /** How many instances answer. */
  ready: number
  /** What one of its instances uses, or used when it was last measured. */
  eachBytes: number
}

/** Requests in flight at the edges of a process, by deployment. */
export type LoadRow = { process: string; loads: Readonly<Record<string, number>>; beats: number }

/** What it has when it wakes. */
export const awakeReplicas = ({ minInstances }: resources.Scaling): number => Math.max(1, minInstances)

/** The nearest number of instances that an awake app may have. */
export const replicasWithin = (scaling: resources.Scaling, replicas: number): number =>
  Math.max(awakeReplicas(scaling), Math.min(replicas, scaling.maxInstances))

/**
 * Of an app whose program or variables are others than before. It begins with the minute, so that after a restore of an older
 * database it is none that the scheduler had already with other variables; names of secrets have no space for seconds.
 */
export const nextGeneration = (before: Pick<AppRow, 'generation'> | undefined, now: number): number =>
  Math.max((before?.generation ?? 0) + 1, Math.floor(now / 60_000))
