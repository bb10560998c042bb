/** Operations as the other files of this module and its callers see them. */
import type { operationError, Problem, resources } from '../contract/index.ts'
import type { Reader } from '../storage/index.ts'

/** What the table of operations holds; all that a worker needs. */
export type OperationRecord = {
  id: string
  accountId: string
  appName: string
  environmentId: string
  trigger: resources.Trigger
  phase: resources.Phase
  build: string
  deployment: string
  /** Its output is the one that visitors already got: `deployment` is the one that was live, and stays live. */
  isUnchanged: boolean
  /** The deployment that this operation makes live, if it exists already. */
  activates: string | null
  /** The operation collects a burst of calls, and does not begin before this time. */
  notBefore: number | null
  requestedBy: resources.Requester | null
  createTime: number
  doneTime: number | null
  response: unknown
  error: ReturnType<typeof operationError> | null
}

/** With the sender's description of the archive that its build is made of; an empty one if it has no build. */
export type Operation = OperationRecord & resources.Described

/** The descriptions of the archives of builds, by the id of the build. Builds are records of another module. */
export type ReadDescriptions = (
  reader: Reader,
  buildIds: readonly string[],
) => Promise<ReadonlyMap<string, Partial<resources.Described>>>

/** The key of an operation, beside its id: no look-up goes by the id alone. */
export type OperationPath = { accountId: string; appName: string; environmentId: string }

/**
 * Builds take minutes and everything else milliseconds, so builds have queues of their own. A build that probably runs no
 * program of the app waits in `light`, and moves to `build` if it turns out to need one. An operation whose work is done by
 * another operation waits in none of them.
 */
export const QUEUES = ['quick', 'light', 'build'] as const
export type Queue = (typeof QUEUES)[number]
export const BUILD_QUEUES: readonly Queue[] = ['light', 'build']

export type Ending = { response: unknown } | { error: Problem }

export type NewOperation = {
  queue?: Queue
  build?: string
  activates?: string
  notBefore?: number | null
  requestedBy?: resources.Requester | null
}

/** The operation has not begun and waits again: in another queue, or for the end of the operation that does its work. */
export type HandedOn = { queue: Queue } | { satisfiedBy: string }
