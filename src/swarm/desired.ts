/** What apps of a cluster should be, and what their instances are: plain data, which says nothing of Docker. */

export type DesiredApp = {
  deployment: string
  environment: string
  account: string
  /** With its digest: every node runs the same bytes. */
  image: string
  /** The program of the image and its arguments. */
  command: readonly string[]
  region: string
  /** 0 while it sleeps. */
  replicas: number
  memoryBytes: number
  /** What a node keeps free for it; 0 places it without looking at memory. */
  reservedMemoryBytes: number
  nanoCpus: number
  pids: number
  /** The port that it listens on. */
  port: number
  user: { uid: number; gid: number }
  /**
   * Folders of the image that it may write, as absolute paths. Each instance has its own, in memory, with a copy of what the image
   * has under `/headland/initial` for it.
   */
  writable: readonly string[]
  /** Of each writable folder, and of /tmp. */
  scratchBytes: number
  /** Between the request to end and the end. */
  stopGraceMs: number
  /** Another one for everything of it that changes, but for `replicas`: variables, limits, image. */
  generation: number
}

export type InstanceState = 'STARTING' | 'RUNNING' | 'STOPPED' | 'CRASHED'

/** Why an instance is not running, where the service knows more than Docker's words. */
export type InstanceReason =
  /** No node has the region. */
  | 'REGION_MISSING'
  /** Nodes have the region, but all are full, drained or away. */
  | 'NO_NODE'
  /** The node could not get the image. */
  | 'IMAGE_MISSING'
  /** Its node does not answer. */
  | 'NODE_AWAY'

export type ObservedInstance = {
  deployment: string
  /** Of one start: an instance that is started again has another id. */
  instance: string
  node: string | undefined
  /** Where the node is reached. */
  address: string | undefined
  port: number | undefined
  state: InstanceState
  exitCode: number | undefined
  reason: InstanceReason | undefined
  /** In Docker's words; empty while all is well. */
  message: string
  /** Starts after the first one, of this place among the replicas; a lower bound after the service was away. */
  restarts: number
}

export type Observation = {
  /** Those that are new or have changed. */
  changed: readonly ObservedInstance[]
  /** Instances that were reported and are not there any more. */
  gone: readonly { deployment: string; instance: string }[]
  /** The first one of a reconciler: it has every instance, and others that are on record do not exist. */
  isWhole: boolean
}
